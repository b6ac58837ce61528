#include "calibration/inputs/study_checks.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/source_text.hpp"
#include "estimator/kernels/clock.hpp"

namespace ddl {

void require_power_limit(const Assumptions& assumptions, const Machine& machine) {
  if (!assumptions.power_limit) return;
  const double limit = *assumptions.power_limit, own = machine.device.power;
  if (!(own > 0)) {
    throw Error(
        fmt::format("--power-limit needs the power limit of a device, but the datasheet of {} has none", machine.name),
        "add the key 'power' to the device of a machine file");
  }
  if (limit > own || limit < least_power_limit * own) {
    throw Error(fmt::format("--power-limit {:g} is not from {:g} to {:g} W, the power limit of {}", limit,
                            least_power_limit * own, own, machine.device.name),
                fmt::format("use for example --power-limit {:.0f}", 0.75 * own));
  }
}

void require_matching(const Assumptions& assumptions, const Model& model, Optimizer optimizer) {
  const auto has_adapters = [](const Layer& layer) { return layer.operation->adapters() > 0; };
  if (is_projected(optimizer) && std::any_of(model.layers.begin(), model.layers.end(), has_adapters)) {
    throw Error(fmt::format("{} projects the gradients of whole matrices, and {} has adapters", to_string(optimizer),
                            quote(model.name)),
                "train all weights, or choose another optimizer, such as --optimizer adamw");
  }
  if (assumptions.precondition_every > 0 && !is_preconditioned(optimizer) && !projects_by_singular_vectors(optimizer)) {
    throw Error(fmt::format("--precondition-every needs kfac, shampoo, soap or galore, and the optimizer is {}",
                            to_string(optimizer)),
                "add --optimizer soap, or leave --precondition-every out");
  }
  const double steps = assumptions.local_steps, parts = assumptions.local_fragments, overlap = assumptions.local_overlap;
  if (parts == 1 && overlap == 0) return;
  if (steps <= 1 || assumptions.synchronization != Synchronization::sync) {
    throw Error(
        fmt::format("{} needs --local-steps and synchronized ranks", parts > 1 ? "--local-fragments" : "--local-overlap"),
        "add --local-steps 100, or leave the option out");
  }
  if (parts > steps) {
    throw Error(fmt::format("--local-fragments {:.0f} is more than --local-steps {:.0f}", parts, steps),
                "a step sends at most one part");
  }
  if (overlap * parts > steps) {
    throw Error(
        fmt::format("--local-overlap {:.4g} is longer than the {:.4g} steps between two parts", overlap, steps / parts),
        "a part has to arrive before the next one is sent");
  }
}

}  // namespace ddl
