#include "calibration/network/benchmarks/exchange_facts.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "calibration/network/benchmarks/open_mpi_rules.hpp"

namespace ddl {
namespace {

struct OperationName {
  std::string_view letters;  ///< lower case, without separators
  Collective operation;
};
constexpr std::array operation_spellings{
    OperationName{"allreduce", Collective::allreduce},
    OperationName{"allgather", Collective::allgather},
    OperationName{"reducescatter", Collective::reduce_scatter},
    OperationName{"alltoall", Collective::all_to_all},
    OperationName{"broadcast", Collective::broadcast},
    OperationName{"bcast", Collective::broadcast},
    OperationName{"reduce", Collective::reduce},
    OperationName{"pointtopoint", Collective::point_to_point},
    OperationName{"sendrecv", Collective::point_to_point},
};

std::string text_of(Collective operation) { return std::string(to_string(operation)); }
std::string text_of(NetworkLevel level) { return fmt::format("level {}", to_string(level)); }

template <class T, class Text>
std::optional<T> chosen(const std::optional<T>& stated, const std::optional<T>& of_file, const std::optional<T>& otherwise,
                        const PlacedError& error, std::vector<std::string>& warnings, Text&& text) {
  if (stated && of_file && *stated != *of_file) {
    throw error(fmt::format("the file has {}, but the command has {}", text(*stated), text(*of_file)), "use one of the two");
  }
  if (stated && otherwise && *stated != *otherwise) {
    warnings.push_back(fmt::format("the file has {}, which is used instead of {}", text(*stated), text(*otherwise)));
  }
  if (stated) return stated;
  return of_file ? of_file : otherwise;
}

/// Adds the ranks and nodes of the command that started the benchmark, if they are unknown. A benchmark on some ranks of the
/// command may not reach all of its nodes.
void add_launched(const ExchangeFacts& command, ExchangeFacts& facts, std::vector<std::string>& warnings) {
  const bool adds_ranks = !facts.ranks && command.ranks;
  const int ranks = facts.ranks.value_or(command.ranks.value_or(most_exchange_ranks));
  const bool on_all_ranks = !command.ranks || *command.ranks == ranks;
  const bool adds_nodes = !facts.nodes && command.nodes && on_all_ranks && *command.nodes <= ranks;
  if (adds_ranks) facts.ranks = command.ranks;
  if (adds_nodes) facts.nodes = command.nodes;
  if (adds_ranks)
    warnings.push_back(fmt::format("the number of ranks is missing: {} follow from the benchmark's command line", ranks));
  if (adds_nodes)
    warnings.push_back(
        fmt::format("the number of nodes is missing: {} follow from the benchmark's command line", *command.nodes));
}

/// The operation in the name of a file or folder, if it contains exactly one.
std::optional<Collective> operation_in_name(std::string_view path) {
  std::vector<std::string> words;
  bool inside = false;
  for (const char c : path) {
    const bool is_letter = std::isalpha(static_cast<unsigned char>(c)) != 0;
    if (is_letter && !inside) words.emplace_back();
    if (is_letter) words.back() += c;
    inside = is_letter;
  }
  constexpr std::size_t words_of_longest = 3;  // the name may be written as `all to all`
  std::optional<Collective> found;
  for (std::size_t at = 0; at < words.size();) {
    std::size_t taken = 0;
    std::optional<Collective> here;
    for (std::size_t count = std::min(words_of_longest, words.size() - at); count > 0 && !here; --count) {
      std::string joined;
      for (std::size_t i = 0; i < count; ++i) joined += words[at + i];
      here = parse_operation(joined);
      taken = count;
    }
    // `reduce` is also a common English word. In a name of several words, it only counts in `reduce_perf`.
    const bool is_program = at + taken < words.size() && words[at + taken] == "perf";
    if (here == Collective::reduce && !is_program && words.size() > 1) here.reset();
    if (here && found && *here != *found) return std::nullopt;
    if (here) found = here;
    at += here ? taken : 1;
  }
  return found;
}

}  // namespace

std::optional<Collective> parse_operation(std::string_view text) {
  std::string letters;
  for (const char c : text) {
    if (c != '-' && c != '_' && c != ' ') letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  const auto* const found = std::find_if(operation_spellings.begin(), operation_spellings.end(),
                                         [&](const OperationName& spelling) { return spelling.letters == letters; });
  return found == operation_spellings.end() ? std::nullopt : std::optional(found->operation);
}

std::optional<Collective> operation_named_by(std::string_view path) {
  bool is_file = true;
  while (!path.empty()) {
    const std::size_t slash = path.find_last_of('/');
    std::string_view name = path.substr(slash + 1);  // npos + 1 is 0
    if (const std::size_t point = name.rfind('.'); is_file && point != std::string_view::npos) name = name.substr(0, point);
    if (const auto found = operation_in_name(name)) return found;
    if (slash == std::string_view::npos) return std::nullopt;
    path = path.substr(0, slash);
    is_file = false;
  }
  return std::nullopt;
}

std::vector<std::string_view> operation_names() {
  std::vector<std::string_view> names;
  for (const OperationName& spelling : operation_spellings) {
    const std::string_view name = to_string(spelling.operation);
    if (names.empty() || names.back() != name) names.push_back(name);
  }
  return names;
}

std::optional<std::string> parse_library(std::string_view text) {
  return text == open_mpi_41 ? std::optional<std::string>(text) : std::nullopt;
}

std::optional<std::string> library_named_by(std::string_view line) {
  std::string letters;
  for (const char c : line) {
    if (c != ' ' && c != '-' && c != '_') letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  constexpr std::string_view name = "openmpi";
  constexpr std::string_view version = "4.1";
  for (std::size_t at = letters.find(name); at != std::string::npos; at = letters.find(name, at + 1)) {
    // `)`, `/`, `v` or nothing may separate name and version.
    std::size_t next = at + name.size();
    while (next < letters.size() && (letters[next] == ')' || letters[next] == '/' || letters[next] == 'v')) ++next;
    if (letters.compare(next, version.size(), version) != 0) continue;
    const std::size_t end = next + version.size();
    if (end == letters.size() || std::isdigit(static_cast<unsigned char>(letters[end])) == 0)
      return std::string(open_mpi_41);
  }
  return std::nullopt;
}

ExchangeFacts settle(const ExchangeFacts& stated, const AskedFacts& asked, const PlacedError& error,
                     std::vector<std::string>& warnings) {
  const auto count_of = [](std::string_view what) {
    return [what](int count) { return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s"); };
  };
  const auto name_of = [](auto value) { return text_of(value); };
  const ExchangeFacts &file = asked.of_file, &otherwise = asked.otherwise;
  ExchangeFacts facts;
  facts.operation = chosen(stated.operation, file.operation, otherwise.operation, error, warnings, name_of);
  facts.ranks = chosen(stated.ranks, file.ranks, otherwise.ranks, error, warnings, count_of("rank"));
  facts.nodes = chosen(stated.nodes, file.nodes, otherwise.nodes, error, warnings, count_of("node"));
  if (const auto command = asked.by_command.find(stated.program); command != asked.by_command.end())
    add_launched(command->second, facts, warnings);
  facts.library = chosen(stated.library, file.library, otherwise.library, error, warnings,
                         [](const std::string& library) { return library; });
  std::optional<NetworkLevel> by_nodes = stated.level;
  if (facts.nodes && !by_nodes) by_nodes = *facts.nodes == 1 ? NetworkLevel::node : NetworkLevel::between_nodes;
  facts.level = chosen(by_nodes, file.level, otherwise.level, error, warnings, name_of);
  if (!facts.operation && asked.by_name) {
    facts.operation = asked.by_name;
    warnings.push_back(
        fmt::format("the operation is missing: {} is taken from the file's name", to_string(*facts.operation)));
  }
  if (!facts.operation) {
    throw error("the measured operation is missing",
                "set the operation with --operation, or after the file name: FILE,operation=allreduce");
  }
  if (facts.ranks == 1) throw error("a single rank does not communicate", "use the output of two ranks or more");
  if (facts.ranks && facts.nodes && *facts.nodes > *facts.ranks) {
    throw error(fmt::format("{} nodes exceed the {} ranks", *facts.nodes, *facts.ranks),
                "ranks are processes, or GPUs, of all nodes together");
  }
  if (!facts.ranks) warnings.emplace_back("the number of ranks is missing; add ranks=");
  if (!facts.level)
    warnings.emplace_back(
        "the file does not show whether the ranks share a node, so the level is null; add nodes= or level=");
  return facts;
}

ExchangeSeries series_with(const ExchangeFacts& facts, std::string tool, std::string file) {
  ExchangeSeries series;
  series.operation = *facts.operation;
  series.ranks = facts.ranks;
  series.nodes = facts.nodes;
  series.level = facts.level;
  series.tool = std::move(tool);
  series.file = std::move(file);
  return series;
}

}  // namespace ddl
