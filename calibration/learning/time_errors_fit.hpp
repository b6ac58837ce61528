#pragma once

#include <span>

#include "calibration/learning/error_rows.hpp"
#include "calibration/runs/time_errors_file.hpp"

namespace ddl {

/// Fits the widths of intervals to rows. The fitted widths minimize the mean interval score: the pinball losses at 5 % and
/// 95 % [Gneiting and Raftery, "Strictly Proper Scoring Rules, Prediction, and Estimation", Journal of the American
/// Statistical Association 102, 2007, section 6.2]. A set of n rows has the weight √n. Widths that the rows do not determine
/// come from a weak prior. All widths are then multiplied by one factor, so that the intervals cover nine of ten runs of
/// held-out sets, in their first predictions (ErrorRow::first_log_ratio). For this factor, each set has equal weight, and
/// only rows of KnownKernels::all count. `stand_ins`: rows of stand_in_rows(), which determine TimeErrors::new_software.
/// `learned`: rows that were predicted with a fit to other runs of their own set (`calibrate runs`). These rows determine
/// TimeErrors::learned_scatter and, if a run had more devices than all runs of its fit, TimeErrors::learned_growth. The
/// source of the file is not set.
[[nodiscard]] TimeErrorsFile fit_time_errors(std::span<const ErrorRow> rows, std::span<const ErrorRow> stand_ins,
                                             std::span<const ErrorRow> learned);

}  // namespace ddl
