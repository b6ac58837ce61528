#include "calibration/runs/validation.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <string>
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

/// Returns a run with only those properties that predictions depend on, so that repetitions of a run are equal.
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
  PredictionDetails details;
  const auto predicted = predictor.predict(run, coefficients, false, &details);
  one.sensitivity = details.sensitivity;
  one.verdict = details.verdict;
  one.largest = details.largest;
  one.filled = details.filled;
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

namespace {

std::vector<ValidationSummary::Range> ranges(std::initializer_list<const char*> names) {
  std::vector<ValidationSummary::Range> all;
  for (const char* name : names) all.push_back({name, {}});
  return all;
}

/// The ranges of a run: by number of GPUs, and by length of the measured step. −1: the run has no such figure.
int range_of_gpus(const MeasuredRun& run) { return !run.gpus ? -1 : *run.gpus <= 16 ? 0 : *run.gpus <= 64 ? 1 : 2; }
int range_of_length(const MeasuredRun& run) {
  if (!run.quantity.starts_with("iter")) return -1;
  return run.value < 0.1 ? 0 : run.value < 1 ? 1 : 2;
}

}  // namespace

ValidationSummary summarize(std::span<const ValidationCase> cases, const std::string& by) {
  ValidationSummary summary;
  summary.by_gpus = ranges({"1 to 16 GPUs", "17 to 64 GPUs", "more GPUs"});
  summary.by_length = ranges({"steps below 0.1 s", "0.1 to 1 s", "1 s and more"});
  const auto add = [&](ValidationSummary::Group& group, const ValidationCase& one) {
    ++group.cases;
    group.accuracy += accuracy(one.error());
    group.ideal_accuracy += accuracy(one.ideal_error());
    group.untaught_accuracy += accuracy(one.untaught_error());
    summary.is_taught = summary.is_taught || one.untaught.has_value();
    group.predicted += one.error().has_value() ? 1 : 0;
    group.mean_error += one.error().value_or(0.0);
    group.mean_absolute_error += std::abs(one.error().value_or(0.0));
    if (one.run.first_predicted && one.run.value > 0) {
      ++group.first_cases;
      group.first_accuracy += accuracy(*one.run.first_predicted / one.run.value - 1);
    }
    group.with_interval += one.is_held().has_value() ? 1 : 0;
    group.held += one.is_held().value_or(false) ? 1 : 0;
    group.with_verdict += one.verdict ? 1 : 0;
    if (one.verdict == Verdict::does_not_fit) {
      ++group.refused;
      ++group.refused_for[one.largest];
      group.filled += one.filled;
    }
    group.at_risk += one.verdict == Verdict::at_risk ? 1 : 0;
  };
  struct Series {
    std::vector<double> measured, predicted, ideal;
  };
  std::map<std::tuple<std::string, int, std::string>, Series> comparable;
  for (const ValidationCase& one : cases) {
    add(summary.overall, one);
    add(summary.groups[cell_text(one.run, by)], one);
    if (const int range = range_of_gpus(one.run); range >= 0)
      add(summary.by_gpus[static_cast<std::size_t>(range)].group, one);
    if (const int range = range_of_length(one.run); range >= 0)
      add(summary.by_length[static_cast<std::size_t>(range)].group, one);
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
    if (group.first_cases > 0) group.first_accuracy /= group.first_cases;
    if (group.predicted == 0) return;
    group.mean_error /= group.predicted;
    group.mean_absolute_error /= group.predicted;
  };
  finish(summary.overall);
  for (auto& [name, group] : summary.groups) finish(group);
  for (std::vector<ValidationSummary::Range>* all : {&summary.by_gpus, &summary.by_length}) {
    std::erase_if(*all, [](const ValidationSummary::Range& range) { return range.group.cases == 0; });
    for (ValidationSummary::Range& range : *all) finish(range.group);
  }
  KendallCounts predicted, ideal;
  for (const auto& [key, series] : comparable) {
    predicted += kendall_counts(series.predicted, series.measured);
    ideal += kendall_counts(series.ideal, series.measured);
  }
  summary.kendall_tau = kendall_tau_b(predicted);
  summary.ideal_kendall_tau = kendall_tau_b(ideal);
  return summary;
}

namespace {

/// Predicts the runs of a table. Runs of one machine and model are predicted one after the other,
/// so that memory holds only the results that these runs share.
class TableValidation {
 public:
  TableValidation(std::span<const MeasuredRun> runs, std::string machine, std::string coefficients, ProfileChoice profiles,
                  std::string software)
      : runs_(runs),
        machine_(std::move(machine)),
        coefficients_(std::move(coefficients)),
        profiles_(std::move(profiles)),
        software_(std::move(software)),
        predictor_(std::make_unique<RunPredictor>(machine_, coefficients_, profiles_, software_)) {}

  [[nodiscard]] std::vector<std::string> profile_warnings() const { return predictor_->profile_warnings(); }

  [[nodiscard]] std::vector<ValidationCase> cases(const BeforeRun& before_run) {
    std::vector<ValidationCase> cases(runs_.size());
    std::map<MeasuredRun, std::size_t> known;  // cases of equal runs
    std::size_t done = 0;
    for (const std::size_t i : order()) {
      if (before_run) before_run(done++, runs_.size());
      const auto [alike, is_new] = known.try_emplace(to_predict(in_seconds(runs_[i])), i);
      cases[i] = is_new ? predicted(runs_[i]) : cases[alike->second];
      cases[i].run = in_seconds(runs_[i]);
    }
    return cases;
  }

 private:
  /// The name of a run's machine, converted by name_key; empty if the run uses the machine that the user names.
  [[nodiscard]] std::string machine_of(const MeasuredRun& run) const {
    const std::string key = name_key(run.machine);
    return key == name_key(machine_) ? std::string() : key;
  }

  [[nodiscard]] std::vector<std::size_t> order() const {
    std::vector<std::size_t> order(runs_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto group = [&](std::size_t i) { return std::pair(machine_of(runs_[i]), runs_[i].model); };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return group(a) < group(b); });
    return order;
  }

  [[nodiscard]] ValidationCase predicted(const MeasuredRun& run) {
    const std::string machine = machine_of(run);
    try {
      use(machine, run);
      ValidationCase one = validation_case(in_seconds(run), *predictor_, predictor_->coefficients());
      if (predictor_->coefficients().learned.empty()) return one;
      Coefficients bare = predictor_->coefficients();
      bare.learned.clear();
      const auto untaught = predictor_->predict(one.run, bare);
      if (const auto* time = std::get_if<Seconds>(&untaught)) one.untaught = *time;
      return one;
    } catch (const Error& error) {
      if (machine.empty()) throw;
      ValidationCase refused;
      refused.refusal = Unpredictable{error.what()};
      return refused;
    }
  }

  /// Sets `predictor_` to the predictor of the machine, and frees the results that runs of other models share.
  void use(const std::string& machine, const MeasuredRun& run) {
    if (machine != used_machine_ || !predictor_) {
      predictor_.reset();
      // Coefficients that the user names belong to the machine that the user names.
      predictor_ =
          std::make_unique<RunPredictor>(run.machine, coefficients_ == "none" ? coefficients_ : "", profiles_, software_);
      used_machine_ = machine;
    } else if (run.model != used_model_) {
      predictor_->forget_studies();
    }
    used_model_ = run.model;
  }

  std::span<const MeasuredRun> runs_;
  std::string machine_, coefficients_;
  ProfileChoice profiles_;
  std::string software_;
  std::unique_ptr<RunPredictor> predictor_;
  std::string used_machine_, used_model_;
};

}  // namespace

Validation validate(std::span<const MeasuredRun> runs, const std::string& machine, const std::string& coefficients,
                    const ProfileChoice& profiles, const std::string& software, const std::string& by,
                    const BeforeRun& before_run) {
  TableValidation table(runs, machine, coefficients, profiles, software);
  Validation validation;
  validation.warnings = table.profile_warnings();
  validation.cases = table.cases(before_run);
  validation.summary = summarize(validation.cases, by);
  return validation;
}

}  // namespace ddl
