#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "calibration/network/benchmarks/readers.hpp"
#include "core/find.hpp"
#include "core/source_text.hpp"

namespace ddl {
namespace {

using Words = std::vector<BenchmarkWord>;

/// A benchmark of OSU. Its title without "OSU MPI" and "Test" identifies it.
struct Benchmark {
  std::string_view title, program;  ///< `program`: its name without `osu_`
  std::string_view figure;          ///< part of the name of the column with the value
  Collective operation;
  ExchangePattern pattern;
  bool of_part = false;  ///< whether the size column counts one rank's part
};
constexpr auto collective = ExchangePattern::collective;
constexpr std::string_view multi_latency = "Multi Latency", multi_bandwidth = "Multiple Bandwidth / Message Rate";
constexpr std::array benchmarks{
    Benchmark{"Latency", "latency", "Latency", Collective::point_to_point, ExchangePattern::one_way},
    Benchmark{"Bandwidth", "bw", "Bandwidth", Collective::point_to_point, ExchangePattern::one_way},
    Benchmark{"Bi-Directional Bandwidth", "bibw", "Bandwidth", Collective::point_to_point, ExchangePattern::both_ways},
    Benchmark{"Allreduce Latency", "allreduce", "Latency", Collective::allreduce, collective},
    Benchmark{"Allgather Latency", "allgather", "Latency", Collective::allgather, collective, true},
    Benchmark{"Reduce_scatter Latency", "reduce_scatter", "Latency", Collective::reduce_scatter, collective},
    Benchmark{"Broadcast Latency", "bcast", "Latency", Collective::broadcast, collective},
    Benchmark{"All-to-All Personalized Exchange Latency", "alltoall", "Latency", Collective::all_to_all, collective, true},
    Benchmark{"Reduce Latency", "reduce", "Latency", Collective::reduce, collective},
    // Several pairs of ranks at once, each as Latency and Bandwidth do.
    Benchmark{multi_latency, "multi_lat", "Lat", Collective::point_to_point, ExchangePattern::one_way},
    Benchmark{multi_bandwidth, "mbw_mr", "MB/s", Collective::point_to_point, ExchangePattern::one_way},
};

/// The benchmark with this title; null if none is used. Non-blocking collectives without computation are collectives.
const Benchmark* benchmark_of(std::string_view title, bool& is_nonblocking) {
  constexpr std::string_view nonblocking = "Non-blocking ";
  is_nonblocking = title.starts_with(nonblocking);
  if (is_nonblocking) title.remove_prefix(nonblocking.size());
  for (const Benchmark& each : benchmarks) {
    const bool is_same =
        each.title == title || (is_nonblocking && title == "All-to-All Latency" && each.operation == Collective::all_to_all);
    if (is_same && (!is_nonblocking || each.pattern == collective)) return &each;
  }
  return nullptr;
}

/// The start of the line in which print_osu (calibration/network/sweep) adds facts that OSU's format lacks.
constexpr std::string_view own_mark = "ddl-oracle:";

/// The parts of `# OSU MPI-CUDA All-to-All Personalized Exchange Latency Test v7.5`. Versions before 3 have
/// `# OSU MPI Latency Test (Version 2.0)`.
struct Title {
  std::string name, version;
};
std::optional<Title> title_of(const BenchmarkLine& line) {
  const Words words = line.words_of_comment();
  if (words.size() < 5 || words[0].text != "OSU") return std::nullopt;
  const std::string_view last = words.back().text;
  const bool is_old = words[words.size() - 2].text == "(Version" && last.ends_with(')');
  const std::size_t test = words.size() - (is_old ? 3 : 2);
  if (test < 3 || words[test].text != "Test" || (!is_old && !last.starts_with('v'))) return std::nullopt;
  Title title;
  // `MPI` or `MPI-CUDA`; one-sided tests have `MPI_Put`.
  if (words[1].text != "MPI" && !words[1].text.starts_with("MPI-")) title.name = fmt::format("{} ", words[1].text);
  for (std::size_t i = 2; i < test; ++i) title.name += fmt::format("{}{}", i > 2 ? " " : "", words[i].text);
  title.version = std::string(is_old ? last.substr(0, last.size() - 1) : last.substr(1));
  return title;
}

/// Whether a line is a header such as `# Size          Avg Latency(us)`. A line with only `#` is no
/// header.
bool is_header(const BenchmarkLine& line) {
  const Words words = line.words_of_comment();
  return !words.empty() && words[0].text == "Size" && line.words()[0].text.starts_with('#');
}

/// Whether a word ends the name of a column: it is the whole name, or the unit at its end.
bool ends_name(std::string_view word) {
  constexpr std::array<std::string_view, 5> names{"Size", "Iterations", "Validation", "MB/s", "Messages/s"};
  return contains(names, word) || word.ends_with("(us)") || word.ends_with("(MB/s)") || word.ends_with("(%)");
}

/// Returns the names of columns. Pages and terminals shorten the spaces between them to one, so the names are split, too.
std::vector<std::string_view> columns_of(const BenchmarkLine& line) {
  std::vector<std::string_view> names;
  for (const std::string_view joined : line.columns()) {
    std::size_t start = 0;
    for (std::size_t at = 0; at < joined.size();) {
      const std::size_t end = std::min(joined.find_first_of(" \t", at), joined.size());
      if (ends_name(joined.substr(at, end - at)) || end == joined.size()) {
        names.push_back(joined.substr(start, end - start));
        start = end + 1;
      }
      at = end + 1;
    }
  }
  return names;
}

class OsuTextReader {
 public:
  OsuTextReader(const BenchmarkText& text, const AskedFacts& asked, std::vector<std::string>& warnings)
      : text_(text), asked_(asked), warnings_(warnings) {}

  std::vector<ExchangeSeries> read() {
    for (const BenchmarkLine& line : text_.lines()) {
      const Words words = line.words();
      if (words.empty()) continue;
      if (!library_) library_ = library_named_by(line.text);
      // If a line sets parameters of `coll_tuned`, Open MPI's default rules do not apply.
      is_pinned_ = is_pinned_ || line.text.find("coll_tuned") != std::string_view::npos;
      if (words.size() > 1 && words[0].text == "#" && words[1].text == own_mark) {
        end_table();
        read_own_facts(words);
      } else if (const std::optional<Title> title = title_of(line)) {
        start_table(line, *title);
      } else if (title_ == nullptr) {
        continue;
      } else if (is_header(line)) {
        read_header(line);
      } else if (is_row(words)) {
        add_row(line, words);
      }
    }
    end_table();
    // The line that names the library may stand before or after the tables, and applies to all of them.
    for (ExchangeSeries& each : series_) {
      if (is_pinned_ && !asked_.of_file.library) each.library.clear();
      if (each.library.empty() && library_ && !is_pinned_) each.library = *library_;
    }
    return std::move(series_);
  }

 private:
  void start_table(const BenchmarkLine& line, const Title& title) {
    end_table();
    const Benchmark* const found = benchmark_of(title.name, is_nonblocking_);
    if (found == nullptr) {
      throw text_.error(line.offset, fmt::format("OSU's '{} Test' is not used", title.name),
                        "supported: latency, bw, bibw, mbw_mr, multi_lat, allreduce, allgather, reduce_scatter, bcast, "
                        "alltoall and reduce, and their "
                        "non-blocking forms");
    }
    benchmark_ = found;
    title_ = &line;
    columns_.clear();
    last_row_ = nullptr;
    rows_ = rows_without_time_ = rows_wrong_ = 0;
    ExchangeFacts stated = std::exchange(own_facts_, {});
    stated.library = library_;
    stated.operation = benchmark_->operation;
    stated.program = fmt::format("osu_{}{}", is_nonblocking_ ? "i" : "", benchmark_->program);
    const std::optional<double> window = std::exchange(own_window_, std::nullopt);
    // Two-process benchmarks run with exactly two ranks, others with two for each pair.
    const Pairs printed = pairs_after(line);
    const bool has_pairs = benchmark_->title == multi_latency || benchmark_->title == multi_bandwidth;
    if (benchmark_->pattern != collective && !has_pairs) stated.ranks = 2;
    if (printed.pairs && has_pairs) stated.ranks = 2 * *printed.pairs;
    const auto command = asked_.by_command.find(stated.program);
    const bool is_launched = command != asked_.by_command.end() && command->second.ranks;
    if (has_pairs && !stated.ranks && !asked_.of_file.ranks && !asked_.otherwise.ranks && !is_launched) {
      stated.ranks = 2;
      warnings_.emplace_back("the number of pairs is missing: one pair is assumed; if more ran, add ranks=");
    }
    const PlacedError error = errors_at(text_, line.offset);
    const ExchangeFacts facts = settle(stated, asked_, error, warnings_);
    if (benchmark_->of_part && !facts.ranks) {
      throw text_.error(line.offset, "sizes are per rank here, but the number of ranks is missing",
                        "set the number with --ranks, or after the file name: FILE,ranks=4");
    }
    current_ = series_with(facts, fmt::format("OSU micro-benchmarks {}", title.version), text_.origin());
    current_.pattern = benchmark_->pattern;
    if (has_pairs && facts.ranks.value_or(2) % 2 != 0) throw error("pairs need an even number of ranks", "correct ranks=");
    if (has_pairs) current_.pairs = facts.ranks.value_or(2) / 2;
    current_.library = facts.library.value_or("");
    if (is_bandwidth()) {
      current_.window = window.value_or(printed.window.value_or(osu_window));
      if (!window && !printed.window)
        warnings_.push_back(
            fmt::format("the number of messages in flight is missing; OSU's default of {:.0f} is used", osu_window));
    }
  }

  /// Whether these words are a row, or its beginning. Prose may also start with a number.
  [[nodiscard]] bool is_row(const Words& words) const {
    return is_digits(words.front().text) &&
           (words.size() < 2 || words.size() == columns_.size() || is_digits(words[1].text.substr(0, 1)));
  }

  [[nodiscard]] bool is_bandwidth() const {
    return benchmark_->figure == "Bandwidth" || benchmark_->title == multi_bandwidth;
  }

  /// The facts in `# [ pairs: 8 ] [ window size: 64 ]`, which follows a title.
  struct Pairs {
    std::optional<int> pairs{};
    std::optional<double> window{};
  };
  [[nodiscard]] Pairs pairs_after(const BenchmarkLine& title) const {
    Pairs found;
    const std::vector<BenchmarkLine>& lines = text_.lines();
    for (auto at = static_cast<std::size_t>(&title - lines.data()) + 1; at < lines.size(); ++at) {
      const Words words = lines[at].words_of_comment();
      if (title_of(lines[at]) || (!words.empty() && is_digits(words.front().text))) break;
      for (std::size_t i = 0; i + 1 < words.size(); ++i) {
        if (!is_digits(words[i + 1].text) || words[i + 1].text.size() > 7) continue;
        const double number = text_.number(words[i + 1], "whole number");
        if (words[i].text == "pairs:" && number >= 1) found.pairs = static_cast<int>(number);
        if (words[i].text == "size:" && number >= 1 && i > 0 && words[i - 1].text == "window") found.window = number;
      }
    }
    return found;
  }

  /// Reads a line that a sweep of this program writes: `# ddl-oracle: ranks=4 nodes=2 window=64`.
  /// It states facts about the next table.
  void read_own_facts(const Words& words) {
    own_facts_ = {};
    own_window_.reset();
    for (std::size_t i = 2; i < words.size(); ++i) {
      const std::string_view text = words[i].text;
      const std::size_t sign = std::min(text.find('='), text.size());
      const BenchmarkWord value{text.substr(std::min(sign + 1, text.size())), words[i].offset + sign + 1};
      const double number = text_.number(value, "whole number");
      if (number < 1 || number > most_exchange_ranks || number != std::floor(number)) {
        throw text_.error(words[i].offset,
                          fmt::format("{} is not a whole number from 1 to {}", quote(text), most_exchange_ranks),
                          "the file is damaged");
      }
      if (text.starts_with("ranks=")) {
        own_facts_.ranks = static_cast<int>(number);
      } else if (text.starts_with("nodes=")) {
        own_facts_.nodes = static_cast<int>(number);
      } else if (text.starts_with("window=")) {
        own_window_ = number;
      } else {
        throw text_.error(words[i].offset, fmt::format("{} is not a property of a sweep", quote(text)),
                          "the file is damaged");
      }
    }
  }

  void read_header(const BenchmarkLine& line) {
    if (!columns_.empty()) return;
    columns_ = columns_of(line);
    // The name of the column of times depends on the version: `Latency (us)` before 5.x, and for
    // tests of two ranks before 7.x; otherwise `Avg Latency(us)`.
    const bool in_bytes_per_second = is_bandwidth();
    // A non-blocking collective is also timed with computation.
    figure_ = is_nonblocking_ ? column("Pure Comm").value_or(columns_.size()) : 1;
    const std::string_view figure = figure_ < columns_.size() ? columns_[figure_] : std::string_view();
    const std::string_view unit = benchmark_->title == multi_bandwidth ? "MB/s" : in_bytes_per_second ? "(MB/s)" : "(us)";
    if ((!is_nonblocking_ && figure.find(benchmark_->figure) == std::string_view::npos) || !figure.ends_with(unit)) {
      throw text_.error(line.offset,
                        fmt::format("expected a column of {} after the size",
                                    in_bytes_per_second ? "'Bandwidth (MB/s)'" : "'Latency (us)'"),
                        "use the original output of OSU's benchmark");
    }
  }

  [[nodiscard]] std::optional<std::size_t> column(std::string_view beginning) const {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].starts_with(beginning)) return i;
    }
    return std::nullopt;
  }

  void add_row(const BenchmarkLine& line, const Words& words) {
    if (columns_.empty()) {
      throw text_.error(line.offset, "this row is before the line '# Size ...' that names the columns",
                        "use the original output of OSU's benchmark");
    }
    if (words.size() != columns_.size()) {
      throw text_.error(words.size() < columns_.size() ? line.offset + line.text.size() : words[columns_.size()].offset,
                        fmt::format("this row has {} cells, but the table has {} columns", words.size(), columns_.size()),
                        "the output was truncated or mixed with other output: use the whole output");
    }
    if (last_row_ != nullptr) text_.refuse_cut_row(line, *last_row_);
    last_row_ = &line;
    ++rows_;
    const double size = text_.number(words[0], "number of bytes");
    const double figure = text_.number(words[figure_], "number");
    if (const auto validation = column("Validation"); validation && words[*validation].text != "Pass") {
      ++rows_wrong_;
      return;
    }
    double microseconds = figure;
    if (is_bandwidth()) {
      // Bandwidths are in MB/s, where 1 MB is 10^6 bytes. For two directions, the value is the sum of both.
      const double bytes = (benchmark_->pattern == ExchangePattern::both_ways ? 2 : current_.pairs) * size;
      microseconds = figure > 0 ? bytes / figure : 0;
      if (microseconds > benchmark_number_limit)
        throw text_.error(words[figure_].offset, fmt::format("{} is not a bandwidth", quote(words[figure_].text)),
                          "the file is damaged");
    }
    if (microseconds <= 0) {
      ++rows_without_time_;
      return;
    }
    MeasuredExchange measured{.message = Bytes(benchmark_->of_part ? size * current_.ranks.value_or(1) : size),
                              .time = Seconds(microseconds / 1e6),
                              .line = line.number};
    const auto least = column(is_nonblocking_ ? "Min Comm" : "Min Latency");
    const auto most = column(is_nonblocking_ ? "Max Comm" : "Max Latency");
    if (least && most) {
      const double low = text_.number(words[*least], "time"), high = text_.number(words[*most], "time");
      if (high >= low) measured.spread = Seconds((high - low) / 2e6);
    }
    current_.rows.push_back(measured);
  }

  void end_table() {
    if (title_ == nullptr) return;
    const auto broken = [&](std::string_view message) {
      return text_.error(title_->offset, message, "the run was aborted: use a complete output");
    };
    if (rows_ == 0) throw broken("no rows follow this title");
    if (current_.rows.empty()) throw broken("no row of this table has a time");
    if (rows_without_time_ > 0)
      warnings_.push_back(fmt::format("{} rows that round to zero are ignored", rows_without_time_));
    if (rows_wrong_ > 0) warnings_.push_back(fmt::format("{} rows that failed their validation are ignored", rows_wrong_));
    series_.push_back(std::move(current_));
    title_ = nullptr;
  }

  const BenchmarkText& text_;
  const AskedFacts& asked_;
  std::vector<std::string>& warnings_;
  ExchangeFacts own_facts_;
  std::optional<double> own_window_;
  std::optional<std::string> library_;  ///< the MPI library that a line of the file names
  bool is_pinned_ = false;              ///< whether a line selects an algorithm
  const Benchmark* benchmark_ = nullptr;
  bool is_nonblocking_ = false;
  std::size_t figure_ = 1;                ///< column of the value
  const BenchmarkLine* title_ = nullptr;  ///< title of the table that is being read
  const BenchmarkLine* last_row_ = nullptr;
  std::vector<std::string_view> columns_;
  std::size_t rows_ = 0, rows_without_time_ = 0, rows_wrong_ = 0;
  ExchangeSeries current_;
  std::vector<ExchangeSeries> series_;
};

}  // namespace

bool is_osu_title(const BenchmarkLine& line) { return title_of(line).has_value(); }

std::vector<ExchangeSeries> read_osu_text(const BenchmarkText& text, const AskedFacts& asked,
                                          std::vector<std::string>& warnings) {
  return OsuTextReader(text, asked, warnings).read();
}

}  // namespace ddl
