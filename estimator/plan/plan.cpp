#include "estimator/plan/plan.hpp"

#include "core/enum_array.hpp"

namespace ddl {
namespace {}  // namespace

double samples_per_micro_batch(const Plan& plan) {
  const std::int64_t parts = plan.mesh.batch_parts() * plan.micro_batches;
  const std::int64_t largest = (plan.global_batch + parts - 1) / parts;
  return static_cast<double>(largest);
}

std::string placement_text(const Plan& plan) {
  std::string text;
  for (const Axis axis : plan.placement) {
    if (plan.mesh[axis] == 1) continue;
    if (!text.empty()) text += ',';
    text += to_string(axis);
  }
  return text;
}

}  // namespace ddl
