#pragma once

#include "calibration/network/benchmarks/benchmark_text.hpp"
#include "calibration/network/benchmarks/exchange_facts.hpp"

namespace ddl {

/// The ranks and nodes by which srun, mpirun or mpiexec starts a benchmark, if the text contains such commands and all of
/// them agree: `srun -N2 --ntasks-per-node=4 osu_alltoall`. Facts that a command leaves to the scheduler are unset.
[[nodiscard]] ExchangeFacts launched_facts(const BenchmarkText& text);

}  // namespace ddl
