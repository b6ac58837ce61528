#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "calibration/network/benchmarks/nccl_tests.hpp"
#include "calibration/network/benchmarks/readers.hpp"

namespace ddl {
namespace {

using Words = std::vector<BenchmarkWord>;

std::optional<int> int_of(std::string_view text) {
  int value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

bool has_word(const Words& words, std::string_view text) {
  return std::any_of(words.begin(), words.end(), [&](const BenchmarkWord& word) { return word.text == text; });
}

/// Parses `Rank  0 Group  0 Pid  15784 on nid007106 device  0 [0009:01:00] NVIDIA GH200 120GB`. Versions before 2.13 print
/// no group.
std::optional<NcclRank> rank_of(const BenchmarkLine& line) {
  const Words words = line.words_of_comment();
  if (words.size() < 2 || words[0].text != "Rank") return std::nullopt;
  const auto number = int_of(words[1].text);
  if (!number) return std::nullopt;
  NcclRank rank{.rank = *number};
  bool has_device = false;
  for (std::size_t i = 2; i + 1 < words.size(); ++i) {
    if (words[i].text == "Group") rank.group = int_of(words[i + 1].text).value_or(0);
    if (words[i].text == "on" && rank.host.empty()) rank.host = words[i + 1].text;
    if (words[i].text == "device" && !has_device) {
      has_device = true;
      rank.index = words[i + 1].text;
    }
    if (has_device && words[i].text.starts_with('[') && words[i].text.ends_with(']')) {
      rank.bus = words[i].text.substr(1, words[i].text.size() - 2);
      const std::size_t end = words.back().offset + words.back().text.size();
      rank.device = std::string(line.text.substr(words[i + 1].offset - line.offset, end - words[i + 1].offset));
      break;
    }
  }
  return has_device && !rank.host.empty() ? std::optional(rank) : std::nullopt;
}

/// The columns of a table.
struct Columns {
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  std::size_t size = none, count = none, type = none, reduction = none, root = none;
  struct Times {
    std::size_t time = none, algorithm_bandwidth = none, bus_bandwidth = none, wrong = none, variation = none;
  };
  std::vector<Times> times{};
  std::size_t cells = 0;
};

/// The sizes announced by a run.
struct Sweep {
  double largest = 0;
  std::optional<double> step{}, factor{};
};

class NcclTextReader {
 public:
  NcclTextReader(const BenchmarkText& text, const AskedFacts& asked, std::vector<std::string>& warnings)
      : text_(text), asked_(asked), warnings_(warnings) {}

  std::vector<ExchangeSeries> read() {
    for (const BenchmarkLine& line : text_.lines()) {
      Words words = line.words();
      if (words.empty()) continue;
      if (const auto log = nccl_log_line(line.text, hosts_)) {
        note_log(line, *log);
      } else if (!begun_.empty() && is_cell(words.front().text)) {
        words.insert(words.begin(), begun_.begin(), begun_.end());
        begun_.clear();
        add_row(line, std::move(words));
      } else if (is_nccl_header(line)) {
        start_table(line);
      } else if (header_ != nullptr && is_row(words)) {
        add_row(line, std::move(words));
      } else {
        note(line, words);
      }
    }
    end_table();
    return std::move(series_);
  }

 private:
  /// Whether a word may continue a row that a line of NCCL's log interrupted.
  static bool is_cell(std::string_view word) {
    return word == "N/A" || word.find_first_not_of("-0123456789.") == std::string_view::npos;
  }

  /// Whether these words are a row, or its beginning. Prose may also start with a number.
  static bool is_row(const Words& words) {
    return is_digits(words.front().text) && (words.size() < 2 || is_digits(words[1].text));
  }

  /// Records a line of the log. nccl-tests prints a row in parts, and NCCL prints its log between the parts.
  void note_log(const BenchmarkLine& line, const NcclLogLine& log) {
    if (log.choice) run_.choices.push_back(*log.choice);
    if (!log.set_algorithm.empty()) run_.set_algorithm = log.set_algorithm;
    if (!log.set_protocol.empty()) run_.set_protocol = log.set_protocol;
    BenchmarkLine before = line;
    before.text = line.text.substr(0, log.begin);
    const Words words = before.words();
    if (header_ == nullptr || words.empty()) return;
    if (begun_.empty() ? is_digits(words.front().text) : is_cell(words.front().text)) {
      begun_.insert(begun_.end(), words.begin(), words.end());
    }
  }

  void note(const BenchmarkLine& line, const Words& words) {
    const Words comment = line.words_of_comment();
    if (header_ != nullptr && run_.rows.empty() && has_word(comment, "(us)")) has_units_ = true;
    if (const auto rank = rank_of(line)) {
      start_run();
      run_.ranks.push_back(*rank);
      hosts_.insert(rank->host);
      return;
    }
    if (has_word(comment, "nThread") && has_word(comment, "maxBytes")) {
      start_run();
      run_.ranks.clear();  // ranks of a run that ended before its table
      read_sweep(comment);
      return;
    }
    if (comment.size() > 3 && comment[0].text == "nccl-tests" && comment[1].text == "version") {
      start_run();
      run_.tool = fmt::format("nccl-tests {}", comment[2].text);
      return;
    }
    if (comment.size() > 4 && comment[0].text == "Reducing" && comment[1].text == "maxBytes") {
      sweep_.largest = int_of(comment[3].text) ? text_.number(comment[3], "number of bytes") : 0;
      return;
    }
    if (has_word(comment, "concluded:")) return;
    // A table of results ends at the next line of the tool.
    for (const BenchmarkWord& word : words) {
      if (auto program = nccl_program(word.text)) {
        start_run();
        run_.program = std::move(*program);
      }
    }
  }

  /// Starts a new run. Lines after a table belong to the next run.
  void start_run() {
    if (header_ == nullptr) return;
    end_table();
    run_ = {};
    sweep_ = {};
  }

  void read_sweep(const Words& words) {
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i].text == "maxBytes") sweep_.largest = text_.number(words[i + 1], "number of bytes");
      if (words[i].text != "step:") continue;
      const std::string_view step = words[i + 1].text;
      const std::size_t end = step.find('(');
      const auto value = int_of(step.substr(0, end));
      if (!value || end == std::string_view::npos) continue;
      if (step.substr(end) == "(factor)") sweep_.factor = *value;
      if (step.substr(end) == "(bytes)") sweep_.step = *value;
    }
  }

  void start_table(const BenchmarkLine& line) {
    const bool again = header_ != nullptr;
    end_table();
    if (again) run_.rows.clear();
    sweep_rows_ = 0;
    header_ = &line;
    columns_ = {};
    const Words words = line.words_of_comment();
    columns_.cells = words.size();
    // All versions print these columns in bytes, elements, microseconds and GB/s.
    has_units_ =
        has_word(words, "algbw") && has_word(words, "busbw") && (has_word(words, "#wrong") || has_word(words, "error"));
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string_view name = words[i].text;
      if (name == "size") columns_.size = i;
      if (name == "count") columns_.count = i;
      if (name == "type") columns_.type = i;
      if (name == "redop") columns_.reduction = i;
      if (name == "root") columns_.root = i;
      if (name == "time") columns_.times.push_back({.time = i});
      if (name == "cputime") {
        throw text_.error(words[i].offset, "these are CPU times, not times of the collective", "run nccl-tests without -C");
      }
      // The timestamp consists of a date and a time of day, which are two cells.
      if (name == "timestamp") ++columns_.cells;
      if (columns_.times.empty()) continue;
      if (name == "algbw") columns_.times.back().algorithm_bandwidth = i;
      if (name == "busbw") columns_.times.back().bus_bandwidth = i;
      if (name == "#wrong") columns_.times.back().wrong = i;
      if (name == "i_cv%") columns_.times.back().variation = i;
    }
    if (columns_.times.empty()) {
      throw text_.error(line.offset, "this table has no column 'time'", "use the original output of nccl-tests");
    }
  }

  /// Inserts an empty cell where a version leaves the column `redop` of operations without a reduction blank.
  void fill_blank_reduction(Words& words) const {
    const std::size_t column = columns_.reduction;
    if (words.size() + 1 != columns_.cells || column >= words.size() || !is_cell(words[column].text)) return;
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(column), {{}, words[column].offset});
  }

  void add_row(const BenchmarkLine& line, Words words) {
    fill_blank_reduction(words);
    if (!has_units_) {
      throw text_.error(header_->offset,
                        "the header line is not followed by a line of units, such as '(B) (elements) ... (us)'",
                        "the file is not the output of nccl-tests: use the original output");
    }
    if (words.size() != columns_.cells) {
      throw text_.error(words.size() < columns_.cells ? line.offset + line.text.size() : words[columns_.cells].offset,
                        fmt::format("this row has {} cells, but the table has {} columns", words.size(), columns_.cells),
                        "the output was truncated or mixed with other output: use the whole output of rank 0");
    }
    if (last_row_ != nullptr) text_.refuse_cut_row(line, *last_row_);
    last_row_ = &line;
    NcclRow row{.size = text_.number(words[columns_.size], "number of bytes"),
                .count = text_.number(words[columns_.count], "number of elements"),
                .type_bytes = columns_.type == Columns::none ? 0 : nccl_type_bytes(words[columns_.type].text),
                .line = line.number};
    if (columns_.reduction != Columns::none && !words[columns_.reduction].text.empty())
      run_.reduces = words[columns_.reduction].text != "none";
    if (columns_.root != Columns::none) run_.has_root = !words[columns_.root].text.starts_with('-');
    bool in_place = false;
    for (const Columns::Times& column : columns_.times) {
      NcclTime time{.microseconds = text_.number(words[column.time], "time in microseconds"), .in_place = in_place};
      if (column.algorithm_bandwidth != Columns::none && column.bus_bandwidth != Columns::none) {
        const BenchmarkWord &algorithm = words[column.algorithm_bandwidth], &bus = words[column.bus_bandwidth];
        time.algorithm_bandwidth = text_.number(algorithm, "bandwidth");
        time.bus_bandwidth = text_.number(bus, "bandwidth");
        time.algorithm_rounding = rounding_of(algorithm.text);
        time.bus_rounding = rounding_of(bus.text);
      }
      if (column.wrong != Columns::none && words[column.wrong].text != "N/A") {
        time.wrong = text_.number(words[column.wrong], "number of wrong elements") > 0;
      }
      if (column.variation != Columns::none) {
        time.deviation = text_.number(words[column.variation], "percentage") / 100 * time.microseconds;
      }
      row.times.push_back(time);
      in_place = true;
    }
    refuse_mixed_runs(line, row.size);
    run_.rows.push_back(std::move(row));
  }

  /// Sizes ascend. They start again only if the run repeats its sweep (-N), with the same sizes in the same order.
  void refuse_mixed_runs(const BenchmarkLine& line, double size) {
    const std::vector<NcclRow>& rows = run_.rows;
    if (sweep_rows_ == 0 && (rows.empty() || size >= rows.back().size)) return;
    if (sweep_rows_ == 0) sweep_rows_ = rows.size();
    if (rows[rows.size() % sweep_rows_].size == size) return;
    throw text_.error(line.offset, "sizes start again before the sweep ended: rows of several runs are mixed in this table",
                      "write each run into a file of its own");
  }

  void end_table() {
    if (header_ == nullptr) return;
    const PlacedError error = errors_at(text_, header_->offset);
    refuse_broken_list(run_, error);
    if (!begun_.empty()) {
      throw text_.error(begun_.front().offset, "this row does not continue after NCCL's log",
                        "the output was truncated or mixed with other output: use the whole output of rank 0");
    }
    if (run_.rows.empty()) {
      throw text_.error(header_->offset, "no rows follow this header", "the run was aborted: use a complete output");
    }
    const double last = run_.rows.back().size;
    const double next = sweep_.factor ? last * *sweep_.factor : last + 2 * sweep_.step.value_or(0);
    // Sizes are rounded down to whole elements of each rank, so the last size may be below the announced maximum.
    if (last > 0 && next > last && next <= sweep_.largest) {
      throw text_.error(
          last_row_->offset,
          fmt::format("the table ends with this row, although the run should reach {:.0f} bytes", sweep_.largest),
          "the run was aborted or the output was truncated: use the whole output, or set -e to the size that it reached");
    }
    series_.push_back(series_of(run_, text_.origin(), asked_, error, warnings_));
    header_ = nullptr;
    last_row_ = nullptr;
  }

  const BenchmarkText& text_;
  const AskedFacts& asked_;
  std::vector<std::string>& warnings_;
  NcclRun run_;
  HostNames hosts_;  ///< hosts of all ranks that the run listed
  Words begun_;      ///< a partial row that NCCL's log interrupts
  Sweep sweep_;
  Columns columns_;
  const BenchmarkLine* header_ = nullptr;  ///< header of the table that is being read
  const BenchmarkLine* last_row_ = nullptr;
  bool has_units_ = false;
  std::size_t sweep_rows_ = 0;  ///< rows of the first sweep, if the table repeats the sweep; 0: no repetition has started
  std::vector<ExchangeSeries> series_;
};

}  // namespace

bool is_nccl_header(const BenchmarkLine& line) {
  const Words words = line.words_of_comment();
  return words.size() > 2 && words[0].text == "size" && words[1].text == "count" &&
         (has_word(words, "time") || has_word(words, "cputime"));
}

std::vector<ExchangeSeries> read_nccl_tests_text(const BenchmarkText& text, const AskedFacts& asked,
                                                 std::vector<std::string>& warnings) {
  return NcclTextReader(text, asked, warnings).read();
}

}  // namespace ddl
