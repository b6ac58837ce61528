#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calibration/network/benchmarks/exchange_facts.hpp"

namespace ddl {

// Collectives in a trace that PyTorch's profiler (Kineto) wrote for one rank: kernels whose arguments describe the NCCL
// call. github.com/pytorch/pytorch, torch/csrc/distributed/c10d/ParamCommsUtils.hpp and github.com/pytorch/kineto,
// libkineto/src/output_json.cpp.

/// Whether a JSON text is a trace, by its keys.
[[nodiscard]] bool is_trace(std::string_view text);

/// One series for each operation, number of ranks and number of nodes. A number of nodes given by the user is that of the
/// whole job: a group's nodes follow from its list of ranks, with nodes filled one after the other.
[[nodiscard]] std::vector<ExchangeSeries> read_trace_exchanges(std::string text, const std::string& origin,
                                                               const AskedFacts& asked, std::vector<std::string>& warnings);

}  // namespace ddl
