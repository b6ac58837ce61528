#include "calibration/runs/scaling_errors.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/statistics.hpp"

namespace ddl {
namespace {

/// All properties of a run in the table except its number of devices and its time.
std::string run_without_devices(const MeasuredRun& run) {
  static constexpr std::array<std::string_view, 14> columns{
      "set",         "model",         "strategy",        "quantity", "precision",   "machine",    "software",
      "includes_io", "memory_format", "mixed_precision", "settings", "micro_batch", "zero_stage", "shard_group"};
  std::string key;
  for (const std::string_view column : columns) key += cell_text(run, std::string(column)) + '\n';
  return key + fmt::format("{:.6g}", *run.global_batch / *run.gpus);
}

/// Whether a run shows how well data parallelism scales. This requires the time of a step as the
/// quantity, and a given batch.
bool tells_scaling(const ValidationCase& one) {
  return one.predicted && one.run.gpus && one.run.global_batch && one.run.strategy == "data" &&
         one.run.quantity.starts_with("iter") && one.run.value > 0;
}

ScalingErrors errors_of(std::span<const double> errors) {
  return {.runs = static_cast<int>(errors.size()), .mean_absolute = mean(errors), .median_absolute = median(errors)};
}

}  // namespace

ScalingSummary scaling_errors(std::span<const ValidationCase> cases, const std::string& by) {
  std::map<std::string, std::vector<const ValidationCase*>> series;
  for (const ValidationCase& one : cases) {
    if (tells_scaling(one)) series[run_without_devices(one.run)].push_back(&one);
  }
  std::vector<double> all;
  std::map<std::string, std::vector<double>> of_group;
  for (const auto& [key, runs] : series) {
    const auto fewer = [](const ValidationCase* a, const ValidationCase* b) { return *a->run.gpus < *b->run.gpus; };
    const int fewest = *(*std::min_element(runs.begin(), runs.end(), fewer))->run.gpus;
    double measured = 0, predicted = 0;  // sums over the runs on the smallest number of devices
    for (const ValidationCase* one : runs) {
      if (*one->run.gpus != fewest) continue;
      measured += one->run.value;
      predicted += one->predicted->value();
    }
    for (const ValidationCase* one : runs) {
      if (*one->run.gpus == fewest) continue;
      const double error = std::abs(predicted / one->predicted->value() / (measured / one->run.value) - 1);
      all.push_back(error);
      of_group[cell_text(one->run, by)].push_back(error);
    }
  }
  ScalingSummary summary{.overall = errors_of(all), .groups = {}};
  for (const auto& [name, errors] : of_group) summary.groups.emplace(name, errors_of(errors));
  return summary;
}

}  // namespace ddl
