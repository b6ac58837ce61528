#pragma once

#include "calibration/network/benchmarks/benchmark_text.hpp"
#include "calibration/network/benchmarks/exchange_facts.hpp"

namespace ddl {

/// The ranks and nodes by which srun, mpirun or mpiexec starts each benchmark, if all commands of this program agree: `srun
/// -N2 --ntasks-per-node=4 osu_alltoall`. Facts that a command leaves to the scheduler are unset.
[[nodiscard]] LaunchedPrograms launched_programs(const BenchmarkText& text);

}  // namespace ddl
