#pragma once

#include <string>
#include <vector>

#include "calibration/network/benchmarks/benchmark_text.hpp"
#include "calibration/network/benchmarks/exchange_facts.hpp"

namespace ddl {

/// Whether a line is a title of perftest (linux-rdma), such as `RDMA_Write BW Test`.
[[nodiscard]] bool is_perftest_title(const BenchmarkLine& line);

/// Reads the output of ib_write_bw, ib_read_bw, ib_send_bw, ib_write_lat and ib_send_lat: messages between two ranks. Times
/// are typical latencies of one way, or those of one message of a window at the average bandwidth. `MB/sec` are 2^20 bytes
/// per second (perftest_parameters.h of github.com/linux-rdma/perftest). Both ends may write into one file; equal tests are
/// one series. Throws Error for tests that no plan uses: round trips of reads, and atomics.
[[nodiscard]] std::vector<ExchangeSeries> read_perftest_text(const BenchmarkText& text, const AskedFacts& asked,
                                                             std::vector<std::string>& warnings);

}  // namespace ddl
