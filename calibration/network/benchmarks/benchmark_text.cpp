#include "calibration/network/benchmarks/benchmark_text.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "calibration/network/benchmarks/line_prefix.hpp"
#include "core/words.hpp"

namespace ddl {
namespace {

constexpr std::string_view blanks = " \t\r";

std::vector<BenchmarkWord> words_from(std::string_view text, std::size_t offset) {
  std::vector<BenchmarkWord> words;
  for (std::size_t at = text.find_first_not_of(blanks); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(blanks, at), text.size());
    words.push_back({text.substr(at, end - at), offset + at});
    at = text.find_first_not_of(blanks, end);
  }
  return words;
}

}  // namespace

std::vector<BenchmarkWord> BenchmarkLine::words() const { return words_from(text, offset); }

std::vector<BenchmarkWord> BenchmarkLine::words_of_comment() const {
  const std::size_t sign = text.find_first_not_of(blanks);
  if (sign == std::string_view::npos || text[sign] != '#') return words();
  return words_from(text.substr(sign + 1), offset + sign + 1);
}

std::vector<BenchmarkWord> BenchmarkLine::cells(char separator) const {
  constexpr std::string_view gaps = " \t";
  std::vector<BenchmarkWord> cells;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    const std::size_t first = std::min(text.find_first_not_of(gaps, at), end);
    std::size_t last = end;
    while (last > first && gaps.find(text[last - 1]) != std::string_view::npos) --last;
    cells.push_back({text.substr(first, last - first), offset + first});
    at = end + 1;
  }
  return cells;
}

std::vector<std::string_view> BenchmarkLine::columns() const {
  std::vector<std::string_view> names;
  std::size_t end = 0;
  for (const BenchmarkWord& word : words_of_comment()) {
    const std::size_t start = word.offset - offset;
    if (names.empty() || start > end + 1) {
      names.push_back(word.text);
    } else {
      const std::size_t first = static_cast<std::size_t>(names.back().data() - text.data());
      names.back() = text.substr(first, start + word.text.size() - first);
    }
    end = start + word.text.size();
  }
  return names;
}

BenchmarkText::BenchmarkText(std::string text, std::string origin) {
  const std::vector<std::size_t> restarts = blank_restarts(text);
  source_ =
      std::make_shared<const SourceText>(without_inner_labels(without_terminal_codes(std::move(text))), std::move(origin));
  LinePrefixes prefixes;
  const std::string_view all = source_->text();
  std::size_t number = 1;  // in the file, where only line feeds end lines
  for (std::size_t at = 0; at < all.size();) {
    const auto restart = std::lower_bound(restarts.begin(), restarts.end(), at);
    const std::size_t end = std::min(all.find('\n', at), restart == restarts.end() ? std::string_view::npos : *restart);
    const bool ended = end != std::string_view::npos;
    std::string_view line = all.substr(at, ended ? end - at : std::string_view::npos);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (lines_.size() == most_lines) {
      throw error(at, fmt::format("more than {} lines", most_lines), "remove NCCL's own log (NCCL_DEBUG)");
    }
    const std::size_t label = known_label_length(line);
    prefixes.learn(line.substr(label));
    lines_.push_back({line.substr(label), at + label, number, ended});
    if (!ended) break;
    if (all[end] == '\n') ++number;
    at = end + 1;
  }
  if (prefixes.empty()) return;
  for (BenchmarkLine& line : lines_) {
    const std::size_t length = prefixes.length(line.text);
    line.text.remove_prefix(length);
    line.offset += length;
  }
}

BenchmarkText BenchmarkText::part(std::size_t first, std::size_t last) const {
  BenchmarkText some;
  some.source_ = source_;
  some.lines_.assign(lines_.begin() + static_cast<std::ptrdiff_t>(first),
                     lines_.begin() + static_cast<std::ptrdiff_t>(last));
  return some;
}

double BenchmarkText::number(const BenchmarkWord& word, std::string_view what) const {
  const std::optional<double> value = number_in<double>(word.text);
  if (!value || !(*value >= 0 && *value <= benchmark_number_limit)) {
    throw error(word.offset, fmt::format("{} is not a valid {}", quote(word.text), what),
                "the file is damaged, or was edited");
  }
  return *value;
}

void BenchmarkText::refuse_cut_row(const BenchmarkLine& line, const BenchmarkLine& before) const {
  if (line.ended || line.text.size() >= before.text.size()) return;
  throw error(line.offset + line.text.size(), "the file ends inside this row",
              "the file was truncated: use the whole output");
}

void BenchmarkText::refuse_other_cells(const BenchmarkLine& line, std::size_t cells, std::size_t columns) const {
  if (cells == columns) return;
  throw error(line.offset + line.text.size(),
              fmt::format("this row has {} cells, but the table has {} columns", cells, columns), "use the whole output");
}

bool is_digits(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
}

double rounding_of(std::string_view number) {
  const std::size_t point = number.find('.');
  const std::size_t places = point == std::string_view::npos ? 0 : number.size() - point - 1;
  return 0.5 * std::pow(10.0, -static_cast<double>(std::min<std::size_t>(places, 20)));
}

}  // namespace ddl
