#pragma once

#include <span>
#include <vector>

#include "calibration/learning/error_rows.hpp"
#include "calibration/runs/time_errors_file.hpp"

namespace ddl {

/// Fits widths to rows: those with the least mean score of their intervals, the pinball losses at 5 % and 95 % [Gneiting and
/// Raftery, "Strictly Proper Scoring Rules, Prediction, and Estimation", Journal of the American Statistical Association
/// 102, 2007, section 6.2], where a set of n rows counts √n times, and a weak prior keeps what no row tells. Widths are then
/// multiplied by one factor, with which the intervals hold nine of ten runs of sets that are left out of the fit, each set
/// as much as any other. Rows of KnownKernels::all alone count there.
/// `learned`: rows that were predicted from a fit to other runs of their own set (`calibrate runs`): they set
/// TimeErrors::learned_scatter. The file has no source yet.
[[nodiscard]] TimeErrorsFile fit_time_errors(std::span<const ErrorRow> rows, std::span<const ErrorRow> learned);

}  // namespace ddl
