#include "estimator/step/step.hpp"

#include <algorithm>

namespace ddl {

Seconds& Breakdown::operator[](Part part) {
  switch (part) {
    case Part::forward:
      return forward;
    case Part::backward:
      return backward;
    case Part::weight_update:
      return weight_update;
    case Part::gradient_exchange:
      return gradient_exchange;
    case Part::layer_collectives:
      return layer_collectives;
    case Part::halo:
      return halo;
    case Part::pipeline:
      return pipeline;
    case Part::bubble:
      return bubble;
    case Part::input:
      return input;
    case Part::waiting:
      break;
  }
  return waiting;
}

bool Step::depends_on(Coefficient coefficient) const {
  const auto depends = [&](const Term& term) { return term.depends_on(coefficient); };
  if (coefficient == Coefficient::per_iteration) return several_ranks;
  if (coefficient == Coefficient::straggling) return several_ranks && slowest_of > 1;
  if (coefficient == Coefficient::kernel_start)
    return std::any_of(tasks.begin(), tasks.end(), [](const Task& task) { return task.starts > 0; });
  return std::any_of(tasks.begin(), tasks.end(), [&](const Task& task) { return depends(task.time); }) ||
         std::any_of(transfers.begin(), transfers.end(), depends) || depends(reading);
}

bool Updates::Stage::takes_as_long_as(const Stage& other) const {
  return update == other.update && of_gradients == other.of_gradients && of_weights == other.of_weights &&
         after_update == other.after_update && whole_weights == other.whole_weights && message == other.message &&
         exchange.rounds == other.exchange.rounds && exchange.gathers == other.exchange.gathers;
}

bool Updates::take_as_long_as(const Updates& other) const {
  return beside.has_value() == other.beside.has_value() && gathers_beside.has_value() == other.gathers_beside.has_value() &&
         std::equal(stages.begin(), stages.end(), other.stages.begin(), other.stages.end(),
                    [](const Stage& a, const Stage& b) { return a.takes_as_long_as(b); });
}

bool Updates::depends_on(Coefficient coefficient) const {
  return std::any_of(stages.begin(), stages.end(), [&](const Stage& own) {
    return own.update.depends_on(coefficient) || own.of_gradients.depends_on(coefficient) ||
           own.of_weights.depends_on(coefficient) || own.after_update.depends_on(coefficient) ||
           own.whole_weights.depends_on(coefficient);
  });
}

Breakdown breakdown_of(const Timing<double>& timing) {
  Breakdown breakdown;
  for (std::size_t i = 0; i < part_count; ++i) breakdown[static_cast<Part>(i)] = Seconds(timing.parts[i]);
  return breakdown;
}

}  // namespace ddl
