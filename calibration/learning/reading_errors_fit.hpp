#pragma once

#include <span>

#include "calibration/learning/error_rows.hpp"
#include "calibration/runs/time_errors_file.hpp"

namespace ddl {

/// Fits TimeErrors::reading_samples to rows of reading_rows(), which have no part in fit_time_errors(). On average over the
/// sets, at most one of twenty runs is shorter than its interval, and nine of ten runs are in it, in their first
/// predictions.
void fit_reading_errors(TimeErrorsFile& file, std::span<const ErrorRow> rows);

}  // namespace ddl
