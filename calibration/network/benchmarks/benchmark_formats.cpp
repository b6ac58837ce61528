#include "calibration/network/benchmarks/benchmark_formats.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "calibration/network/benchmarks/benchmark_text.hpp"
#include "calibration/network/benchmarks/readers.hpp"
#include "calibration/network/benchmarks/repetitions.hpp"
#include "core/gzip.hpp"
#include "core/source_text.hpp"
#include "profiler/importers/trace_events.hpp"

namespace ddl {
namespace {

/// A kind of text output: the line by which it is recognized, and its reader.
struct TextFormat {
  bool (*starts)(const BenchmarkLine&);
  std::vector<ExchangeSeries> (*read)(const BenchmarkText&, const AskedFacts&, std::vector<std::string>&);
};
constexpr std::array text_formats{
    TextFormat{is_nccl_header, read_nccl_tests_text},
    TextFormat{is_osu_title, read_osu_text},
    TextFormat{is_torch_bench_header, read_torch_bench_tables},
    TextFormat{is_imb_title, read_imb_text},
    TextFormat{is_perftest_title, read_perftest_text},
    TextFormat{is_nccom_header, read_nccom_text},
    TextFormat{is_hccl_header, read_hccl_text},
    TextFormat{is_rccl_csv_header, read_rccl_csv},
    TextFormat{is_nvbandwidth_title, read_nvbandwidth},
    TextFormat{is_p2p_title, read_p2p_bandwidths},
    TextFormat{is_mpi_graph_title, read_mpi_graph},
};

const TextFormat* format_started_by(const BenchmarkLine& line) {
  for (const TextFormat& format : text_formats) {
    if (format.starts(line)) return &format;
  }
  return nullptr;
}

/// Whether a line may be a row of a table.
bool is_row(const BenchmarkLine& line) {
  const std::size_t first = line.text.find_first_not_of(" \t");
  return first != std::string_view::npos &&
         (line.text[first] == '|' || (line.text[first] >= '0' && line.text[first] <= '9'));
}

/// Lines of one format in a text.
struct Segment {
  const TextFormat* format = nullptr;
  std::size_t first = 0, last = 0;
};

/// Divides a text where the format changes, after the last row of the earlier format.
std::vector<Segment> segments_of(const std::vector<BenchmarkLine>& lines) {
  std::vector<Segment> segments;
  std::size_t after_row = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const TextFormat* const format = format_started_by(lines[i]);
    if (format != nullptr && (segments.empty() || segments.back().format != format)) {
      const std::size_t first = segments.empty() ? 0 : after_row;
      if (!segments.empty()) segments.back().last = first;
      segments.push_back({format, first, lines.size()});
    }
    if (is_row(lines[i]) || format != nullptr) after_row = i + 1;
  }
  return segments;
}

std::vector<ExchangeSeries> parse_text(const BenchmarkText& text, AskedFacts asked, std::vector<std::string>& warnings) {
  const std::vector<Segment> segments = segments_of(text.lines());
  asked.by_command = launched_programs(text);
  if (segments.empty()) throw unread_output(text);
  if (segments.size() == 1) return segments.front().format->read(text, asked, warnings);
  std::vector<ExchangeSeries> all;
  for (const Segment& segment : segments) {
    for (ExchangeSeries& each : segment.format->read(text.part(segment.first, segment.last), asked, warnings))
      all.push_back(std::move(each));
  }
  return all;
}

std::vector<ExchangeSeries> parse_any(std::string text, const std::string& origin, const AskedFacts& asked,
                                      std::vector<std::string>& warnings) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) throw Error(origin + " is empty", "the benchmark printed nothing, or into another file");
  if (is_rccl_json(text)) return read_rccl_json(std::move(text), origin, asked, warnings);
  if (text[first] == '{' && is_nccl_inspector(text)) return read_nccl_inspector(std::move(text), origin, asked, warnings);
  if ((text[first] == '{' || text[first] == '[') && is_trace(text)) {
    return read_trace_exchanges(std::move(text), origin, asked, warnings);
  }
  if (text[first] == '{') return read_nccl_tests_json(std::move(text), origin, asked, warnings);
  return parse_text(BenchmarkText(std::move(text), origin), asked, warnings);
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
  std::string text = read_file(path, max_trace_bytes);
  if (is_gzip(text)) text = gunzip(text, max_trace_bytes, path);
  if (text.size() > max_exchange_file_bytes && !is_trace(text)) {
    throw Error(fmt::format("cannot read {}: the file is longer than {:.4g} MiB", quote(path),
                            static_cast<double>(max_exchange_file_bytes) / 0x1p20),
                "only a trace of torch.profiler may be longer; use a part of the output");
  }
  return parse_exchanges(std::move(text), path, named, warnings);
}

}  // namespace ddl
