#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calibration/inputs/profile_times.hpp"
#include "calibration/runs/run_prediction.hpp"
#include "calibration/runs/runs.hpp"
#include "core/quantity.hpp"

namespace ddl {

/// A measured figure with two predictions: with all available data (`predicted`), and by the closed forms (`ideal`).
struct ValidationCase {
  MeasuredRun run;
  std::optional<Seconds> predicted, ideal;
  /// Set only for times of whole steps. `sensitivity`: the sources of the time that is predicted with all available data.
  /// `low` and `high`: the interval of this time at interval_level, in seconds.
  std::optional<TimeSensitivity> sensitivity;
  std::optional<Seconds> low, high;
  std::optional<Verdict> verdict;            ///< whether the memory that is estimated for this run fits
  MemoryItem largest = MemoryItem::weights;  ///< the item with most of this memory
  double filled = 0;                         ///< this memory, divided by the device's
  /// The prediction without fitted factors; unset if the coefficients have no fitted factors.
  std::optional<Seconds> untaught;
  std::optional<Unpredictable> refusal;  ///< why the figure could not be predicted
  /// Returns predicted / measured − 1.
  [[nodiscard]] std::optional<double> error() const;
  [[nodiscard]] std::optional<double> ideal_error() const;
  /// Whether the interval contains the measured value; empty without an interval.
  [[nodiscard]] std::optional<bool> is_held() const;
  [[nodiscard]] std::optional<double> untaught_error() const;
};

/// Accuracy is the mean of 1 − |error| over cases. A case that could not be predicted has accuracy 0.
struct ValidationSummary {
  struct Group {
    int cases = 0, predicted = 0;
    double accuracy = 0, ideal_accuracy = 0, mean_error = 0;
    double untaught_accuracy = 0;    ///< accuracy of the predictions without fitted factors
    double mean_absolute_error = 0;  ///< mean error over the cases that were predicted
    /// The number of runs with MeasuredRun::first_predicted, and the accuracy of these predictions.
    int first_cases = 0;
    double first_accuracy = 0;
    int with_interval = 0, held = 0;  ///< number of cases with an interval, and of cases inside their interval
    /// Number of cases with a verdict about memory, and of cases whose verdict is DOES-NOT-FIT or AT-RISK, although they
    /// ran.
    int with_verdict = 0, refused = 0, at_risk = 0;
    std::map<MemoryItem, int> refused_for;  ///< number of refused cases by the item with most of their memory
    double filled = 0;                      ///< sum over refused cases of their memory, divided by the device's
    /// The share of the cases that lie inside their intervals; empty without intervals.
    [[nodiscard]] std::optional<double> coverage() const {
      return with_interval > 0 ? std::optional(static_cast<double>(held) / with_interval) : std::nullopt;
    }
  };
  Group overall;
  bool is_taught = false;               ///< whether coefficients are fitted to runs
  std::map<std::string, Group> groups;  ///< results by the values of the requested column
  /// Results of a range of runs, such as "to 64 GPUs".
  struct Range {
    std::string name;
    Group group;
  };
  /// Results by number of GPUs, and by measured length of a step, in increasing order. Ranges without runs are left out.
  std::vector<Range> by_gpus, by_length;
  /// Kendall's τ-b of predicted and measured time per sample, over pairs of runs with the same
  /// model, GPU count and quantity; NaN if there are no pairs.
  double kendall_tau = 0, ideal_kendall_tau = 0;
};

struct Validation {
  std::vector<ValidationCase> cases;
  ValidationSummary summary;
  std::vector<std::string> warnings;  ///< warnings about profiles that are not used
};

/// Called before each run with the number of finished runs and the number of all runs.
using BeforeRun = std::function<void(std::size_t done, std::size_t all)>;

/// Predicts every run in two ways: by the closed forms, and with all available data. A run that names no machine is
/// predicted on `machine`. Runs are in fp32 by default, with adam for sequence models and SGD with momentum for all others.
/// The time to read samples is included if the run includes it. If a model cannot be read, only the cases of that model have
/// no prediction. An Error in the machine, the coefficients or a profile ends the validation.
[[nodiscard]] Validation validate(std::span<const MeasuredRun> runs, const std::string& machine,
                                  const std::string& coefficients, const ProfileChoice& profiles = {},
                                  const std::string& software = {}, const std::string& by = "strategy",
                                  const BeforeRun& before_run = {});

/// Returns a run with two predictions: with these coefficients, and by the closed forms. `run` must be converted to seconds.
[[nodiscard]] ValidationCase validation_case(MeasuredRun run, RunPredictor& predictor, const Coefficients& coefficients);

/// Summarizes cases with their predictions. `by`: the column of runs that defines the groups.
[[nodiscard]] ValidationSummary summarize(std::span<const ValidationCase> cases, const std::string& by = "strategy");

}  // namespace ddl
