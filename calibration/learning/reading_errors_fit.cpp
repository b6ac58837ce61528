#include "calibration/learning/reading_errors_fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

namespace ddl {
namespace {

/// The mean over the sets of the share of rows for which `holds` is true.
template <class Holds>
double mean_of_sets(const TimeErrors& errors, std::span<const ErrorRow> rows, const Holds& holds) {
  std::map<std::string, std::pair<int, int>> sets;  // rows that hold, and all rows
  for (const ErrorRow& row : rows) {
    auto& [held, all] = sets[row.set];
    held += holds(interval_of(errors, row.time), row.first_log_ratio) ? 1 : 0;
    ++all;
  }
  double sum = 0;
  for (const auto& [set, counts] : sets) sum += static_cast<double>(counts.first) / counts.second;
  return sum / static_cast<double>(sets.size());
}

bool is_not_shorter(const TimeInterval& interval, double log_ratio) { return std::log(interval.low) <= log_ratio; }
bool is_covered(const TimeInterval& interval, double log_ratio) {
  return is_not_shorter(interval, log_ratio) && log_ratio <= std::log(interval.high);
}

}  // namespace

void fit_reading_errors(TimeErrorsFile& file, std::span<const ErrorRow> rows) {
  if (rows.empty()) return;
  constexpr double rung = 1.05, least = 0.05, most = 1.5;
  ErrorWidth& width = file.errors.reading_samples;
  width = {};
  const auto widen = [&](double& side) { side = std::max(least, side * rung); };
  while (width.faster < most && mean_of_sets(file.errors, rows, is_not_shorter) < (1 + interval_level) / 2)
    widen(width.faster);
  while (width.slower < most && mean_of_sets(file.errors, rows, is_covered) < interval_level) widen(width.slower);
  file.reading_runs = static_cast<int>(rows.size());
  file.reading_held = mean_of_sets(file.errors, rows, is_covered);
}

}  // namespace ddl
