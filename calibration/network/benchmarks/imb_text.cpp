#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibration/network/benchmarks/readers.hpp"
#include "core/source_text.hpp"

namespace ddl {
namespace {

using Words = std::vector<BenchmarkWord>;

struct ImbBenchmark {
  std::string_view name;  ///< in lower case
  Collective operation;
  ExchangePattern pattern = ExchangePattern::collective;
  bool of_part = false;  ///< whether the size column counts one rank's part
  bool is_window = false;
};
constexpr std::array imb_benchmarks{
    ImbBenchmark{"pingpong", Collective::point_to_point, ExchangePattern::one_way},
    ImbBenchmark{"pingping", Collective::point_to_point, ExchangePattern::both_ways},
    ImbBenchmark{"sendrecv", Collective::point_to_point, ExchangePattern::both_ways},
    ImbBenchmark{"uniband", Collective::point_to_point, ExchangePattern::one_way, false, true},
    ImbBenchmark{"biband", Collective::point_to_point, ExchangePattern::both_ways, false, true},
    ImbBenchmark{"allreduce", Collective::allreduce},
    ImbBenchmark{"reduce", Collective::reduce},
    ImbBenchmark{"reduce_scatter", Collective::reduce_scatter},
    ImbBenchmark{"allgather", Collective::allgather, ExchangePattern::collective, true},
    ImbBenchmark{"allgatherv", Collective::allgather, ExchangePattern::collective, true},
    ImbBenchmark{"alltoall", Collective::all_to_all, ExchangePattern::collective, true},
    ImbBenchmark{"alltoallv", Collective::all_to_all, ExchangePattern::collective, true},
    ImbBenchmark{"bcast", Collective::broadcast},
};
/// Messages in flight in Uniband and Biband (MAX_WIN_SIZE in IMB_benchmark.h of github.com/intel/mpi-benchmarks).
constexpr double imb_window = 64;

/// The benchmark of `Allreduce`, `Iallreduce` and `Iallreduce_pure`; null if no plan uses it.
const ImbBenchmark* imb_benchmark_of(std::string_view name) {
  std::string letters;
  for (const char c : name) letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  constexpr std::string_view pure = "_pure";
  if (letters.ends_with(pure)) letters.resize(letters.size() - pure.size());
  for (const std::string_view known :
       {std::string_view(letters), std::string_view(letters).substr(letters.starts_with('i'))}) {
    const auto* const found = std::find_if(imb_benchmarks.begin(), imb_benchmarks.end(),
                                           [&](const ImbBenchmark& each) { return each.name == known; });
    if (found != imb_benchmarks.end()) return found;
  }
  return nullptr;
}

class ImbReader {
 public:
  ImbReader(const BenchmarkText& text, const AskedFacts& asked, std::vector<std::string>& warnings)
      : text_(text), asked_(asked), warnings_(warnings) {}

  std::vector<ExchangeSeries> read() {
    for (const BenchmarkLine& line : text_.lines()) {
      const Words words = line.words();
      if (words.empty()) continue;
      if (is_imb_title(line)) {
        start_table(line);
      } else if (words.front().text.starts_with('#')) {
        note(line);
      } else if (title_ != nullptr && benchmark_ != nullptr && is_digits(words.front().text)) {
        add_row(line, words);
      }
    }
    end_table();
    if (!unused_.empty())
      warnings_.push_back(fmt::format("benchmarks that no plan uses are ignored: {}", fmt::join(unused_, ", ")));
    if (series_.empty()) {
      throw text_.error(first_, "no benchmark of this file has an operation that plans use",
                        "used: PingPong, Uniband, Allreduce, Allgather, Reduce_scatter, Alltoall, Bcast, Reduce");
    }
    return std::move(series_);
  }

 private:
  void start_table(const BenchmarkLine& line) {
    end_table();
    if (series_.empty() && unused_.empty()) first_ = line.offset;
    title_ = &line;
    const std::string_view name = line.words_of_comment()[1].text;
    benchmark_ = imb_benchmark_of(name);
    if (benchmark_ == nullptr) unused_.insert(std::string(name));
    ranks_.reset();
    has_groups_ = false;
    columns_.clear();
    last_row_ = nullptr;
  }

  /// Reads the number of processes, the names of columns, and the version of the benchmarks.
  void note(const BenchmarkLine& line) {
    const Words words = line.words_of_comment();
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i].text == "Benchmarks" && tool_.empty()) {
        const std::string_view version = words[i + 1].text;
        if (!is_digits(version.substr(0, 1))) continue;
        tool_ = fmt::format("Intel MPI Benchmarks {}", version.substr(0, version.find(',')));
      }
      if (title_ != nullptr && words[i].text == "#processes" && i + 2 < words.size() && words[i + 1].text == "=")
        ranks_ = text_.number(words[i + 2], "number of processes");
      if (title_ != nullptr && words[i].text == "groups" && words[i + 1].text == "of") has_groups_ = true;
    }
    if (title_ != nullptr && benchmark_ != nullptr && !words.empty() && words.front().text == "bytes") read_header(line);
  }

  void read_header(const BenchmarkLine& line) {
    columns_ = line.words();
    time_ = column("t_pure[usec]");
    if (!time_) time_ = column("t_avg[usec]");
    if (!time_) time_ = column("t[usec]");
    rate_ = benchmark_->is_window ? column("Mbytes/sec") : std::nullopt;
    if (!time_ && !rate_)
      throw text_.error(line.offset, "this table has no column of times", "use the original output of the benchmark");
    ExchangeFacts stated;
    stated.operation = benchmark_->operation;
    stated.program = "IMB";
    if (ranks_ && *ranks_ >= 1 && *ranks_ <= most_exchange_ranks) stated.ranks = static_cast<int>(*ranks_);
    const PlacedError error = errors_at(text_, title_->offset);
    const ExchangeFacts facts = settle(stated, asked_, error, warnings_);
    if (benchmark_->of_part && !facts.ranks)
      throw error("sizes are per rank here, but the number of ranks is missing", "set the number with --ranks");
    current_ = series_with(facts, tool_.empty() ? "Intel MPI Benchmarks" : tool_, text_.origin());
    current_.pattern = benchmark_->pattern;
    current_.window = rate_ ? imb_window : 1;
  }

  [[nodiscard]] std::optional<std::size_t> column(std::string_view name) const {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].text == name) return i;
    }
    return std::nullopt;
  }

  void add_row(const BenchmarkLine& line, const Words& words) {
    if (columns_.empty()) return;
    // A size that takes too long, or too much memory, has a reason in place of its times.
    if (words.size() > 1 && !is_digits(words[1].text)) return;
    text_.refuse_other_cells(line, words.size(), columns_.size());
    if (last_row_ != nullptr) text_.refuse_cut_row(line, *last_row_);
    last_row_ = &line;
    const double size = text_.number(words[0], "number of bytes");
    double microseconds = 0;
    if (rate_) {
      const double rate = text_.number(words[*rate_], "bandwidth");
      microseconds = rate > 0 ? size * (benchmark_->pattern == ExchangePattern::both_ways ? 2 : 1) / rate : 0;
    } else {
      microseconds = text_.number(words[*time_], "time in microseconds");
    }
    if (microseconds <= 0 || microseconds > benchmark_number_limit) return;
    MeasuredExchange measured{.message = Bytes(benchmark_->of_part ? size * current_.ranks.value_or(1) : size),
                              .time = Seconds(microseconds / 1e6),
                              .line = line.number};
    const auto least = column("t_min[usec]"), most = column("t_max[usec]");
    if (least && most) {
      const double low = text_.number(words[*least], "time"), high = text_.number(words[*most], "time");
      if (high >= low) measured.spread = Seconds((high - low) / 2e6);
    }
    current_.rows.push_back(measured);
  }

  void end_table() {
    if (title_ == nullptr || benchmark_ == nullptr) return;
    if (current_.rows.empty()) {
      throw text_.error(title_->offset, "no row of this table has a time", "the run was aborted: use a complete output");
    }
    if (has_groups_) {
      warnings_.push_back(fmt::format("{} of several groups at once is ignored: run it without -multi", benchmark_->name));
      current_ = {};
    } else {
      series_.push_back(std::move(current_));
    }
    current_ = {};
    title_ = nullptr;
  }

  const BenchmarkText& text_;
  const AskedFacts& asked_;
  std::vector<std::string>& warnings_;
  std::string tool_;
  std::size_t first_ = 0;                    ///< position of the first title
  const BenchmarkLine* title_ = nullptr;     ///< title of the table that is being read
  const ImbBenchmark* benchmark_ = nullptr;  ///< null: no plan uses it
  std::optional<double> ranks_;
  bool has_groups_ = false;
  Words columns_;
  std::optional<std::size_t> time_, rate_;
  const BenchmarkLine* last_row_ = nullptr;
  std::set<std::string> unused_;
  ExchangeSeries current_;
  std::vector<ExchangeSeries> series_;
};

}  // namespace

bool is_imb_title(const BenchmarkLine& line) {
  const Words words = line.words_of_comment();
  return words.size() == 2 && words[0].text == "Benchmarking" && line.words().front().text.starts_with('#');
}

std::vector<ExchangeSeries> read_imb_text(const BenchmarkText& text, const AskedFacts& asked,
                                          std::vector<std::string>& warnings) {
  return ImbReader(text, asked, warnings).read();
}

}  // namespace ddl
