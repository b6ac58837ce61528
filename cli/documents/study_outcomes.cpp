#include "cli/documents/study_outcomes.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/documents/energy.hpp"
#include "cli/documents/throughput.hpp"

namespace ddl {

Labels::Labels(const Outcomes& outcomes) {
  for (const StudyOutcome& each : outcomes) {
    models_ = models_ || each.model != outcomes.front().model;
    machines_ = machines_ || each.machine != outcomes.front().machine;
  }
}

std::string Labels::of(const StudyOutcome& outcome) const {
  if (models_ && machines_) return fmt::format("{} on {}", outcome.model, outcome.machine);
  return models_ ? outcome.model : outcome.machine;
}

Seconds time_of(const StudyOutcome& outcome) { return time_of(outcome.best_estimate(), *outcome.study, outcome.training); }

std::optional<double> cost_of(const StudyOutcome& outcome) {
  return cost_of(outcome.best_estimate(), *outcome.study, outcome.training);
}

double figure_of(const StudyOutcome& outcome) {
  if (outcome.objective == Objective::cost) return cost_of(outcome).value_or(0);
  if (outcome.objective == Objective::energy)
    return kilowatt_hours(outcome.best_estimate(), *outcome.study, outcome.training).value_or(0);
  return outcome.objective == Objective::memory ? outcome.best_estimate().memory.total().value() : time_of(outcome).value();
}

bool comparable(const Outcomes& outcomes) {
  const StudyOutcome* first = nullptr;
  for (const StudyOutcome& each : outcomes) {
    if (!has_plan(each) || each.objective != Objective::cost) continue;
    if (first != nullptr && first->study->machine().currency != each.study->machine().currency) return false;
    first = &each;
  }
  return true;
}

std::vector<const StudyOutcome*> ranked(const Outcomes& outcomes) {
  std::vector<const StudyOutcome*> order;
  for (const StudyOutcome& each : outcomes) {
    if (has_plan(each)) order.push_back(&each);
  }
  if (!comparable(outcomes)) return order;
  std::ranges::stable_sort(order,
                           [](const StudyOutcome* a, const StudyOutcome* b) { return figure_of(*a) < figure_of(*b); });
  return order;
}

}  // namespace ddl
