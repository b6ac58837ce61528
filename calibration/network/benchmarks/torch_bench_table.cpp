#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "calibration/network/benchmarks/nccl_tests.hpp"
#include "calibration/network/benchmarks/readers.hpp"
#include "core/source_text.hpp"

namespace ddl {
namespace {

using Words = std::vector<BenchmarkWord>;

constexpr std::string_view bench_hint = "use the whole original output of all_reduce_bench.py or torch-dist-bench.py";
/// A time is derived from a bandwidth only if its relative rounding error is at most this.
constexpr double coarsest_rounding = 0.1;

/// The cells of a row in Markdown; empty if the line is not a row.
Words cells_of(const BenchmarkLine& line) {
  Words cells = line.cells('|');
  if (cells.size() < 2 || !cells.front().text.empty()) return {};
  cells.erase(cells.begin());
  if (cells.back().text.empty()) cells.pop_back();  // after the last bar
  return cells;
}

bool is_rule(const Words& cells) {
  return !cells.empty() && std::all_of(cells.begin(), cells.end(), [](const BenchmarkWord& cell) {
    return !cell.text.empty() && cell.text.find_first_not_of("-: ") == std::string_view::npos;
  });
}

std::optional<std::size_t> column_named(const Words& header, std::string_view name) {
  const auto found =
      std::find_if(header.begin(), header.end(), [&](const BenchmarkWord& cell) { return cell.text == name; });
  if (found == header.end()) return std::nullopt;
  return static_cast<std::size_t>(found - header.begin());
}

/// The heading of a table, which is the line before the table.
struct TableHeading {
  std::string_view operation;
  int ranks = 0;
  std::optional<BenchmarkWord> payload;  ///< set if all rows have the same payload, such as `0.5GiB`
};

/// Parses `The average bandwidth of all_reduce over 8 ranks (5 warmups / 20 trials):`.
std::optional<TableHeading> heading_of(const BenchmarkLine& line) {
  const Words words = line.words();
  if (words.size() < 6 || words[0].text != "The") return std::nullopt;
  for (std::size_t i = 1; i + 4 < words.size(); ++i) {
    if (words[i].text != "of" || words[i + 2].text != "over" || !words[i + 4].text.starts_with("ranks")) continue;
    const std::string_view digits = words[i + 3].text;
    if (!is_digits(digits) || digits.size() > 8) return std::nullopt;
    int ranks = 0;
    for (const char digit : digits) ranks = 10 * ranks + (digit - '0');
    if (ranks < 1 || ranks > most_exchange_ranks) return std::nullopt;
    TableHeading heading{words[i + 1].text, ranks, {}};
    if (words[2].text == "payload") heading.payload = words[1];
    return heading;
  }
  return std::nullopt;
}

class TorchBenchReader {
 public:
  TorchBenchReader(const BenchmarkText& text, const AskedFacts& asked, std::vector<std::string>& warnings)
      : text_(text), asked_(asked), warnings_(warnings) {}

  std::vector<ExchangeSeries> read() {
    for (const BenchmarkLine& line : text_.lines()) {
      if (is_torch_bench_header(line)) {
        start_table(line);
        continue;
      }
      if (const auto heading = heading_of(line)) {
        end_table();
        heading_ = heading;
        continue;
      }
      const Words cells = header_line_ == nullptr ? Words() : cells_of(line);
      if (cells.empty()) {
        end_table();
        read_environment(line);
      } else if (!is_rule(cells)) {
        add_row(line, cells);
      }
    }
    end_table();
    if (series_.empty()) {
      throw text_.error(
          0, "no table of this file has an operation that plans use",
          "supported: all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, reduce and batch_isend_irecv");
    }
    return std::move(series_);
  }

 private:
  /// Reads `- software: torch=2.9.1+cu130, cuda=13.0, nccl=(2, 27, 7)` and `- hardware: _CudaDeviceProperties(name='...',
  /// ...`.
  void read_environment(const BenchmarkLine& line) {
    const auto after = [&](std::string_view key, std::string_view end) -> std::string {
      const std::size_t at = line.text.find(key);
      if (at == std::string_view::npos) return {};
      const std::string_view rest = line.text.substr(at + key.size());
      return std::string(rest.substr(0, rest.find_first_of(end)));
    };
    if (line.text.starts_with("- software:")) {
      const std::string torch = after("torch=", ", `"), in_parentheses = after("nccl=(", ")");
      std::string nccl;
      for (const char c : in_parentheses) nccl += c == ',' ? "." : c == ' ' ? "" : std::string(1, c);
      if (nccl.empty()) nccl = after("nccl=", ", `");
      if (!torch.empty()) tool_ = "PyTorch " + torch;
      if (!nccl.empty()) tool_ += ", NCCL " + nccl;
    }
    if (line.text.starts_with("- hardware:")) device_ = after("name='", "'");
  }

  void start_table(const BenchmarkLine& line) {
    end_table();
    header_line_ = &line;
    header_ = cells_of(line);
    const std::optional<TableHeading> heading = std::exchange(heading_, std::nullopt);
    run_ = {};
    is_skipped_ = false;
    payload_.reset();
    if (heading) {
      run_.rank_count = heading->ranks;
      // In batch_isend_irecv, each rank sends to the next rank, as in sendrecv of nccl-tests.
      run_.operation =
          heading->operation == "batch_isend_irecv" ? Collective::point_to_point : parse_operation(heading->operation);
      if (!run_.operation) {
        is_skipped_ = true;
        warnings_.push_back(
            fmt::format("the table of {}, an operation that no plan uses, is ignored", quote(heading->operation)));
      }
      if (heading->payload) payload_ = bytes(*heading->payload);
    }
    if (!column_named(header_, "payload") && !payload_) {
      throw text_.error(line.offset, "the message size of these bandwidths is not stated", std::string(bench_hint));
    }
  }

  /// The number in a cell that also has a unit.
  [[nodiscard]] double number_before(const BenchmarkWord& cell, std::string_view unit, std::string_view what) const {
    if (!cell.text.ends_with(unit)) {
      throw text_.error(cell.offset, fmt::format("{} is not a valid {}", quote(cell.text), what), std::string(bench_hint));
    }
    return text_.number({cell.text.substr(0, cell.text.size() - unit.size()), cell.offset}, what);
  }

  [[nodiscard]] double bytes(const BenchmarkWord& cell) const {
    constexpr std::array<std::pair<std::string_view, double>, 5> units{
        {{"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}, {"B", 1}}};
    for (const auto& [unit, factor] : units) {
      if (!cell.text.ends_with(unit)) continue;
      if (!is_digits(cell.text.substr(0, 1)) || !is_digits(cell.text.substr(cell.text.size() - unit.size() - 1, 1))) break;
      const double size = factor * number_before(cell, unit, "size, such as 32KiB");
      if (size <= benchmark_number_limit) return size;
    }
    throw text_.error(cell.offset, fmt::format("{} is not a size, such as 32KiB", quote(cell.text)),
                      std::string(bench_hint));
  }

  void add_row(const BenchmarkLine& line, const Words& cells) {
    if (cells.size() != header_.size()) {
      throw text_.error(line.offset + line.text.size(),
                        fmt::format("this row has {} cells, but the table has {} columns", cells.size(), header_.size()),
                        "the output was truncated or mixed with other output: use the whole output");
    }
    const auto size = column_named(header_, "payload");
    NcclRow row{.size = size ? bytes(cells[*size]) : payload_.value_or(0), .line = line.number};
    NcclTime time{.in_place = true};
    const BenchmarkWord &algorithm = cells[*column_named(header_, "algbw")], &bus = cells[*column_named(header_, "busbw")];
    constexpr std::string_view unit = "GBps";
    // torch-dist-bench.py omits the bandwidths of small messages.
    if (!algorithm.text.empty() && !bus.text.empty()) {
      time.algorithm_bandwidth = number_before(algorithm, unit, "bandwidth, such as 12.34GBps");
      time.bus_bandwidth = number_before(bus, unit, "bandwidth, such as 12.34GBps");
      time.algorithm_rounding = rounding_of(algorithm.text.substr(0, algorithm.text.size() - unit.size()));
      time.bus_rounding = rounding_of(bus.text.substr(0, bus.text.size() - unit.size()));
    }
    if (time.algorithm_rounding <= coarsest_rounding * time.algorithm_bandwidth && time.algorithm_bandwidth > 0) {
      time.microseconds = row.size / time.algorithm_bandwidth / 1e3;
    } else if (const auto latency = column_named(header_, "latency median")) {
      time.microseconds = number_before(cells[*latency], "us", "time, such as 12.3us");
    } else {
      ++coarse_;
    }
    if (!(time.microseconds <= benchmark_number_limit)) {
      throw text_.error(algorithm.offset, fmt::format("{} is not a bandwidth", quote(algorithm.text)),
                        "the file is damaged");
    }
    row.times.push_back(time);
    run_.rows.push_back(std::move(row));
  }

  void end_table() {
    if (header_line_ == nullptr) return;
    const BenchmarkLine& header = *std::exchange(header_line_, nullptr);
    const PlacedError error = errors_at(text_, header.offset);
    if (run_.rows.empty()) throw error("no rows follow this header", "the run was aborted: run it again");
    const std::size_t coarse = std::exchange(coarse_, 0);
    if (is_skipped_) return;
    if (coarse > 0) {
      warnings_.push_back(
          fmt::format("{} bandwidths with a rounding error above {:.0f} % are ignored", coarse, 100 * coarsest_rounding));
      std::erase_if(run_.rows, [](const NcclRow& row) { return row.times.front().microseconds <= 0; });
      if (run_.rows.empty()) throw error("all of these bandwidths are rounded to one digit", "measure larger messages");
    }
    run_.tool = tool_;
    run_.device = device_;
    series_.push_back(series_of(run_, text_.origin(), asked_, error, warnings_));
  }

  const BenchmarkText& text_;
  const AskedFacts& asked_;
  std::vector<std::string>& warnings_;
  std::string tool_ = "PyTorch", device_;
  std::optional<TableHeading> heading_;         ///< heading of a table that has not started yet
  const BenchmarkLine* header_line_ = nullptr;  ///< header of the table that is being read
  Words header_;
  NcclRun run_;
  std::optional<double> payload_;  ///< payload of all rows
  bool is_skipped_ = false;
  std::size_t coarse_ = 0;
  std::vector<ExchangeSeries> series_;
};

}  // namespace

bool is_torch_bench_header(const BenchmarkLine& line) {
  const Words cells = cells_of(line);
  return column_named(cells, "busbw") && column_named(cells, "algbw");
}

std::vector<ExchangeSeries> read_torch_bench_tables(const BenchmarkText& text, const AskedFacts& asked,
                                                    std::vector<std::string>& warnings) {
  return TorchBenchReader(text, asked, warnings).read();
}

}  // namespace ddl
