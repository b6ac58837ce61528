#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibration/inputs/study.hpp"
#include "calibration/runs/runs.hpp"
#include "estimator/inputs/sensitivity.hpp"

namespace ddl {

/// By how much one measured run differs from its prediction, and what the prediction depends on.
struct ErrorRow {
  std::string set;       ///< the publication: its runs err together
  std::string question;  ///< model, machine, software, precision, number of GPUs: what compared plans have in common
  std::string plan;      ///< strategy, degrees and batches
  double log_ratio = 0;  ///< ln(measured / predicted)
  KnownKernels known = KnownKernels::all;
  TimeSensitivity time;
};

/// Runs, and the machine and coefficients of those that do not say theirs.
struct ErrorTable {
  std::string name;  ///< set of runs that do not say theirs
  std::vector<MeasuredRun> runs;
  std::string machine;
  std::string coefficients;  ///< as in StudySpec
};

/// Predicts the time of each run's iteration, with its update or without. Leaves out runs of anything else, with input, or
/// without a prediction.
[[nodiscard]] std::vector<ErrorRow> error_rows(const ErrorTable& table, KnownKernels known = KnownKernels::all);

}  // namespace ddl
