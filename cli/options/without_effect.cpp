// Choices and settings that have no effect on a plan.

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "calibration/inputs/setting_values.hpp"
#include "cli/options/plan_options.hpp"

namespace ddl {
namespace {

/// Returns whether a value of a choice changes the plan, given the model and the plan's other choices.
bool has_effect(const PlanChoiceRow& row, const Plan& plan, const ModelFacts& facts, int value) {
  if (!row.matters(plan.mesh) || (row.counts != nullptr && !row.counts(plan))) return false;
  if (row.choice == PlanChoice::shard_group) return plan.zero_stage > 0;
  const bool needs_others = row.choice == PlanChoice::recompute || row.choice == PlanChoice::reshard;
  return !needs_others || row.possible(facts, plan, value);
}

}  // namespace

std::vector<std::string> choices_without_effect(const PlanOptions& options, const Plan& plan, const ModelFacts& facts) {
  std::vector<std::string> without_effect;
  const ChosenOfPlan chosen = chosen_of(options);
  for (const PlanChoiceRow& row : plan_choices()) {
    const std::optional<int> value = chosen[row.choice];
    if (value.value_or(0) == 0) continue;
    if (row.get(plan) == value && has_effect(row, plan, facts, *value)) continue;
    without_effect.push_back(fmt::format("--{} {} has no effect on {}", row.option, row.name(*value), plan_word(plan)));
  }
  return without_effect;
}

std::vector<std::string> keys_without_effect(const Plan& plan, const ModelFacts& facts) {
  std::vector<std::string> without_effect;
  for (const PlanChoiceRow& row : plan_choices()) {
    const int value = row.get(plan);
    if (value == row.get(Plan{})) continue;
    if (has_effect(row, plan, facts, value)) continue;
    const std::string said = row.first_number ? std::to_string(*row.first_number + value) : std::string(row.name(value));
    without_effect.push_back(fmt::format("'{}: {}' has no effect on {}", row.option, said, plan_word(plan)));
  }
  return without_effect;
}

std::vector<std::string> settings_without_effect(const Study& study, const Plan& plan, bool as_option) {
  std::vector<std::string> without_effect;
  study.spec().settings.for_each([&](const SettingRow& row, const SettingValue& value) {
    if (row.counts == nullptr || row.counts(study.job().facts, plan) || value.origin < SettingOrigin::job) return;
    if (as_option && value.origin != SettingOrigin::option) return;
    if (row.kind == SettingKind::flag && value.value == 0) return;  // the user does without it, and so does the plan
    std::string option(row.key);
    std::ranges::replace(option, '_', '-');
    const std::string text = print_setting(row, value.value);
    const std::string said = !as_option       ? fmt::format("'{}: {}'", row.key, text)
                             : row.has_option ? fmt::format("--{} {}", option, text)
                                              : fmt::format("--setting {}={}", row.key, text);
    without_effect.push_back(fmt::format("{} has no effect on {}", said, plan_word(plan)));
  });
  return without_effect;
}

}  // namespace ddl
