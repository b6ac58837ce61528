#pragma once

#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "calibration/inputs/study.hpp"
#include "calibration/runs/runs.hpp"
#include "calibration/runs/time_errors_file.hpp"
#include "core/enum_array.hpp"
#include "estimator/inputs/sensitivity.hpp"

namespace ddl {

/// The prediction error of a measured run, and the data that the error depends on.
struct ErrorRow {
  std::size_t run = 0;   ///< index of the run in its table
  std::string set;       ///< the publication; the errors of its runs are correlated
  std::string device;    ///< Device::name
  std::string question;  ///< model, machine, software, precision and number of GPUs
  std::string plan;      ///< strategy, degrees and batches
  double batch = 0;      ///< samples of a step; 0 if not known
  double seconds = 1;    ///< predicted time of the step
  double log_ratio = 0;  ///< ln(measured / predicted)
  /// ln(measured / predicted) before the run was known (MeasuredRun::first_predicted). Equals log_ratio for other runs, and
  /// unless all kernel data are known.
  double first_log_ratio = 0;
  KnownKernels known = KnownKernels::all;
  TimeSensitivity time;
  /// The software that ran, if settings of another software predict the run (stand_in_rows). TimeSensitivity::software is
  /// then empty, because no run of the predicted software was measured.
  std::string ran{};
  Precision precision = Precision::fp32;
  double shift = 0;  ///< for stand-ins: ln(time predicted with the run's own software / predicted time)
};

/// The runs that a fit leaves out.
struct LeftOut {
  HeldOut by = HeldOut::set;
  std::string name;  ///< empty: no run
};

/// The set, software, device, family of networks, or kind of networks of a row. Empty if it is not known.
[[nodiscard]] std::string group_of(HeldOut by, const ErrorRow& row);
/// Whether a fit leaves the row out.
[[nodiscard]] inline bool is_left_out(const LeftOut& left_out, const ErrorRow& row) {
  return !left_out.name.empty() && group_of(left_out.by, row) == left_out.name;
}

/// Whether an interval covers ln(measured / predicted).
[[nodiscard]] inline bool holds(const TimeInterval& interval, double log_ratio) {
  return std::log(interval.low) <= log_ratio && log_ratio <= std::log(interval.high);
}
/// The mean over groups of the share of a group's rows for which `held` is true, so that each group counts the same.
/// `group`: a text of a row. 1 without rows.
template <class Held>
[[nodiscard]] double mean_of_groups(std::span<const ErrorRow> rows, std::string ErrorRow::*group, const Held& held) {
  std::map<std::string, std::pair<int, int>> counts;  // rows for which `held` is true, and all rows
  for (const ErrorRow& row : rows) {
    auto& [true_rows, all] = counts[row.*group];
    true_rows += held(row) ? 1 : 0;
    ++all;
  }
  double sum = 0;
  for (const auto& [name, count] : counts) sum += static_cast<double>(count.first) / count.second;
  return counts.empty() ? 1 : sum / static_cast<double>(counts.size());
}

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
/// Predicts the runs that error_rows() leaves out because they include reading samples, with all kernel data. Leaves out
/// those of samples of tokens (TimeSensitivity::reads_samples), which are read in no time.
[[nodiscard]] std::vector<ErrorRow> reading_rows(const ErrorTable& table);

/// The makers of the rows' devices and of bundled devices, except NVIDIA: the first words of the devices' names, sorted.
[[nodiscard]] std::vector<std::string> foreign_makers(std::span<const ErrorRow> rows);

/// Names of bundled software with measured runs, by class of models.
using SoftwareOfClasses = EnumArray<ModelClass, std::set<std::string>>;
[[nodiscard]] SoftwareOfClasses software_of_classes(std::span<const ErrorRow> rows);

/// Predicts each run with the settings of other software in `measured` for the run's class of models. These errors are the
/// errors of a user whose software has no settings and no measured runs. Each run has at most two stand-ins. Other runs of
/// the table have different stand-ins. Stand-ins that predict the same time as the run's own software are left out. `rows`:
/// error_rows() of the table.
[[nodiscard]] std::vector<ErrorRow> stand_in_rows(const ErrorTable& table, std::span<const ErrorRow> rows,
                                                  const SoftwareOfClasses& measured);

}  // namespace ddl
