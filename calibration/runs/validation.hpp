#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calibration/inputs/profile_prices.hpp"
#include "calibration/runs/run_prediction.hpp"
#include "calibration/runs/runs.hpp"
#include "core/quantity.hpp"

namespace ddl {

/// One measured figure with its two predictions.
struct ValidationCase {
  MeasuredRun run;
  std::optional<Seconds> predicted, ideal;
  /// Of the prediction with everything known, where it is a time of whole steps: what it depends on, and its interval of
  /// interval_level, in seconds.
  std::optional<TimeSensitivity> sensitivity;
  std::optional<Seconds> low, high;
  /// Without fitted factors, if the coefficients have any.
  std::optional<Seconds> untaught;
  std::optional<Unpredictable> refusal;  ///< why it could not be predicted
  /// predicted / measured − 1
  [[nodiscard]] std::optional<double> error() const;
  [[nodiscard]] std::optional<double> ideal_error() const;
  /// Whether the interval holds what was measured; nothing without an interval.
  [[nodiscard]] std::optional<bool> is_held() const;
  [[nodiscard]] std::optional<double> untaught_error() const;
};

/// Accuracy is 1 − |error|, the mean over cases; a case that could not be predicted has accuracy 0.
struct ValidationSummary {
  struct Group {
    int cases = 0, predicted = 0;
    double accuracy = 0, ideal_accuracy = 0, mean_error = 0;
    double untaught_accuracy = 0;     ///< of predictions without fitted factors
    double mean_absolute_error = 0;   ///< of those that were predicted
    int with_interval = 0, held = 0;  ///< cases with an interval, and those of them that it holds
    /// The part of the cases that their intervals hold; nothing without an interval.
    [[nodiscard]] std::optional<double> coverage() const {
      return with_interval > 0 ? std::optional(static_cast<double>(held) / with_interval) : std::nullopt;
    }
  };
  Group overall;
  bool is_taught = false;               ///< coefficients have learned from runs
  std::map<std::string, Group> groups;  ///< by the column that was asked for
  /// Kendall's τ-b of predicted and measured time per sample, over pairs of runs of the same model, GPU count and quantity;
  /// NaN without such pairs.
  double kendall_tau = 0, ideal_kendall_tau = 0;
};

struct Validation {
  std::vector<ValidationCase> cases;
  ValidationSummary summary;
  std::vector<std::string> warnings;  ///< of profiles that are not used
};

/// Is told before each run how many of all runs are done.
using BeforeRun = std::function<void(std::size_t done, std::size_t all)>;

/// Predicts every run on its machine, or on `machine` where it does not say one, with the closed forms and with everything
/// known. Runs are taken to be in fp32, with adam for models of sequences and SGD with momentum for all others; input counts
/// where the run includes it. A model that cannot be read is the reason of its own cases; an Error of the machine, the
/// coefficients or a profile ends the validation.
[[nodiscard]] Validation validate(std::span<const MeasuredRun> runs, const std::string& machine,
                                  const std::string& coefficients, const ProfileChoice& profiles = {},
                                  const std::string& software = {}, const std::string& by = "strategy",
                                  const BeforeRun& before_run = {});

/// One run with its predictions by these coefficients and by the closed forms. `run`: in seconds.
[[nodiscard]] ValidationCase validation_case(MeasuredRun run, RunPredictor& predictor, const Coefficients& coefficients);

/// The summary alone, of cases whose predictions are given.
/// `by`: the column of runs whose values are the groups.
[[nodiscard]] ValidationSummary summarize(std::span<const ValidationCase> cases, const std::string& by = "strategy");

}  // namespace ddl
