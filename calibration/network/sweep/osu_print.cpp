#include "calibration/network/sweep/osu_print.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "core/version.hpp"

namespace ddl {
namespace {

/// A number with seven significant digits, at least two decimals, and no exponent.
std::string figure(double value) {
  const int digits = value > 0 ? 6 - static_cast<int>(std::floor(std::log10(value))) : 2;
  return fmt::format("{:.{}f}", value, std::clamp(digits, 2, 15));
}

std::string osu_version() { return fmt::format("{}-ddl-oracle", version()); }

/// The bandwidth in MB/s; if there are two directions, their sum.
double bandwidth_of(const SweepRow& row, ExchangePattern pattern) {
  const double bytes = static_cast<double>(row.bytes) * (pattern == ExchangePattern::both_ways ? 2 : 1);
  return bytes / row.timing.time().value() / 1e6;
}

}  // namespace

std::string print_osu(std::span<const SweepTable> tables, std::string_view library) {
  std::string out;
  for (const SweepTable& table : tables) {
    const SweepOperationKind& kind = kind_of(table.operation);
    out += fmt::format("{}# ddl-oracle: ranks={} nodes={} window={}\n# OSU {} {} Test v{}\n", out.empty() ? "" : "\n",
                       table.ranks, table.nodes, table.window, library, kind.title, osu_version());
    if (kind.pattern == ExchangePattern::collective) {
      out += fmt::format("{:<10}{:>20}{:>20}{:>20}{:>14}\n", "# Size", "Avg Latency(us)", "Min Latency(us)",
                         "Max Latency(us)", "Iterations");
    } else {
      out += fmt::format("{:<10}{:>20}\n", "# Size",
                         table.operation == SweepOperation::latency ? "Latency (us)" : "Bandwidth (MB/s)");
    }
    for (const SweepRow& row : table.rows) {
      if (row.timing.time() <= Seconds(0)) continue;  // the time is below the clock's resolution
      const StepTiming& timing = row.timing;
      const auto microseconds = [](Seconds time) { return figure(time.value() * 1e6); };
      if (kind.pattern == ExchangePattern::collective) {
        out += fmt::format("{:<10}{:>20}{:>20}{:>20}{:>14}\n", row.bytes, microseconds(timing.time()),
                           microseconds(timing.least), microseconds(timing.most), timing.samples.count * timing.repetitions);
      } else {
        out += fmt::format("{:<10}{:>20}\n", row.bytes,
                           table.operation == SweepOperation::latency ? microseconds(timing.time())
                                                                      : figure(bandwidth_of(row, kind.pattern)));
      }
    }
  }
  return out;
}

std::vector<ExchangeSeries> series_of(std::span<const SweepTable> tables, const std::string& name) {
  std::vector<ExchangeSeries> series;
  for (const SweepTable& table : tables) {
    const SweepOperationKind& kind = kind_of(table.operation);
    ExchangeSeries one{.operation = kind.collective,
                       .pattern = kind.pattern,
                       .window = static_cast<double>(table.window),
                       .ranks = table.ranks,
                       .nodes = table.nodes,
                       .level = table.nodes > 1 ? NetworkLevel::between_nodes : NetworkLevel::node,
                       .tool = fmt::format("OSU micro-benchmarks {}", osu_version()),
                       .file = name};
    for (const SweepRow& row : table.rows) {
      if (row.timing.time() <= Seconds(0)) continue;
      MeasuredExchange measured{.message = Bytes(static_cast<double>(row.bytes) * (kind.of_part ? table.ranks : 1)),
                                .time = row.timing.time()};
      if (kind.pattern == ExchangePattern::collective) measured.spread = (row.timing.most - row.timing.least) / 2.0;
      one.rows.push_back(measured);
    }
    if (!one.rows.empty()) series.push_back(std::move(one));
  }
  return series;
}

}  // namespace ddl
