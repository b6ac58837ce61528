#include <optional>
#include <string_view>
#include <utility>

#include "calibration/network/benchmarks/nccl_tests.hpp"
#include "calibration/network/benchmarks/readers.hpp"

namespace ddl {
namespace {

using Words = std::vector<BenchmarkWord>;

std::optional<std::size_t> nccom_column(const Words& header, std::string_view beginning) {
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (header[i].text.starts_with(beginning)) return i;
  }
  return std::nullopt;
}

}  // namespace

bool is_nccom_header(const BenchmarkLine& line) {
  const Words words = line.words();
  return words.size() > 3 && words[0].text == "size(B)" && words[1].text == "count(elems)" &&
         nccom_column(words, "time").has_value();
}

std::vector<ExchangeSeries> read_nccom_text(const BenchmarkText& text, const AskedFacts& asked,
                                            std::vector<std::string>& warnings) {
  std::vector<ExchangeSeries> series;
  const BenchmarkLine* header_line = nullptr;
  Words header;
  NcclRun run;
  const auto end_table = [&] {
    if (header_line == nullptr) return;
    const PlacedError error = errors_at(text, header_line->offset);
    if (run.rows.empty()) throw error("no rows follow this header", "the run was aborted: use a complete output");
    series.push_back(series_of(run, text.origin(), asked, error, warnings));
  };
  for (const BenchmarkLine& line : text.lines()) {
    const Words words = line.words();
    if (is_nccom_header(line)) {
      end_table();
      header_line = &line;
      header = words;
      run = {};
      run.tool = "nccom-test";
    } else if (header_line != nullptr && words.size() > 1 && is_digits(words[0].text) && is_digits(words[1].text)) {
      text.refuse_other_cells(line, words.size(), header.size());
      const std::size_t time_column = nccom_column(header, "time:avg").value_or(*nccom_column(header, "time"));
      NcclTime time{.microseconds = text.number(words[time_column], "time in microseconds")};
      const auto algorithm = nccom_column(header, "algbw"), bus = nccom_column(header, "busbw");
      if (algorithm && bus) {
        time.algorithm_bandwidth = text.number(words[*algorithm], "bandwidth");
        time.bus_bandwidth = text.number(words[*bus], "bandwidth");
        time.algorithm_rounding = rounding_of(words[*algorithm].text);
        time.bus_rounding = rounding_of(words[*bus].text);
      }
      NcclRow row{.size = text.number(words[0], "number of bytes"), .line = line.number};
      row.times.push_back(time);
      run.rows.push_back(std::move(row));
    }
  }
  end_table();
  return series;
}

}  // namespace ddl
