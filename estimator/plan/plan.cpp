#include "estimator/plan/plan.hpp"

#include <algorithm>

#include "core/enum_array.hpp"

namespace ddl {
namespace {

constexpr EnumNames<Recompute> recompute_names{"none", "selective", "full"};

}  // namespace

std::string_view to_string(Recompute recompute) { return recompute_names[recompute]; }
std::optional<Recompute> parse_recompute(std::string_view text) { return enum_named(recompute_names, text); }

std::string_view to_string(Offload offload) {
  constexpr EnumNames<Offload> names{"none", "optimizer", "weights"};
  return names[offload];
}

std::string_view to_string(ContextExchange exchange) { return exchange == ContextExchange::ring ? "ring" : "ulysses"; }

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
