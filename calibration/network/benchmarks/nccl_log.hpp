#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "estimator/inputs/collective.hpp"

namespace ddl {

// Information that NCCL's log (NCCL_DEBUG=INFO) adds to a benchmark's table. Sources: github.com/NVIDIA/nccl, src/enqueue.cc
// of 2.21 to 2.29 for the lines of NCCL_DEBUG_SUBSYS=TUNING, src/debug.cc for the prefix of each line,
// src/include/nccl_common.h and src/collectives.cc for numbers and names of algorithms and protocols.

/// The algorithm and protocol used for messages of one size.
struct NcclChoice {
  std::string function{};    ///< `AllReduce`; empty before NCCL 2.23, which does not print it
  double bytes = 0;          ///< bytes of all ranks' parts together, or of one rank's part
  bool of_one_rank = false;  ///< whether `bytes` is one rank's part (since NCCL 2.25, for operations with parts)
  std::string algorithm{};   ///< algorithm and protocol, as print_nccl_algorithm returns them
};

/// A line of NCCL's log.
struct NcclLogLine {
  std::size_t begin = 0;  ///< position where the log begins in the line, after a partially printed row
  std::optional<NcclChoice> choice{};
  /// the name that NCCL_ALGO or NCCL_PROTO has in the environment; empty for several names
  std::string set_algorithm{}, set_protocol{};
};

using HostNames = std::set<std::string, std::less<>>;

/// Parses a line of NCCL's log; empty for any other line. The host name may directly follow the last cell of a row of
/// nccl-tests. A host name that starts with a digit is recognized only if it is in `hosts`.
[[nodiscard]] std::optional<NcclLogLine> nccl_log_line(std::string_view line, const HostNames& hosts);

/// Returns `Ring Simple`, in the spelling of NCCL_ALGO and NCCL_PROTO, from names in any case or from numbers. Empty for
/// unknown names. Without a protocol, returns `Ring`.
[[nodiscard]] std::optional<std::string> print_nccl_algorithm(std::string_view algorithm, std::string_view protocol);
/// Like print_nccl_algorithm(), for one text such as `Ring Simple`.
[[nodiscard]] std::optional<std::string> parse_nccl_algorithm(std::string_view text);

/// The name of an operation in NCCL's log; empty for operations that NCCL implements by sends and receives.
[[nodiscard]] std::string_view nccl_function(Collective operation);

}  // namespace ddl
