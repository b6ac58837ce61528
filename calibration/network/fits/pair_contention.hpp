#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/network/benchmarks/gpcnet_text.hpp"
#include "calibration/network/benchmarks/measured_exchange.hpp"
#include "estimator/inputs/coefficients.hpp"
#include "estimator/inputs/machine.hpp"

namespace ddl {

/// Messages of several pairs of ranks at once, compared with those of one pair.
struct PairContention {
  int pairs = 1;
  Bytes message{};                   ///< the largest size
  Bandwidth together{};              ///< bandwidth of all pairs together
  std::optional<double> slowdown{};  ///< time per byte divided by the time per byte of one pair; unset: no such measurement
  std::optional<NetworkLevel> level{};
  std::string file{};
};

/// Removes the series of several pairs from `series`, and compares each with a series of one pair of the same window and
/// level at the largest size that both have. Latencies of several pairs are dropped with a warning.
[[nodiscard]] std::vector<PairContention> take_pair_contention(std::vector<ExchangeSeries>& series,
                                                               std::vector<std::string>& warnings);

/// A coefficients file with the slowdowns between nodes in its section `contention`, and with the congestion between nodes.
/// `before`: the content of the file. Values that the file cannot contain are left out with a warning: of one pair alone, of
/// an unknown level, and of a machine without a network.
[[nodiscard]] std::string with_concurrent_traffic(const std::string& file, const Coefficients& before,
                                                  const std::vector<PairContention>& measured,
                                                  const std::optional<GpcnetCongestion>& congestion, const Machine& machine,
                                                  std::vector<std::string>& warnings);

}  // namespace ddl
