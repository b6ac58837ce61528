#include "estimator/search/rank.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace ddl {

Simplicity simplicity_of(const Plan& plan) {
  Simplicity simplicity{};
  std::size_t next = 0;
  simplicity[next++] = std::popcount(plan.mesh.family());
  for (std::size_t i = plan_choice_count; i > 0; --i) simplicity[next++] = plan_choices()[i - 1].get(plan);
  simplicity[next++] = plan.micro_batches;
  // A plan is simpler if it has fewer stages. Among plans with equally many stages, a plan is
  // simpler if it divides weights less. The data degree follows from the other degrees.
  const Mesh::Degrees& degrees = plan.mesh.degrees();
  constexpr std::size_t stages = first_dimension_of(Axis::pipeline), replicas = first_dimension_of(Axis::data);
  simplicity[next++] = degrees[stages];
  for (std::size_t d = 0; d < mesh_dimensions; ++d) {
    if (d != stages && d != replicas) simplicity[next++] = degrees[d];
  }
  std::int64_t& placement = simplicity[next];
  for (const Axis axis : plan.placement)
    placement = placement * static_cast<std::int64_t>(axis_count) + static_cast<int>(axis);
  return simplicity;
}

double rounded(double value) {
  constexpr double digits = 1LL << 32;
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  return std::ldexp(std::round(mantissa * digits) / digits, exponent);
}

Rank rank_of(const RankedPlan& ranked, Objective objective) {
  // All plans of one search use the same devices, so the cheapest is the fastest.
  const double time = rounded(ranked.step_time.value());
  if (objective == Objective::memory)
    return {ranked.verdict, rounded(ranked.memory.value()), time, simplicity_of(ranked.plan)};
  return {ranked.verdict, time, 0.0, simplicity_of(ranked.plan)};
}

bool preferred(const RankedPlan& a, const RankedPlan& b, Objective objective) {
  if (a.verdict != b.verdict) return a.verdict < b.verdict;
  const bool memory = objective == Objective::memory;
  const double first_a = rounded((memory ? a.memory.value() : a.step_time.value()));
  const double first_b = rounded((memory ? b.memory.value() : b.step_time.value()));
  if (first_a != first_b) return first_a < first_b;
  return rank_of(a, objective) < rank_of(b, objective);
}

Verdict verdict_for(const Estimate& estimate, const SearchOptions& options) {
  return options.allow_risk ? Verdict::fits : estimate.verdict;
}

RankedPlan ranked(const Estimate& estimate, const SearchOptions& options) {
  return {estimate.plan, estimate.time.step_time(), estimate.memory.total(), verdict_for(estimate, options)};
}

std::tuple<int, double> miss(const Limits& limits) {
  double worst = 0;
  int kinds = 0;
  for (const Limit& limit : limits) {
    kinds += limit.kind == Limit::Kind::memory ? 1 : 10;
    worst = std::max(worst, limit.wanted / std::max(limit.available, 1e-9));
  }
  return {kinds, worst};
}

}  // namespace ddl
