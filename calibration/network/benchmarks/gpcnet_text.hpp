#pragma once

#include <optional>
#include <string>

namespace ddl {

/// How other traffic slows down exchanges between nodes, as GPCNeT's network_load_test measures it.
struct GpcnetCongestion {
  double median = 1;  ///< the factor on the mean time of a message
  double spread = 1;  ///< geometric standard deviation, from the 99th percentile
  int nodes = 0;      ///< nodes of the job; 0: not stated
  std::string file{};
};

/// Reads the congestion from the output of network_load_test of GPCNeT (github.com/netbench/GPCNET): the mean bandwidth of
/// `RR Two-sided BW+Sync` alone, divided by the mean and by the 99th percentile of this bandwidth under load. Factors below
/// 1 are noise, and count as 1. Empty for other files. Throws Error with its position for a table that lacks these numbers.
[[nodiscard]] std::optional<GpcnetCongestion> load_gpcnet_congestion(const std::string& path);

}  // namespace ddl
