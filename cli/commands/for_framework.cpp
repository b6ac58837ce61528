#include "cli/commands/for_framework.hpp"

#include <algorithm>
#include <chrono>

#include "calibration/inputs/setting_values.hpp"
#include "cli/documents/startable.hpp"
#include "cli/options/option_value.hpp"
#include "core/error.hpp"
#include "estimator/explain/power.hpp"
#include "estimator/search/search.hpp"

namespace ddl {
namespace {

/// Returns what the answer minimizes, for its best plan.
double minimized(const RecommendAnswer& answer) {
  const Estimate& best = answer.shown.front();
  if (answer.objective == Objective::memory) return best.memory.total().value();
  if (answer.objective == Objective::energy) return energy_of(answer.study->job(), best, best.time.step_time());
  return best.time.step_time().value();
}

/// Whether fsdp is better than ddp. If both tie, ddp is preferred, because it is simpler. An answer without a plan is the
/// worst.
bool is_fsdp_better(const RecommendAnswer& fsdp, const RecommendAnswer& ddp) {
  if (fsdp.shown.empty() || ddp.shown.empty()) return ddp.shown.empty();
  const Verdict of_fsdp = fsdp.shown.front().verdict, of_ddp = ddp.shown.front().verdict;
  if (of_fsdp != of_ddp && !ddp.options.allow_risk) return of_fsdp < of_ddp;
  const bool by_time = ddp.objective == Objective::time || ddp.objective == Objective::cost;
  return minimized(fsdp) * (1 + (by_time ? usual_tie : 0)) < minimized(ddp);
}

/// Marks an answer as incomplete if it includes another answer whose search ended early.
void add_stop(RecommendAnswer& answer, const RecommendAnswer& other) {
  if (!other.result.stopped) return;
  const Seconds left = other.result.least_left;
  answer.result.least_left = answer.result.stopped ? min(answer.result.least_left, left) : left;
  answer.result.stopped = true;
  answer.at_limit = answer.at_limit || other.at_limit;
}

}  // namespace

std::vector<std::string_view> framework_choices() {
  std::vector<std::string_view> names = framework_names();
  names.push_back(pytorch_itself);
  return names;
}

void set_framework(RecommendOptions& options) {
  if (options.framework.empty() || options.framework == pytorch_itself) return;
  const Framework* const framework = framework_named(options.framework);
  if (framework == nullptr) unknown_choice("--for", options.framework, framework_choices());
  if (options.study.software.empty()) options.study.software = framework->software;
  Settings& settings = options.study.settings;
  const auto& words = options.study.setting_words;
  const bool is_said = settings.find("mixed_precision") != nullptr || std::ranges::any_of(words, [](const auto& each) {
                         return parse_settings(each, SettingOrigin::option).find("mixed_precision") != nullptr;
                       });
  // The user did not set this option, so there is no warning if it has no effect.
  if (framework->mixed_precision && !is_said)
    settings.set("mixed_precision", {static_cast<double>(*framework->mixed_precision), SettingOrigin::job, {}});
}

std::shared_ptr<RecommendAnswer> answer_for_framework(const RecommendOptions& asked, const Answering& answer) {
  if (asked.framework != pytorch_itself) return answer(asked);
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const auto answer_with = [&](std::string_view name, double share) {
    RecommendOptions options = asked;
    options.framework = name;
    options.typed_framework = asked.framework;
    set_framework(options);
    if (asked.time_limit) {
      const Seconds spent(std::chrono::duration<double>(Clock::now() - start).count());
      constexpr Seconds least(1e-3);
      options.time_limit = max(least, (*asked.time_limit - spent) * share);
    }
    return answer(options);
  };
  std::shared_ptr<RecommendAnswer> ddp;
  constexpr double half = 0.5, rest = 1;
  try {
    ddp = answer_with("ddp", half);
  } catch (const Error&) {  // ddp starts no plan; the error of fsdp is reported
  }
  try {
    std::shared_ptr<RecommendAnswer> fsdp = answer_with("fsdp", rest);
    if (ddp == nullptr) return fsdp;
    const bool is_fsdp = is_fsdp_better(*fsdp, *ddp);
    add_stop(is_fsdp ? *fsdp : *ddp, is_fsdp ? *ddp : *fsdp);
    return is_fsdp ? fsdp : ddp;
  } catch (const Error&) {
    if (ddp == nullptr || ddp->shown.empty()) throw;
    return ddp;
  }
}

}  // namespace ddl
