#pragma once

#include <string>
#include <vector>

#include "calibration/inputs/study.hpp"
#include "calibration/runs/runs.hpp"
#include "estimator/inputs/sensitivity.hpp"

namespace ddl {

/// The prediction error of a measured run, and the data that the error depends on.
struct ErrorRow {
  std::string set;       ///< the publication; the errors of its runs are correlated
  std::string question;  ///< model, machine, software, precision and number of GPUs
  std::string plan;      ///< strategy, degrees and batches
  double log_ratio = 0;  ///< ln(measured / predicted)
  KnownKernels known = KnownKernels::all;
  TimeSensitivity time;
};

/// A table of runs, with the machine and the coefficients for runs that name none.
struct ErrorTable {
  std::string name;  ///< name of the set, for runs that name no set
  std::vector<MeasuredRun> runs;
  std::string machine;
  std::string coefficients;  ///< in the form of StudySpec::coefficients
};

/// Predicts the time of each run's step, with or without its update. Leaves out runs of other quantities, runs that include
/// reading samples, and runs without a prediction.
[[nodiscard]] std::vector<ErrorRow> error_rows(const ErrorTable& table, KnownKernels known = KnownKernels::all);

}  // namespace ddl
