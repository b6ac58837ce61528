#pragma once

#include <string>
#include <vector>

#include "calibration/network/benchmarks/benchmark_text.hpp"
#include "calibration/network/benchmarks/exchange_facts.hpp"

namespace ddl {

// Tests that copy messages of one size between all pairs, and print the bandwidths as a matrix.

/// Whether a line begins an output of nvbandwidth: `nvbandwidth Version: v0.6`.
[[nodiscard]] bool is_nvbandwidth_title(const BenchmarkLine& line);
/// Whether a line begins an output of the CUDA samples' p2pBandwidthLatencyTest.
[[nodiscard]] bool is_p2p_title(const BenchmarkLine& line);
/// Whether a line begins an output of mpiGraph (github.com/LLNL/mpiGraph): `START mpiGraph v1.6`.
[[nodiscard]] bool is_mpi_graph_title(const BenchmarkLine& line);

/// The copies between GPUs by copy engines, in one direction. They have nvbandwidth's default size of 512 MiB
/// (nvbandwidth.cpp of github.com/NVIDIA/nvbandwidth), because its text does not state the size. Throws Error if there is no
/// such matrix.
[[nodiscard]] std::vector<ExchangeSeries> read_nvbandwidth(const BenchmarkText& text, const AskedFacts& asked,
                                                           std::vector<std::string>& warnings);
/// The copies between GPUs in one direction with P2P: 40,000,000 integers (p2pBandwidthLatencyTest.cu).
[[nodiscard]] std::vector<ExchangeSeries> read_p2p_bandwidths(const BenchmarkText& text, const AskedFacts& asked,
                                                              std::vector<std::string>& warnings);
/// The send bandwidths between ranks, in MiB/s. All ranks send and receive at once. With several ranks per host, those
/// between hosts are concurrent pairs.
[[nodiscard]] std::vector<ExchangeSeries> read_mpi_graph(const BenchmarkText& text, const AskedFacts& asked,
                                                         std::vector<std::string>& warnings);

}  // namespace ddl
