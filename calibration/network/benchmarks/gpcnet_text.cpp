#include "calibration/network/benchmarks/gpcnet_text.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "calibration/network/benchmarks/benchmark_formats.hpp"
#include "calibration/network/benchmarks/benchmark_text.hpp"
#include "calibration/network/benchmarks/exchange_facts.hpp"
#include "core/source_text.hpp"
#include "profiler/importers/trace_events.hpp"

namespace ddl {
namespace {

constexpr std::string_view gpcnet_title = "NetworkLoad Tests v";
constexpr std::string_view gpcnet_pattern = "RR Two-sided BW+Sync";

/// The cells of `| name | 1.0 | 2.0 |`: between the first and the last bar.
std::vector<BenchmarkWord> gpcnet_cells(const BenchmarkLine& line) {
  const std::vector<BenchmarkWord> parts = line.cells('|');
  return parts.size() < 3 ? std::vector<BenchmarkWord>{} : std::vector<BenchmarkWord>(parts.begin() + 1, parts.end() - 1);
}

/// The mean and the 99th percentile of the pattern's bandwidth in one table.
struct GpcnetBandwidth {
  double mean = 0, worst = 0;
};

}  // namespace

std::optional<GpcnetCongestion> load_gpcnet_congestion(const std::string& path) {
  std::string content = read_file(path, max_trace_bytes);
  if (content.find(gpcnet_title) == std::string::npos || content.size() > max_exchange_file_bytes) return std::nullopt;
  const BenchmarkText text(std::move(content), path);
  GpcnetCongestion found{.file = path};
  std::size_t title = 0;
  GpcnetBandwidth alone, loaded;
  GpcnetBandwidth* table = nullptr;
  std::vector<BenchmarkWord> names;
  for (const BenchmarkLine& line : text.lines()) {
    if (line.text.find(gpcnet_title) != std::string_view::npos) title = line.offset;
    const auto words = line.words();
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i + 1].text == "nodes)" && words[i].text.starts_with("(")) {
        const BenchmarkWord count{words[i].text.substr(1), words[i].offset + 1};
        if (is_digits(count.text)) found.nodes = static_cast<int>(std::min(text.number(count, "number of nodes"), 1e6));
      }
    }
    const std::vector<BenchmarkWord> cells = gpcnet_cells(line);
    if (cells.size() == 1) {
      const bool is_alone = cells[0].text == "Isolated Network Tests";
      const bool is_loaded = cells[0].text.starts_with("Network Tests running with Congestion Tests") &&
                             cells[0].text.find(gpcnet_pattern) != std::string_view::npos;
      table = is_alone ? &alone : is_loaded ? &loaded : nullptr;
    } else if (!cells.empty() && cells[0].text == "Name") {
      names = cells;
    } else if (table != nullptr && !cells.empty() && cells[0].text.starts_with(gpcnet_pattern)) {
      for (std::size_t i = 1; i < std::min(cells.size(), names.size()); ++i) {
        if (names[i].text == "Avg") table->mean = text.number(cells[i], "bandwidth");
        if (names[i].text == "99%") table->worst = text.number(cells[i], "bandwidth");
      }
    }
  }
  if (!(alone.mean > 0 && loaded.mean > 0 && loaded.worst > 0)) {
    throw text.error(title, "this output lacks bandwidths of the idle and the loaded network",
                     "the run was aborted: use a complete output");
  }
  constexpr double most = 1e6, deviations_of_99_percent = 2.326;
  found.median = std::clamp(alone.mean / loaded.mean, 1.0, most);
  const double slowest = std::clamp(alone.mean / loaded.worst, found.median, most);
  found.spread = std::exp(std::log(slowest / found.median) / deviations_of_99_percent);
  return found;
}

}  // namespace ddl
