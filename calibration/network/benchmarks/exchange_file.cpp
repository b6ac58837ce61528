#include "calibration/network/benchmarks/exchange_file.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "calibration/network/benchmarks/benchmark_text.hpp"
#include "calibration/network/benchmarks/nccl_inspector.hpp"
#include "calibration/network/benchmarks/nccl_tests_json.hpp"
#include "calibration/network/benchmarks/nccl_tests_text.hpp"
#include "calibration/network/benchmarks/osu_text.hpp"
#include "calibration/network/benchmarks/repetitions.hpp"
#include "calibration/network/benchmarks/torch_bench_table.hpp"
#include "calibration/network/benchmarks/trace_exchanges.hpp"
#include "core/source_text.hpp"
#include "profiler/importers/trace_events.hpp"

namespace ddl {
namespace {

bool is_markdown_row(const BenchmarkLine& line) {
  const std::size_t first = line.text.find_first_not_of(" \t");
  return first != std::string_view::npos && line.text[first] == '|' &&
         line.text.find('|', first + 1) != std::string_view::npos;
}

/// Whether a line has words that occur in benchmark tables, even in tables that were retyped.
bool is_retyped(const BenchmarkLine& line) {
  for (const std::string_view word : {"algbw", "busbw", "Latency", "Bandwidth"}) {
    if (line.text.find(word) != std::string_view::npos) return true;
  }
  return false;
}

Error unknown_text(const BenchmarkText& text) {
  const std::string hint =
      "calibrate reads the output of nccl-tests (text, or -J), OSU micro-benchmarks and all_reduce_bench.py, including the "
      "header lines of columns";
  for (const BenchmarkLine& line : text.lines()) {
    if (is_markdown_row(line)) return text.error(line.offset, "a Markdown table is not the output of a benchmark", hint);
    if (is_retyped(line))
      return text.error(line.offset, "this is a table made of a benchmark's output, not the output itself", hint);
  }
  return text.error(0, "this is not the output of a benchmark that calibrate reads", hint);
}

std::vector<ExchangeSeries> parse_any(std::string text, const std::string& origin, const AskedFacts& asked,
                                      std::vector<std::string>& warnings) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) throw Error(origin + " is empty", "the benchmark printed nothing, or into another file");
  if (text[first] == '{' && is_nccl_inspector(text)) return read_nccl_inspector(std::move(text), origin, asked, warnings);
  if ((text[first] == '{' || text[first] == '[') && is_trace(text)) {
    return read_trace_exchanges(std::move(text), origin, asked, warnings);
  }
  if (text[first] == '{') return read_nccl_tests_json(std::move(text), origin, asked, warnings);
  const BenchmarkText lines(std::move(text), origin);
  const BenchmarkLine *osu = nullptr, *nccl = nullptr, *torch = nullptr;
  for (const BenchmarkLine& line : lines.lines()) {
    if (osu == nullptr && is_osu_title(line)) osu = &line;
    if (nccl == nullptr && is_nccl_header(line)) nccl = &line;
    if (torch == nullptr && is_torch_bench_header(line)) torch = &line;
  }
  if (osu != nullptr && nccl != nullptr) {
    throw lines.error(std::max(osu->offset, nccl->offset), "this file has output of both OSU and nccl-tests",
                      "put each into its own file");
  }
  if (torch != nullptr && (osu != nullptr || nccl != nullptr)) {
    throw lines.error(torch->offset, "this file has tables of both PyTorch and another benchmark",
                      "put each into its own file");
  }
  if (torch != nullptr) return read_torch_bench_tables(lines, asked, warnings);
  if (osu != nullptr) return read_osu_text(lines, asked, warnings);
  if (nccl != nullptr) return read_nccl_tests_text(lines, asked, warnings);
  throw unknown_text(lines);
}

/// Converts the name of a tool or device to the form in coefficients: short, on one line, without control characters.
std::string name_in(const std::string& text) {
  constexpr std::size_t longest = 200;
  std::string name = visible(text);
  if (name.size() <= longest) return name;
  std::size_t end = longest;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80U) --end;  // do not cut a multi-byte character
  name.resize(end);
  return name;
}

}  // namespace

std::vector<ExchangeSeries> parse_exchanges(std::string text, const std::string& origin, const AskedFacts& asked,
                                            std::vector<std::string>& warnings) {
  std::vector<ExchangeSeries> series = parse_any(std::move(text), origin, asked, warnings);
  for (ExchangeSeries& each : series) {
    // The number of rows is limited, because a fit evaluates each row for many ranges of sizes.
    if (each.rows.size() > most_series_rows)
      throw Error(fmt::format("{}: more than {} rows of one operation", origin, most_series_rows),
                  "keep the relevant sizes; benchmarks measure tens of them");
    keep_few_repetitions(each);
    each.tool = name_in(each.tool);
    each.device = name_in(each.device);
  }
  return series;
}

std::vector<ExchangeSeries> load_exchanges(const std::string& path, const AskedFacts& asked,
                                           std::vector<std::string>& warnings) {
  AskedFacts named = asked;
  named.by_name = operation_named_by(path);
  if (path.ends_with(".gz"))
    throw Error(fmt::format("{}: compressed files are not supported", path),
                fmt::format("decompress it first: gunzip -k {}", path));
  std::string text = read_file(path, max_trace_bytes);
  if (text.size() > max_exchange_file_bytes && !is_trace(text)) {
    throw Error(fmt::format("cannot read {}: it is longer than {:.4g} MiB", quote(path),
                            static_cast<double>(max_exchange_file_bytes) / 0x1p20),
                "only a trace of torch.profiler may be longer; give a part of it");
  }
  return parse_exchanges(std::move(text), path, named, warnings);
}

}  // namespace ddl
