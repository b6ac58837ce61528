#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "estimator/inputs/collective.hpp"

namespace ddl {

// What NCCL's log says beside a benchmark's table, with NCCL_DEBUG=INFO. Facts: github.com/NVIDIA/nccl, src/enqueue.cc of
// 2.21 to 2.29 for the lines of NCCL_DEBUG_SUBSYS=TUNING, src/debug.cc for what stands before each line,
// src/include/nccl_common.h and src/collectives.cc for numbers and names of algorithms and protocols.

/// Which algorithm and protocol ran for messages of one size.
struct NcclChoice {
  std::string function{};    ///< `AllReduce`; empty before NCCL 2.23, which does not say
  double bytes = 0;          ///< of all ranks' parts together, or of one rank's
  bool of_one_rank = false;  ///< since NCCL 2.25: of one rank's part, where an operation has parts
  std::string algorithm{};   ///< and protocol, as print_nccl_algorithm has them
};

/// A line of the log.
struct NcclLogLine {
  std::size_t begin = 0;  ///< where it begins: a row that was being printed may stand before it
  std::optional<NcclChoice> choice{};
  std::string set_algorithm{}, set_protocol{};  ///< by NCCL_ALGO, NCCL_PROTO in the environment; one name, or empty
};

using HostNames = std::set<std::string, std::less<>>;

/// `line` as such a line, if it is one. Its host may be glued to the last cell of a row; `hosts` are those that are known,
/// for names that begin with a digit.
[[nodiscard]] std::optional<NcclLogLine> nccl_log_line(std::string_view line, const HostNames& hosts);

/// `Ring Simple`, spelt as NCCL_ALGO and NCCL_PROTO take them, from names in any case or numbers. Nothing for unknown ones.
/// Without a protocol it is `Ring`.
[[nodiscard]] std::optional<std::string> print_nccl_algorithm(std::string_view algorithm, std::string_view protocol);
/// The same of one text.
[[nodiscard]] std::optional<std::string> parse_nccl_algorithm(std::string_view text);

/// What NCCL's log calls an operation; empty for those that it runs as sends and receives.
[[nodiscard]] std::string_view nccl_function(Collective operation);

}  // namespace ddl
