#include "calibration/network/benchmarks/nccl_log.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <vector>

#include "calibration/network/benchmarks/benchmark_text.hpp"

namespace ddl {
namespace {

using Words = std::vector<BenchmarkWord>;

/// Names of algorithms, indexed by NCCL's numbers.
constexpr std::array<std::string_view, 7> algorithm_names{"Tree",     "Ring", "CollNetDirect", "CollNetChain", "NVLS",
                                                          "NVLSTree", "PAT"};
constexpr std::array<std::string_view, 3> protocol_names{"LL", "LL128", "Simple"};

/// Converts different spellings to the same name: `NVLS_TREE`, `NVLSTree` and `nvlstree`.
std::string plain(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    if (c != '_') letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return letters;
}

template <std::size_t size>
std::string_view name_in(const std::array<std::string_view, size>& names, std::string_view text) {
  std::size_t number = size;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem == std::errc{} && end == text.data() + text.size()) return number < size ? names[number] : "";
  const auto* const found =
      std::find_if(names.begin(), names.end(), [&](std::string_view name) { return plain(name) == plain(text); });
  return found == names.end() ? "" : *found;
}

/// The position inside a word at which `host:pid:thread` begins. The last cell of a row of the benchmark may precede it
/// without a space.
std::size_t host_begin(std::string_view word, const HostNames& hosts) {
  const std::size_t thread = word.rfind(':');
  const std::size_t process = thread == std::string_view::npos || thread == 0 ? thread : word.rfind(':', thread - 1);
  if (process == std::string_view::npos) return 0;
  const std::string_view named = word.substr(0, process);
  const std::size_t letter = named.find_first_not_of("-0123456789");
  if (letter == std::string_view::npos) return 0;
  constexpr std::size_t cell_width = 32;
  for (std::size_t begin = 0; begin < std::min(letter, cell_width); ++begin) {
    if (hosts.contains(named.substr(begin))) return begin;
  }
  return letter;
}

/// Parses `AllReduce: 1048576 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..31}`. Before NCCL 2.25, the form is
/// `1048576 Bytes -> Algo 1 proto 2 time 123.4`, which starts with the name of the function since 2.23.
std::optional<NcclChoice> choice_of(const Words& words) {
  const auto arrow = std::find_if(words.begin(), words.end(), [](const BenchmarkWord& word) { return word.text == "->"; });
  const std::ptrdiff_t at = arrow - words.begin();
  if (at < 2 || words.end() - arrow < 5) return std::nullopt;
  if (arrow[-1].text != "Bytes" || arrow[1].text != "Algo" || arrow[3].text != "proto") return std::nullopt;
  NcclChoice choice;
  const std::string_view bytes = arrow[-2].text;
  const auto [end, problem] = std::from_chars(bytes.data(), bytes.data() + bytes.size(), choice.bytes);
  if (problem != std::errc{} || end != bytes.data() + bytes.size()) return std::nullopt;
  const auto algorithm = print_nccl_algorithm(arrow[2].text, arrow[4].text);
  if (!algorithm) return std::nullopt;
  choice.algorithm = *algorithm;
  choice.of_one_rank = !is_digits(arrow[2].text);
  if (at > 2 && arrow[-3].text.ends_with(':')) choice.function = arrow[-3].text.substr(0, arrow[-3].text.size() - 1);
  return choice;
}

/// The name in `NCCL_ALGO set by environment to Ring`; empty for a list of names or an exclusion.
std::string name_set(const Words& words, std::string_view variable) {
  if (words.size() != 6 || words[0].text != variable || words[1].text != "set" || words[4].text != "to") return {};
  const std::string_view name = words[5].text;
  return std::string(name.ends_with('.') ? name.substr(0, name.size() - 1) : name);
}

}  // namespace

std::optional<std::string> print_nccl_algorithm(std::string_view algorithm, std::string_view protocol) {
  const std::string_view first = name_in(algorithm_names, algorithm), second = name_in(protocol_names, protocol);
  if (first.empty() || (second.empty() && !protocol.empty())) return std::nullopt;
  return second.empty() ? std::string(first) : std::string(first) + " " + std::string(second);
}

std::optional<std::string> parse_nccl_algorithm(std::string_view text) {
  const std::size_t blank = std::min(text.find(' '), text.size());
  return print_nccl_algorithm(text.substr(0, blank), text.substr(std::min(blank + 1, text.size())));
}

std::optional<NcclLogLine> nccl_log_line(std::string_view line, const HostNames& hosts) {
  const std::size_t mark = std::min(line.find(" NCCL INFO "), line.find(" NCCL WARN "));
  if (mark == std::string_view::npos) return std::nullopt;
  const Words before = BenchmarkLine{.text = line.substr(0, mark)}.words();
  NcclLogLine log;
  // The prefix of a line is: host:pid:thread [device] NCCL INFO
  if (before.size() > 2 && before.back().text.starts_with('[') && before.back().text.ends_with(']')) {
    const BenchmarkWord& host = before[before.size() - 2];
    log.begin = host.offset + host_begin(host.text, hosts);
  }
  constexpr std::size_t length_of_mark = 11;
  const Words words = BenchmarkLine{.text = line.substr(mark + length_of_mark)}.words();
  log.choice = choice_of(words);
  log.set_algorithm = name_set(words, "NCCL_ALGO");
  log.set_protocol = name_set(words, "NCCL_PROTO");
  return log;
}

std::string_view nccl_function(Collective operation) {
  switch (operation) {
    case Collective::allreduce:
      return "AllReduce";
    case Collective::allgather:
      return "AllGather";
    case Collective::reduce_scatter:
      return "ReduceScatter";
    case Collective::broadcast:
      return "Broadcast";
    case Collective::reduce:
      return "Reduce";
    case Collective::all_to_all:
    case Collective::point_to_point:
      return "";
  }
  return "";
}

}  // namespace ddl
