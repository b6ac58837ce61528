#include "calibration/runs/validation.hpp"

#include <cmath>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <variant>

#include "calibration/runs/time_errors_file.hpp"
#include "core/error.hpp"
#include "core/statistics.hpp"
#include "estimator/step/estimate.hpp"
#include "model_zoo/files/bundled_name.hpp"

namespace ddl {
namespace {

std::optional<double> relative_error(const std::optional<Seconds>& predicted, double measured) {
  if (!predicted || measured <= 0) return std::nullopt;
  return predicted->value() / measured - 1.0;
}

double accuracy(std::optional<double> error) { return error ? 1.0 - std::abs(*error) : 0.0; }

/// Returns a run without the properties on which predictions do not depend, so that repetitions of a run are equal.
MeasuredRun to_predict(MeasuredRun run) {
  run.value = 0;
  run.samples_averaged.reset();
  for (std::string* said : {&run.set, &run.source_file, &run.notes, &run.quality, &run.origin}) said->clear();
  return run;
}

}  // namespace

std::optional<double> ValidationCase::error() const { return relative_error(predicted, run.value); }
std::optional<double> ValidationCase::ideal_error() const { return relative_error(ideal, run.value); }
std::optional<double> ValidationCase::untaught_error() const {
  return relative_error(untaught ? untaught : predicted, run.value);
}

std::optional<bool> ValidationCase::is_held() const {
  if (!low || !high) return std::nullopt;
  return low->value() <= run.value && run.value <= high->value();
}

ValidationCase validation_case(MeasuredRun run, RunPredictor& predictor, const Coefficients& coefficients) {
  ValidationCase one;
  const auto predicted = predictor.predict(run, coefficients, false, &one.sensitivity);
  const auto ideal = predictor.predict(run, coefficients, true);
  if (const auto* time = std::get_if<Seconds>(&predicted)) one.predicted = *time;
  if (const auto* time = std::get_if<Seconds>(&ideal)) one.ideal = *time;
  if (one.predicted && one.sensitivity) {
    const TimeInterval interval = interval_of(bundled_time_errors(), *one.sensitivity);
    one.low = *one.predicted * interval.low;
    one.high = *one.predicted * interval.high;
  }
  if (const auto* why = std::get_if<Unpredictable>(&predicted)) one.refusal = *why;
  one.run = std::move(run);
  return one;
}

ValidationSummary summarize(std::span<const ValidationCase> cases, const std::string& by) {
  ValidationSummary summary;
  const auto add = [&](ValidationSummary::Group& group, const ValidationCase& one) {
    ++group.cases;
    group.accuracy += accuracy(one.error());
    group.ideal_accuracy += accuracy(one.ideal_error());
    group.untaught_accuracy += accuracy(one.untaught_error());
    summary.is_taught = summary.is_taught || one.untaught.has_value();
    group.predicted += one.error().has_value() ? 1 : 0;
    group.mean_error += one.error().value_or(0.0);
    group.mean_absolute_error += std::abs(one.error().value_or(0.0));
    group.with_interval += one.is_held().has_value() ? 1 : 0;
    group.held += one.is_held().value_or(false) ? 1 : 0;
  };
  struct Series {
    std::vector<double> measured, predicted, ideal;
  };
  std::map<std::tuple<std::string, int, std::string>, Series> comparable;
  for (const ValidationCase& one : cases) {
    add(summary.overall, one);
    add(summary.groups[cell_text(one.run, by)], one);
    if (!one.predicted || !one.ideal || !one.run.gpus) continue;
    // Strategies run with different batches, so they are ranked by the time per sample.
    const bool per_iteration = one.run.quantity.starts_with("iter");
    const double batch = per_iteration ? one.run.global_batch.value_or(0.0) : 1.0;
    if (batch <= 0) continue;
    Series& series = comparable[{one.run.model, *one.run.gpus, one.run.quantity}];
    series.measured.push_back(one.run.value / batch);
    series.predicted.push_back(one.predicted->value() / batch);
    series.ideal.push_back(one.ideal->value() / batch);
  }
  const auto finish = [](ValidationSummary::Group& group) {
    if (group.cases == 0) return;
    group.accuracy /= group.cases;
    group.ideal_accuracy /= group.cases;
    group.untaught_accuracy /= group.cases;
    if (group.predicted == 0) return;
    group.mean_error /= group.predicted;
    group.mean_absolute_error /= group.predicted;
  };
  finish(summary.overall);
  for (auto& [name, group] : summary.groups) finish(group);
  KendallCounts predicted, ideal;
  for (const auto& [key, series] : comparable) {
    predicted += kendall_counts(series.predicted, series.measured);
    ideal += kendall_counts(series.ideal, series.measured);
  }
  summary.kendall_tau = kendall_tau_b(predicted);
  summary.ideal_kendall_tau = kendall_tau_b(ideal);
  return summary;
}

Validation validate(std::span<const MeasuredRun> runs, const std::string& machine, const std::string& coefficients,
                    const ProfileChoice& profiles, const std::string& software, const std::string& by,
                    const BeforeRun& before_run) {
  Validation validation;
  std::map<std::string, std::unique_ptr<RunPredictor>> predictors;
  const auto predictor_on = [&](const std::string& name, const std::string& named_coefficients) -> RunPredictor& {
    std::unique_ptr<RunPredictor>& predictor = predictors[name];
    if (!predictor) predictor = std::make_unique<RunPredictor>(name, named_coefficients, profiles, software);
    return *predictor;
  };
  // If the user names coefficients, they are used for the machine that the user names.
  const std::string others = coefficients == "none" ? coefficients : "";
  validation.warnings = predictor_on(machine, coefficients).profile_warnings();
  std::map<MeasuredRun, std::size_t> known;  // the cases of equal runs
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (before_run) before_run(i, runs.size());
    const MeasuredRun& run = runs[i];
    const auto [alike, is_new] = known.try_emplace(to_predict(in_seconds(run)), validation.cases.size());
    if (!is_new) {
      ValidationCase repeat = validation.cases[alike->second];
      repeat.run = in_seconds(run);
      validation.cases.push_back(std::move(repeat));
      continue;
    }
    const bool is_here = run.machine.empty() || name_key(run.machine) == name_key(machine);
    try {
      RunPredictor& predictor = is_here ? predictor_on(machine, coefficients) : predictor_on(run.machine, others);
      ValidationCase& one =
          validation.cases.emplace_back(validation_case(in_seconds(run), predictor, predictor.coefficients()));
      if (predictor.coefficients().learned.empty()) continue;
      Coefficients bare = predictor.coefficients();
      bare.learned.clear();
      const auto untaught = predictor.predict(one.run, bare);
      if (const auto* time = std::get_if<Seconds>(&untaught)) one.untaught = *time;
    } catch (const Error& error) {
      if (is_here) throw;
      ValidationCase& refused = validation.cases.emplace_back();
      refused.run = in_seconds(run);
      refused.refusal = Unpredictable{error.what()};
    }
  }
  validation.summary = summarize(validation.cases, by);
  return validation;
}

}  // namespace ddl
