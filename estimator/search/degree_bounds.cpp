#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "estimator/layers/host_launches.hpp"
#include "estimator/layers/overlaps.hpp"
#include "estimator/layers/token_pieces.hpp"
#include "estimator/schedules/schedule.hpp"
#include "estimator/search/time_bounds.hpp"

namespace ddl {

TimeBounds::LinearTime TimeBounds::exchanges_by_degrees(const Plan& plan) const {
  const Parts& parts = parts_of(plan);
  const double splits = plan.mesh.product(weight_axes), spatial = plan.mesh[Axis::spatial];
  const double item = item_bytes(plan.precision);
  const double tiles = item / (spatial * plan.mesh[Axis::context]);  // bytes of an element of a sample on one rank
  LinearTime all;
  const auto add = [&](Axis axis, Seconds fixed, double bytes, SecondsPerByte per_byte) {
    const double share = least_exposed_share(job_, plan, axis);
    all.fixed += fixed * share;
    all.of_sample += Bytes(bytes) * per_byte * share;
  };
  if (spatial > 1) {
    add(Axis::spatial, parts.alpha * parts.traffic.messages, parts.traffic.halo_items * item / splits, parts.halo);
    add(Axis::spatial, Seconds{}, parts.traffic.gathered_items * item, parts.gathered);
  }
  if (plan.mesh[Axis::filter] > 1) add(Axis::filter, starts_of_filters(plan), 0, {});
  each_split_of_layers(plan.mesh, [&](Axis axis, double items) {
    add(axis, Seconds{}, items * tiles, parts.layer[static_cast<std::size_t>(axis)]);
  });
  return all;
}

Seconds TimeBounds::starts_of_filters(const Plan& plan) const {
  // For every micro-batch, there is one exchange of outputs and one of gradients. No collective has fewer rounds than a
  // tree.
  return parts_of(plan).alpha * (split_collectives_ * std::ceil(std::log2(plan.mesh[Axis::filter])));
}

Seconds TimeBounds::gradients_by_degrees(const Plan& plan) const {
  const Software& software = job_.coefficients.software;
  const bool sparse = software.gradient_density || job_.assumptions.allreduce == AllreduceAlgorithm::sparse ||
                      software.gradient_algorithm == AllreduceAlgorithm::sparse ||
                      software.hybrid_gradient_algorithm == AllreduceAlgorithm::sparse;
  const Bytes gradients = shown_gradients(plan);
  if (sparse || gradients.value() <= 0 || job_.machine.levels.empty()) return {};
  return gradients * 2.0 * parts_of(plan).gradients;
}

TimeBounds::Discount TimeBounds::discount_of(const Plan& plan) const {
  if (!job_.assumptions.learned || job_.coefficients.learned.empty()) return {};
  const Learned learned = learned_of(job_.coefficients.learned, plan.mesh.family());
  Discount least;
  for (const Purpose purpose : {Purpose::gradient, Purpose::layer, Purpose::halo}) {
    const PathCoefficients path = path_coefficients(purpose);
    least.alpha = std::min(least.alpha, learned[path.alpha]);
    least.beta = std::min(least.beta, learned[path.beta]);
  }
  least.kernels = std::min(1.0, learned[Coefficient::kernels]);
  return least;
}

Seconds TimeBounds::shortest_of(RelaxedStep step, const std::vector<int>& chunks, bool may_fill_bubbles) {
  Seconds least(std::numeric_limits<double>::infinity());
  for (const int each : chunks) {
    step.chunks = each;
    least = min(least, shortest_run(step));
  }
  if (!may_fill_bubbles) return least;
  step.chunks = 1;
  step.fills_bubbles = true;
  return min(least, shortest_run(step));
}

bool TimeBounds::may_fill_bubbles(const Plan& plan) const {
  const auto orders = all_schedules();
  return std::any_of(orders.begin(), orders.end(),
                     [&](const ScheduleOrder* order) { return may_fill_bubbles(plan, *order); });
}

std::vector<TimeBounds::BySize> TimeBounds::by_size(Plan plan, const std::vector<std::int64_t>& micro_batches) const {
  const double kernels = discount_of(plan).kernels, disturbance = this->disturbance(plan);
  const Seconds launches = least_launches(plan);
  std::vector<BySize> sizes;
  sizes.reserve(plan.mesh[Axis::pipeline] == 1 ? 1 : micro_batches.size());
  for (const std::int64_t count : micro_batches) {
    plan.micro_batches = count;
    const RelaxedStep step = bare_step(plan, kernels, launches, disturbance);
    const bool may_fill = may_fill_bubbles(plan);
    const Seconds bound = shortest_of(step, steps_.virtual_stages_of(plan), may_fill) * rounding;
    sizes.push_back({bound, step.busy, step.longest, count, may_fill});
    if (plan.mesh[Axis::pipeline] == 1) break;  // without a pipeline, a single micro-batch is fastest
  }
  std::sort(sizes.begin(), sizes.end(), [](const BySize& a, const BySize& b) {
    return std::pair(a.bound, a.micro_batches) < std::pair(b.bound, b.micro_batches);
  });
  return sizes;
}

Seconds TimeBounds::least_by_degrees(Plan plan, Seconds exchanges_of_sample, const std::vector<BySize>& sizes) const {
  const Parts& parts = parts_of(plan);
  const Seconds gradients = gradients_by_degrees(plan);
  const bool has_exchanges = !job_.times_whole_layers() && !job_.machine.levels.empty();
  const LinearTime exchanges = has_exchanges ? exchanges_by_degrees(plan) : LinearTime{};
  const double of_replica = static_cast<double>(plan.global_batch) / plan.mesh.product(batch_axes);
  RelaxedStep step;
  step.stages = plan.mesh[Axis::pipeline];
  step.has_end = !job_.assumptions.weight_versions;
  step.pieces = token_pieces(job_.facts, plan, job_.assumptions);
  step.launches = parts.launches;
  step.fixed = fixed_waiting(job_, plan);
  if (has_exchanges) step.hop = parts.alpha;
  std::array<const std::vector<int>*, 2> chunks{};  // by whether the stages divide the micro-batches
  Seconds least(std::numeric_limits<double>::max());
  for (const BySize& each : sizes) {
    if (each.bound >= least) break;
    plan.micro_batches = each.micro_batches;
    step.micro_batches = static_cast<double>(each.micro_batches);
    step.busy = each.busy;
    step.longest = each.longest;
    if (has_exchanges) {
      step.busy += max(exchanges.fixed + exchanges.of_sample * (of_replica / step.micro_batches),
                       exchanges_of_sample * samples_per_micro_batch(plan));
    }
    step.waiting = step.busy * parts.disturbance;
    const std::vector<int>*& own = chunks[each.micro_batches % plan.mesh[Axis::pipeline] == 0 ? 1 : 0];
    if (own == nullptr) own = &steps_.virtual_stages_of(plan);
    const Seconds rest = (shortest_of(step, *own, each.may_fill_bubbles) + gradients) * rounding;
    // The time of reading samples makes no bound shorter.
    if (rest < least) least = min(least, with_input(rest, plan));
  }
  return least;
}

}  // namespace ddl
