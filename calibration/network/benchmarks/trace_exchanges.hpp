#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calibration/network/benchmarks/exchange_facts.hpp"

namespace ddl {

// Collectives in a trace that PyTorch's profiler (Kineto) wrote of one rank: kernels whose arguments say what NCCL was asked
// for. github.com/pytorch/pytorch, torch/csrc/distributed/c10d/ParamCommsUtils.hpp and github.com/pytorch/kineto,
// libkineto/src/output_json.cpp.

/// Whether a JSON text is a trace, by its keys.
[[nodiscard]] bool is_trace(std::string_view text);

/// A series of each operation, number of ranks and number of nodes. Nodes that the user gives are those of the whole job: a
/// group's follow from the ranks that are listed for it, nodes being filled one after the other.
[[nodiscard]] std::vector<ExchangeSeries> read_trace_exchanges(std::string text, const std::string& origin,
                                                               const AskedFacts& asked, std::vector<std::string>& warnings);

}  // namespace ddl
