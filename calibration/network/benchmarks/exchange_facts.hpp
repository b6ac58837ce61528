#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/network/benchmarks/measured_exchange.hpp"
#include "core/error.hpp"

namespace ddl {

/// What is known of a benchmark's run beside its rows.
struct ExchangeFacts {
  std::optional<Collective> operation{};
  std::optional<int> ranks{}, nodes{};
  std::optional<NetworkLevel> level{};
  std::optional<std::string> library{};  ///< whose decision rules are known
};

/// Facts that the user gives: of one file, and of every file that does not say. What the name of a file says comes last.
struct AskedFacts {
  ExchangeFacts of_file{};
  ExchangeFacts otherwise{};
  std::optional<Collective> by_name{};
};

/// Most ranks, and nodes, of a benchmark's run.
inline constexpr int most_exchange_ranks = 1 << 24;

/// `allreduce`, and how benchmarks spell it: `all_reduce`, `alltoall`, `bcast`, `sendrecv`.
[[nodiscard]] std::optional<Collective> parse_operation(std::string_view text);
/// The one operation that the name of a file names: `all_gather_perf_16.txt`. Only the last part of a path counts.
[[nodiscard]] std::optional<Collective> operation_named_by(std::string_view path);
/// Every operation by its name, for hints.
[[nodiscard]] std::vector<std::string_view> operation_names();
[[nodiscard]] std::string_view to_string(NetworkLevel level);
/// `node` or `between-nodes`.
[[nodiscard]] std::optional<NetworkLevel> parse_level(std::string_view text);

/// `openmpi-4.1`, if the rules of this library are known; nothing for any other.
[[nodiscard]] std::optional<std::string> parse_library(std::string_view text);
/// What a line says of the library, as mpirun, MPI_Get_library_version and names of modules do: `Open MPI v4.1.4`,
/// `mpirun (Open MPI) 4.1.4`, `openmpi/4.1.1`. Nothing of another version.
[[nodiscard]] std::optional<std::string> library_named_by(std::string_view line);

/// Makes the error of a place in the file that is read: of a message and a hint.
using PlacedError = std::function<Error(const std::string& message, const std::string& hint)>;

/// What the file says, and where it says nothing, what the user gave; the level follows from the nodes. An Error where the
/// file says otherwise than what the user gave for it, where facts contradict each other, or where the operation is not
/// known. What stays unknown is warned of.
[[nodiscard]] ExchangeFacts settle(const ExchangeFacts& stated, const AskedFacts& asked, const PlacedError& error,
                                   std::vector<std::string>& warnings);

}  // namespace ddl
