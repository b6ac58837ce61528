#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "calibration/network/benchmarks/readers.hpp"

namespace ddl {
namespace {

using Words = std::vector<BenchmarkWord>;

bool has_text(const BenchmarkLine& line, std::string_view part) { return line.text.find(part) != std::string_view::npos; }

/// How nvbandwidth begins the line above a matrix of copies between GPUs by their copy engines.
constexpr std::string_view between_gpus = "memcpy CE GPU(row)";

/// Bandwidths of a matrix of GPUs, without its diagonal: rows follow `at`, each with a number first.
void add_matrix(const BenchmarkText& text, std::size_t at, double bytes, ExchangeSeries& into) {
  const std::vector<BenchmarkLine>& lines = text.lines();
  std::size_t row = 0;
  for (; at < lines.size(); ++at) {
    Words words = lines[at].words();
    if (words.empty()) break;
    if (words.front().text.starts_with("D\\D")) continue;
    if (row == 0 && words.size() > 1 && words[0].text == "0" && words[1].text == "1") continue;  // names of columns
    if (!is_digits(words.front().text)) break;
    for (std::size_t column = 1; column < words.size(); ++column) {
      if (column - 1 == row || words[column].text == "N/A") continue;
      const double rate = text.number(words[column], "bandwidth") * 1e9;
      if (rate <= 0 || bytes / rate > 1e6) continue;
      into.rows.push_back({.message = Bytes(bytes), .time = Seconds(bytes / rate), .line = lines[at].number});
    }
    ++row;
  }
}

ExchangeSeries copies_between_gpus(const BenchmarkText& text, const AskedFacts& asked, std::vector<std::string>& warnings,
                                   std::string tool, double window) {
  const PlacedError error = errors_at(text, 0);
  const ExchangeFacts stated{.operation = Collective::point_to_point, .ranks = 2, .nodes = 1};
  ExchangeSeries series = series_with(settle(stated, asked, error, warnings), std::move(tool), text.origin());
  series.pattern = ExchangePattern::one_way;
  series.window = window;
  return series;
}

std::vector<ExchangeSeries> one_series(ExchangeSeries series, const BenchmarkText& text) {
  if (series.rows.empty()) {
    throw text.error(0, "this output has no bandwidths between two GPUs", "use the whole output of a run with several GPUs");
  }
  std::vector<ExchangeSeries> all;
  all.push_back(std::move(series));
  return all;
}

/// The facts and the matrix of mpiGraph.
struct MpiGraph {
  double bytes = 0, window = 0;
  std::map<std::string, int> ranks_of_hosts;
  std::vector<std::pair<std::string, Words>> rows;  ///< host of a rank, and its cells
  std::vector<std::string> hosts;                   ///< host of each column
};

/// The host in `node1:0`.
std::string host_of_rank(std::string_view name) { return std::string(name.substr(0, name.rfind(':'))); }

MpiGraph mpi_graph_of(const BenchmarkText& text) {
  MpiGraph graph;
  bool in_matrix = false;
  for (const BenchmarkLine& line : text.lines()) {
    const Words words = line.words();
    if (words.size() == 2 && words[0].text == "MsgSize") graph.bytes = text.number(words[1], "number of bytes");
    if (words.size() == 2 && words[0].text == "Window") graph.window = text.number(words[1], "window");
    if (words.size() > 2 && words[0].text == "Send" && words[1].text.find(':') != std::string_view::npos) {
      in_matrix = true;
      graph.rows.clear();
      graph.hosts.clear();
      for (std::size_t i = 1; i < words.size(); ++i) graph.hosts.push_back(host_of_rank(words[i].text));
    } else if (in_matrix && words.size() > 2 && words[1].text == "to") {
      graph.rows.emplace_back(host_of_rank(words[0].text), Words(words.begin() + 2, words.end()));
    } else if (in_matrix && !words.empty()) {
      in_matrix = false;
    }
  }
  for (const std::string& host : graph.hosts) ++graph.ranks_of_hosts[host];
  return graph;
}

}  // namespace

bool is_nvbandwidth_title(const BenchmarkLine& line) {
  return has_text(line, "nvbandwidth Version") || has_text(line, between_gpus);
}
bool is_p2p_title(const BenchmarkLine& line) { return has_text(line, "P2P (Peer-to-Peer) GPU Bandwidth Latency Test"); }
bool is_mpi_graph_title(const BenchmarkLine& line) { return has_text(line, "START mpiGraph"); }

std::vector<ExchangeSeries> read_nvbandwidth(const BenchmarkText& text, const AskedFacts& asked,
                                             std::vector<std::string>& warnings) {
  constexpr double usual_size = 512.0 * 0x1p20, usual_loops = 16;
  ExchangeSeries series = copies_between_gpus(text, asked, warnings, "nvbandwidth", usual_loops);
  const std::vector<BenchmarkLine>& lines = text.lines();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    // An arrow `<->` is a copy in both directions; kernels of the multiprocessors copy in other tests (`memcpy SM`).
    const bool is_one_way = has_text(lines[i], between_gpus) && !has_text(lines[i], "<->");
    if (is_one_way && has_text(lines[i], "bandwidth (GB/s)")) add_matrix(text, i + 1, usual_size, series);
  }
  if (!series.rows.empty())
    warnings.emplace_back("the size of the copies is missing: nvbandwidth's default of 512 MiB is used");
  return one_series(std::move(series), text);
}

std::vector<ExchangeSeries> read_p2p_bandwidths(const BenchmarkText& text, const AskedFacts& asked,
                                                std::vector<std::string>& warnings) {
  constexpr double size = 4 * 40'000'000.0, repeats = 5;
  ExchangeSeries series = copies_between_gpus(text, asked, warnings, "p2pBandwidthLatencyTest (CUDA samples)", repeats);
  const std::vector<BenchmarkLine>& lines = text.lines();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (has_text(lines[i], "Unidirectional P2P=Enabled Bandwidth")) add_matrix(text, i + 1, size, series);
  }
  return one_series(std::move(series), text);
}

std::vector<ExchangeSeries> read_mpi_graph(const BenchmarkText& text, const AskedFacts& asked,
                                           std::vector<std::string>& warnings) {
  const MpiGraph graph = mpi_graph_of(text);
  if (graph.bytes <= 0 || graph.window < 1 || graph.window > 1e6 || graph.rows.empty()) {
    throw text.error(0, "this output has no 'MsgSize', 'Window' and matrix 'Send'", "use the whole output of mpiGraph");
  }
  int most = 1;
  for (const auto& [host, ranks] : graph.ranks_of_hosts) most = std::max(most, ranks);
  const PlacedError error = errors_at(text, 0);
  std::vector<ExchangeSeries> all;
  for (const bool inside : {true, false}) {
    if (inside && most > 2) continue;  // several pairs of a host at once
    std::vector<MeasuredExchange> rows;
    for (const auto& [host, cells] : graph.rows) {
      for (std::size_t column = 0; column < std::min(cells.size(), graph.hosts.size()); ++column) {
        if ((graph.hosts[column] == host) != inside) continue;
        const double rate = text.number(cells[column], "bandwidth") * 0x1p20;
        if (rate <= 0 || graph.bytes / rate > 1e6) continue;  // a rank does not send to itself
        rows.push_back({.message = Bytes(graph.bytes), .time = Seconds(graph.bytes / rate)});
      }
    }
    if (rows.empty()) continue;
    const int pairs = inside ? 1 : most;
    const ExchangeFacts stated{
        .operation = Collective::point_to_point, .ranks = 2 * pairs, .nodes = inside ? 1 : 2, .level = {}, .library = {}};
    ExchangeSeries series = series_with(settle(stated, asked, error, warnings), "mpiGraph", text.origin());
    series.pattern = ExchangePattern::both_ways;
    series.window = std::max(2.0, graph.window);
    series.pairs = pairs;
    series.rows = std::move(rows);
    all.push_back(std::move(series));
  }
  if (all.empty()) throw error("no bandwidth of this matrix is above zero", "use the whole output of mpiGraph");
  return all;
}

}  // namespace ddl
