#include "calibration/learning/reading_errors_fit.hpp"

#include <algorithm>
#include <cmath>

namespace ddl {

void fit_reading_errors(TimeErrorsFile& file, std::span<const ErrorRow> rows) {
  if (rows.empty()) return;
  constexpr double rung = 1.05, least = 0.05, most = 1.5;
  ErrorWidth& width = file.errors.reading_samples;
  width = {};
  const auto is_not_shorter = [&](const ErrorRow& row) {
    return std::log(interval_of(file.errors, row.time).low) <= row.first_log_ratio;
  };
  const auto is_covered = [&](const ErrorRow& row) {
    return holds(interval_of(file.errors, row.time), row.first_log_ratio);
  };
  const auto widen = [&](double& side) { side = std::max(least, side * rung); };
  while (width.faster < most && mean_of_groups(rows, &ErrorRow::set, is_not_shorter) < (1 + interval_level) / 2)
    widen(width.faster);
  while (width.slower < most && mean_of_groups(rows, &ErrorRow::set, is_covered) < interval_level) widen(width.slower);
  file.reading_runs = static_cast<int>(rows.size());
  file.reading_held = mean_of_groups(rows, &ErrorRow::set, is_covered);
}

}  // namespace ddl
