#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/network/benchmarks/measured_exchange.hpp"
#include "core/enum_array.hpp"
#include "core/error.hpp"

namespace ddl {

/// Facts about a benchmark run in addition to its rows.
struct ExchangeFacts {
  std::optional<Collective> operation{};
  std::optional<int> ranks{}, nodes{};
  std::optional<NetworkLevel> level{};
  std::optional<std::string> library{};  ///< an MPI library whose algorithm decisions are known
  std::string program{};  ///< as launched_programs names it: `osu_bw`, `all_reduce_perf`, `IMB`; empty: unknown
};
/// The ranks and nodes by which commands started each program.
using LaunchedPrograms = std::map<std::string, ExchangeFacts, std::less<>>;

/// Facts from the user: `of_file` for one file, `otherwise` for all files that do not state the
/// fact. The operation in the file's name (`by_name`), and the ranks and nodes of the command that started the program
/// (`by_command`), are used last.
struct AskedFacts {
  ExchangeFacts of_file{};
  ExchangeFacts otherwise{};
  std::optional<Collective> by_name{};
  LaunchedPrograms by_command{};
};

/// Maximum number of ranks, and nodes, of a benchmark run.
inline constexpr int most_exchange_ranks = 1 << 24;

/// Parses the name of an operation: `allreduce`, or a spelling of benchmarks, such as `all_reduce`,
/// `alltoall`, `bcast` and `sendrecv`.
[[nodiscard]] std::optional<Collective> parse_operation(std::string_view text);
/// The operation in the name of a file, such as `all_gather_perf_16.txt`, if it contains exactly one; otherwise the
/// operation in the name of the nearest folder that contains exactly one.
[[nodiscard]] std::optional<Collective> operation_named_by(std::string_view path);
/// The names of all operations, for hints.
[[nodiscard]] std::vector<std::string_view> operation_names();
template <>
inline constexpr EnumNames<NetworkLevel> enum_names<NetworkLevel>{"node", "between-nodes"};

/// Parses the name of an MPI library with known decision rules, `openmpi-4.1`; empty for any other text.
[[nodiscard]] std::optional<std::string> parse_library(std::string_view text);
/// The library version in a line of mpirun, of MPI_Get_library_version, or of module names: `Open MPI v4.1.4`, `mpirun (Open
/// MPI) 4.1.4`, `openmpi/4.1.1`. Empty for another version.
[[nodiscard]] std::optional<std::string> library_named_by(std::string_view line);

/// Creates an error with a position in the current file, from a message and a hint.
using PlacedError = std::function<Error(const std::string& message, const std::string& hint)>;
/// Errors at a position of a BenchmarkText or a SourceText, which must outlive them.
template <class Text>
[[nodiscard]] PlacedError errors_at(const Text& text, std::size_t offset) {
  return [&text, offset](const std::string& message, const std::string& hint) { return text.error(offset, message, hint); };
}

/// Combines the facts in the file with the facts from the user. A fact from the user is used if the file does not state it.
/// The level follows from the number of nodes. Throws Error if the file contradicts a fact that the user gave for this file,
/// if facts contradict each other, or if the operation is unknown. Warns of facts that remain unknown.
[[nodiscard]] ExchangeFacts settle(const ExchangeFacts& stated, const AskedFacts& asked, const PlacedError& error,
                                   std::vector<std::string>& warnings);
/// A series without rows, with settled facts. `tool`: name and version of the benchmark.
[[nodiscard]] ExchangeSeries series_with(const ExchangeFacts& facts, std::string tool, std::string file);

}  // namespace ddl
