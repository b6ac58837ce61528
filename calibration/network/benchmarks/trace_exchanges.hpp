#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calibration/network/benchmarks/exchange_facts.hpp"

namespace ddl {

// Reads the collectives in a trace that PyTorch's profiler (Kineto) wrote for one rank. In a trace, a collective is a kernel
// with arguments that describe the NCCL call. Sources: github.com/pytorch/pytorch,
// torch/csrc/distributed/c10d/ParamCommsUtils.hpp and github.com/pytorch/kineto, libkineto/src/output_json.cpp.

/// Whether a JSON text is a trace of PyTorch's profiler, judged by its keys.
[[nodiscard]] bool is_trace(std::string_view text);

/// Returns one series for each operation, number of ranks and number of nodes. If the user gives a
/// number of nodes, it refers to the whole job. The nodes of a group then follow from its list of
/// ranks, because ranks fill one node after the other.
[[nodiscard]] std::vector<ExchangeSeries> read_trace_exchanges(std::string text, const std::string& origin,
                                                               const AskedFacts& asked, std::vector<std::string>& warnings);

}  // namespace ddl
