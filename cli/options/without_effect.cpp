// Options and settings that have no effect on a plan.

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "calibration/inputs/setting_values.hpp"
#include "cli/options/plan_options.hpp"
#include "core/error.hpp"
#include "estimator/explain/explanation.hpp"
#include "estimator/explain/goodput.hpp"
#include "estimator/explain/power.hpp"
#include "estimator/explain/staging.hpp"
#include "estimator/step/step_sensitivity.hpp"
#include "model_zoo/files/load_model.hpp"

namespace ddl {
namespace {

/// The prediction of a plan, to compare it with another one. Figures that take long to compute are computed only if all
/// other figures are equal.
class Prediction {
 public:
  Prediction(const Study& study, const Plan& plan) : study_(study), estimator_(study.job()) {
    estimate_ = estimator_.estimate(plan);
  }

  [[nodiscard]] bool differs_from(Prediction& other) {
    const auto figures = [](const Estimate& each) {
      return std::vector<double>{each.time.step_time().value(), each.hidden_exchange.value(), each.hidden_input.value(),
                                 each.host_waiting.value(),     each.memory.total().value(),  each.memory.on_host.value()};
    };
    if (figures(estimate_) != figures(other.estimate_)) return true;
    return estimate_.time.step_time() > Seconds{} && further_figures() != other.further_figures();
  }

 private:
  /// Returns the sources of error, the energy, and what is added to the steps of a long training.
  const std::vector<double>& further_figures() {
    if (!further_.empty()) return further_;
    const Job& job = study_.job();
    const TimeSensitivity errors = sensitivity(estimator_, estimate_.plan);
    further_ = {errors.routing};
    for (const Sensitivity& each : errors.sources)
      further_.insert(further_.end(), {static_cast<double>(each.source), each.slower, each.faster});
    constexpr Seconds long_training(1e7);
    if (const auto goodput = goodput_of(job, estimate_, long_training))
      further_.insert(further_.end(), {goodput->share, goodput->every.value(), goodput->spare_nodes});
    if (const auto staged = staged_data(job, estimate_.plan))
      further_.insert(further_.end(), {staged->per_node.value(), staged->time.value_or(Seconds{}).value()});
    Estimate powered = estimate_;
    powered.power = power_of(job, explain(estimator_, estimate_.plan));
    if (powered.power) {
      const double energy = energy_of(job, powered, long_training);
      further_.insert(further_.end(), {energy, energy * job.assumptions.carbon.value_or(0)});
    }
    return further_;
  }

  const Study& study_;
  Estimator estimator_;
  Estimate estimate_;
  std::vector<double> further_;
};

/// Returns other values of a setting. If the setting has an effect, one of these values changes the prediction.
std::vector<double> other_values(const SettingRow& row, double value) {
  std::vector<double> values;
  if (row.kind == SettingKind::flag) values = {1 - value};
  for (std::size_t name = 0; row.kind == SettingKind::name && name < row.names.size(); ++name)
    values.push_back(static_cast<double>(name));
  if (values.empty()) {
    const double most = row.most > row.least ? row.most : 2 * value + 1;
    values = {row.least, most, std::clamp(2 * value, row.least, most)};
  }
  std::erase(values, value);
  return values;
}

/// Returns whether another value of a setting changes the prediction of the plan.
bool has_effect(const SettingRow& row, double value, const StudySpec& spec, const StudyInputs& inputs,
                Prediction& prediction, const Plan& plan) {
  for (const double other : other_values(row, value)) {
    StudySpec changed = spec;
    changed.settings.set(row, {other, SettingOrigin::option, {}});
    try {
      const Study study(std::move(changed), inputs);
      Prediction of_other(study, plan);
      if (of_other.differs_from(prediction)) return true;
    } catch (const Error&) {  // the other settings refuse this value
      return true;
    }
  }
  return false;
}

/// Names a setting by its option, as the user typed it: `--sparse-gradients`, `--compress fp16`.
std::string option_text(const SettingRow& row, double value) {
  if (!row.has_option) return fmt::format("--setting {}={}", row.key, print_setting(row, value));
  std::string option(row.key);
  std::ranges::replace(option, '_', '-');
  if (row.key == "input" && value == static_cast<double>(input_none)) return "--no-input";
  if (row.kind == SettingKind::flag) return fmt::format("--{}{}", value != 0 ? "" : "no-", option);
  return fmt::format("--{} {}", option, print_setting(row, value));
}

/// Returns ` without @fused=yes` for kernels of fused attention, if the model has fused attention with this parameter.
std::string missing_parameter(std::string_view key, const Study& study) {
  if (key != "attention") return {};
  try {
    const Model model = load_model(study.spec().model + "@fused=yes", study.spec().sequence);
    const bool fuses = std::ranges::any_of(model.layers, [](const Layer& layer) {
      return layer.operation->type() == "attention" && layer.operation->attribute_values().flag("fused", false);
    });
    return fuses ? " without @fused=yes" : "";
  } catch (const Error&) {  // the model has no such parameter, or the user has set it
    return {};
  }
}

std::string key_text(std::string_view key, std::string_view value) { return fmt::format("'{}: {}'", key, value); }

/// Returns whether a value of a choice changes the plan, given the model and the plan's other choices.
bool has_effect(const PlanChoiceRow& row, const Plan& plan, const ModelFacts& facts, int value) {
  if (!row.matters(plan.mesh) || (row.counts != nullptr && !row.counts(plan))) return false;
  const bool needs_others = row.choice == PlanChoice::recompute || row.choice == PlanChoice::reshard;
  return !needs_others || row.possible(facts, plan, value);
}

/// Returns the smallest number of a choice that has the same prediction as the plan's number. For recomputed blocks, this is
/// the number of blocks of a stage. Empty if the next smaller number, or the largest number, has another prediction.
std::optional<int> least_like(const PlanChoiceRow& row, const Study& study, const Plan& plan) {
  const int value = row.get(plan);
  if (!row.first_number || value < 2) return std::nullopt;
  Prediction prediction(study, plan);
  const auto is_like = [&](int number) {
    Plan other = plan;
    row.set(other, number);
    if (!Estimator(study.job()).limits(other).empty()) return false;
    Prediction of_other(study, other);
    return !of_other.differs_from(prediction);
  };
  int differs = 0, like = value;
  if (!is_like(value - 1) || !is_like(row.last)) return std::nullopt;
  while (like - differs > 1) {
    const int middle = differs + (like - differs) / 2;
    (is_like(middle) ? like : differs) = middle;
  }
  return like;
}

/// Returns ` instead of 32` for a number that has no more effect than 32.
std::string excess_text(const PlanChoiceRow& row, const Study& study, const Plan& plan) {
  const std::optional<int> least = least_like(row, study, plan);
  return least ? fmt::format(" instead of {}", *row.first_number + *least) : std::string();
}

}  // namespace

std::vector<std::string_view> settings_without_effect(const Study& study, const Plan& plan, SettingOrigin origin) {
  std::vector<std::string_view> without_effect;
  std::optional<StudyInputs> inputs;
  std::optional<Study> same;
  std::optional<Prediction> prediction;
  study.spec().settings.for_each([&](const SettingRow& row, const SettingValue& value) {
    // As the value "none" of a choice, `input=none` asks for nothing.
    if (value.origin < origin || (row.key == "input" && value.value == static_cast<double>(input_none))) return;
    const bool counts = row.counts == nullptr || row.counts(study.job().facts, plan);
    // A plan without experts fulfills `routes_tokens_once=no` anyway.
    if (!counts && row.kind == SettingKind::flag && value.value == 0) return;
    if (counts) {
      if (!prediction) {
        inputs = load_inputs(study.spec());
        same.emplace(study.spec(), *inputs);
        prediction.emplace(*same, plan);
      }
      if (has_effect(row, value.value, study.spec(), *inputs, *prediction, plan)) return;
    }
    without_effect.push_back(row.key);
  });
  return without_effect;
}

std::vector<std::string> options_without_effect(const PlanOptions& options, const Study& study, const Plan& plan) {
  std::vector<std::string> without_effect;
  const ChosenOfPlan chosen = chosen_of(options);
  for (const PlanChoiceRow& row : plan_choices()) {
    const std::optional<int> value = chosen[row.choice];
    if (value.value_or(0) == 0) continue;
    std::string said = fmt::format("--{} {}", row.option, row.name(*value));
    if (row.get(plan) == value && has_effect(row, plan, study.job().facts, *value)) {
      const std::string excess = excess_text(row, study, plan);
      if (excess.empty()) continue;
      said += excess;
    }
    without_effect.push_back(std::move(said));
  }
  if (!options.placement.empty() && std::popcount(plan.mesh.family()) < 2)
    without_effect.push_back("--placement " + options.placement);
  for (const std::string_view key : settings_without_effect(study, plan, SettingOrigin::option))
    without_effect.push_back(option_text(*find_setting(key), *study.spec().settings.number(key)) +
                             missing_parameter(key, study));
  return without_effect;
}

std::vector<std::string> keys_without_effect(const Study& study, const Plan& plan) {
  std::vector<std::string> without_effect;
  for (const PlanChoiceRow& row : plan_choices()) {
    const int value = row.get(plan);
    if (value == row.get(Plan{})) continue;
    std::string said =
        key_text(row.option, row.first_number ? std::to_string(*row.first_number + value) : std::string(row.name(value)));
    if (has_effect(row, plan, study.job().facts, value)) {
      const std::string excess = excess_text(row, study, plan);
      if (excess.empty()) continue;
      said += excess;
    }
    without_effect.push_back(std::move(said));
  }
  for (const std::string_view key : settings_without_effect(study, plan, SettingOrigin::job))
    without_effect.push_back(key_text(key, print_setting(*find_setting(key), *study.spec().settings.number(key))) +
                             missing_parameter(key, study));
  return without_effect;
}

std::vector<std::string> without_effect_on(std::string_view plans, std::vector<std::string> named) {
  for (std::string& each : named) each += fmt::format(" has no effect on {}", plans);
  return named;
}

}  // namespace ddl
