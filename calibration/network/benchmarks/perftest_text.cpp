#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "calibration/network/benchmarks/readers.hpp"
#include "core/source_text.hpp"

namespace ddl {
namespace {

using Words = std::vector<BenchmarkWord>;

/// A test, by its title: `RDMA_Write Bidirectional BW Test`.
struct PerftestTitle {
  std::string name;
  bool is_latency = false, both_ways = false;
};

std::optional<PerftestTitle> perftest_title_of(const BenchmarkLine& line) {
  const Words words = line.words();
  const auto test = std::find_if(words.begin(), words.end(), [](const BenchmarkWord& word) { return word.text == "Test"; });
  if (test == words.end() || test - words.begin() < 2 || test - words.begin() > 4) return std::nullopt;
  const std::string_view verb = words.front().text;
  if (verb != "Send" && !verb.starts_with("RDMA_") && !verb.starts_with("Atomic") && verb != "Raw") return std::nullopt;
  PerftestTitle title;
  const std::string_view kind = (test - 1)->text;
  if (kind != "Latency" && kind != "BW") return std::nullopt;
  title.is_latency = kind == "Latency";
  for (auto word = words.begin(); word != test; ++word) {
    title.both_ways = title.both_ways || word->text == "Bidirectional";
    title.name += fmt::format("{}{}", title.name.empty() ? "" : " ", word->text);
  }
  return title;
}

/// Messages in flight if the output does not state its TX depth (DEF_TX_BW in perftest_parameters.h).
constexpr double usual_depth = 128;

class PerftestReader {
 public:
  PerftestReader(const BenchmarkText& text, const AskedFacts& asked, std::vector<std::string>& warnings)
      : text_(text), asked_(asked), warnings_(warnings) {}

  std::vector<ExchangeSeries> read() {
    for (const BenchmarkLine& line : text_.lines()) {
      const Words words = line.words();
      if (words.empty()) continue;
      if (const auto title = perftest_title_of(line)) {
        start_test(line, *title);
      } else if (title_ == nullptr) {
        continue;
      } else if (words.front().text == "#bytes") {
        read_header(line);
      } else if (!columns_.empty() && is_digits(words.front().text) && (words.size() < 2 || is_digits(words[1].text))) {
        add_row(line, words);
      } else {
        note(words);
      }
    }
    for (const ExchangeSeries& each : series_) {
      if (each.rows.empty()) throw text_.error(title_->offset, "no row of this test has a time", "use a complete output");
    }
    if (is_loopback_) {
      warnings_.emplace_back("both ends have the same address, so one adapter sent to itself, not through the network");
    }
    return std::move(series_);
  }

 private:
  void start_test(const BenchmarkLine& line, const PerftestTitle& title) {
    const bool is_same = title_ != nullptr && name_ == title.name;
    title_ = &line;
    if (is_same) return;  // the other end of the test, or the test again
    name_ = title.name;
    columns_.clear();
    local_.clear();
    if (name_.starts_with("Atomic") || (name_.starts_with("RDMA_Read") && title.is_latency)) {
      throw text_.error(line.offset, fmt::format("perftest's '{} Test' is not used: the test measures a round trip", name_),
                        "supported: ib_write_bw, ib_read_bw, ib_send_bw, ib_write_lat and ib_send_lat");
    }
    const PlacedError error = errors_at(text_, line.offset);
    ExchangeFacts stated;
    stated.operation = Collective::point_to_point;
    stated.ranks = 2;
    ExchangeSeries series =
        series_with(settle(stated, asked_, error, warnings_), fmt::format("perftest, {}", name_), text_.origin());
    series.pattern = title.both_ways ? ExchangePattern::both_ways : ExchangePattern::one_way;
    series.window = title.is_latency ? 1 : usual_depth;
    is_latency_ = title.is_latency;
    series_.push_back(std::move(series));
  }

  /// Reads ` TX depth : 128` and ` local address: LID 0xd06 QPN 0x095f`.
  void note(const Words& words) {
    for (std::size_t i = 0; i + 3 < words.size(); ++i) {
      if (words[i].text == "TX" && words[i + 1].text == "depth" && words[i + 2].text == ":" && !is_latency_ &&
          series_.back().rows.empty()) {
        series_.back().window = std::clamp(text_.number(words[i + 3], "TX depth"), 1.0, 1e6);
      }
      if (words[i + 1].text != "address:" || words[i + 2].text != "LID") continue;
      // Ethernet has no LID; its address is 0000.
      const std::string_view address = words[i + 3].text;
      if (address.find_first_not_of("0x") == std::string_view::npos) continue;
      if (words[i].text == "local") local_ = address;
      if (words[i].text == "remote" && local_ == address) is_loopback_ = true;
    }
  }

  void read_header(const BenchmarkLine& line) {
    columns_.clear();
    std::string name_of_column;
    for (const BenchmarkWord& word : line.words()) {
      name_of_column += fmt::format("{}{}", name_of_column.empty() ? "" : " ", word.text);
      // `#bytes`, `BW average[MB/sec]`: a column ends with its unit.
      if (word.text.front() != '#' && word.text.find('[') == std::string_view::npos) continue;
      columns_.push_back(std::exchange(name_of_column, {}));
    }
    if (!name_of_column.empty()) columns_.push_back(name_of_column);
    const auto column = [&](std::string_view beginning) -> std::optional<std::size_t> {
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        if (columns_[i].starts_with(beginning)) return i;
      }
      return std::nullopt;
    };
    figure_ = is_latency_ ? column("t_typical") : column("BW average");
    if (!figure_ && is_latency_) figure_ = column("t_avg");
    if (!figure_) {
      throw text_.error(line.offset, fmt::format("this table has no column of {}", is_latency_ ? "times" : "bandwidths"),
                        "use the original output of perftest");
    }
    const std::string& name = columns_[*figure_];
    unit_ = name.find("[Gb/sec]") != std::string::npos ? 1e9 / 8 : 0x1p20;
  }

  void add_row(const BenchmarkLine& line, const Words& words) {
    text_.refuse_other_cells(line, std::min(words.size(), columns_.size()), columns_.size());
    const double size = text_.number(words[0], "number of bytes");
    const double figure = text_.number(words[*figure_], is_latency_ ? "time in microseconds" : "bandwidth");
    ExchangeSeries& series = series_.back();
    const double directions = series.pattern == ExchangePattern::both_ways ? 2 : 1;
    const double microseconds = is_latency_ ? figure : figure > 0 ? 1e6 * directions * size / (figure * unit_) : 0;
    if (microseconds <= 0 || microseconds > benchmark_number_limit) return;
    series.rows.push_back({.message = Bytes(size), .time = Seconds(microseconds / 1e6), .line = line.number});
  }

  const BenchmarkText& text_;
  const AskedFacts& asked_;
  std::vector<std::string>& warnings_;
  std::string name_;
  const BenchmarkLine* title_ = nullptr;  ///< the last title
  bool is_latency_ = false, is_loopback_ = false;
  std::string local_;
  std::vector<std::string> columns_;
  std::optional<std::size_t> figure_;
  double unit_ = 0x1p20;  ///< bytes per second of the bandwidth column
  std::vector<ExchangeSeries> series_;
};

}  // namespace

bool is_perftest_title(const BenchmarkLine& line) { return perftest_title_of(line).has_value(); }

std::vector<ExchangeSeries> read_perftest_text(const BenchmarkText& text, const AskedFacts& asked,
                                               std::vector<std::string>& warnings) {
  return PerftestReader(text, asked, warnings).read();
}

}  // namespace ddl
