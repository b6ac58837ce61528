#include "estimator/layers/overlaps.hpp"

#include <algorithm>

#include "estimator/inputs/expert_load.hpp"
#include "estimator/layers/layer_costs.hpp"
#include "estimator/schedules/schedule.hpp"

namespace ddl {

Window window_of_gradients(const Coefficients& coefficients, const Assumptions& assumptions, bool gathers) {
  const OverlapSlowdown& slowdown = coefficients.overlap;
  const bool pays = 1.0 / slowdown.kernels + 1.0 / slowdown.exchange >= 1.0;
  if (!assumptions.overlap || !coefficients.software.overlaps_gradients.value_or(pays)) return Window::none;
  return gathers ? Window::computing : Window::backward;
}

Window window_of_gathers(const Coefficients& coefficients, const Assumptions& assumptions) {
  const bool overlaps = assumptions.overlap && coefficients.software.overlaps_weight_gathers.value_or(false);
  return overlaps ? Window::next_forward : Window::none;
}

Window window_of_input(const Assumptions& assumptions) { return assumptions.input_overlapped ? Window::step : Window::none; }

namespace {

bool overlaps_tensor_exchanges(const Job& job) {
  return job.coefficients.software.overlaps_tensor_exchanges.value_or(false) && job.assumptions.overlap;
}

/// Returns whether the software divides an exchange into pieces that overlap with pieces of a matrix product.
bool is_in_pieces(const Job& job, const Exchange& exchange, const Group& group) {
  const bool moves = exchange.operation == Collective::allgather || exchange.operation == Collective::reduce_scatter;
  // A kernel writes its pieces into the memory of other ranks. This is only possible within one level of links [NVIDIA,
  // Transformer Engine documentation, te.module.base.initialize_ub: user buffers of an NVLink domain].
  return overlaps_tensor_exchanges(job) && moves && exchange.axes == family_bit(Axis::tensor) &&
         exchange.purpose == Purpose::layer && group.outermost == 0;
}

}  // namespace

double exposed_share(const Job& job, const Exchange& exchange, const Group& group) {
  if (exchange.next_to_kernels) return 0;
  return is_in_pieces(job, exchange, group) ? 1.0 / group.ranks : 1.0;
}

double least_exposed_share(const Job& job, const Plan& plan, Axis axis) {
  return axis == Axis::tensor && overlaps_tensor_exchanges(job) ? 1.0 / plan.mesh[axis] : 1.0;
}

double hidden_share(const OverlapSlowdown& slowdown, Seconds kernels, Seconds exchanges) {
  if (exchanges <= Seconds{}) return 0;
  const Seconds both = min(kernels * slowdown.kernels, exchanges * slowdown.exchange);
  return std::max(0.0, both / exchanges * (1.0 / slowdown.kernels + 1.0 / slowdown.exchange - 1.0));
}

namespace {

/// Returns the share of the experts' All-to-alls that is hidden behind an overlapped forward and backward.
double hidden_in_pairs(const Job& job, const LayerCosts& costs) {
  return hidden_share(job.coefficients.overlap, costs[LayerTime::forward] + costs[LayerTime::backward],
                      costs[LayerTime::experts_forward] + costs[LayerTime::experts_backward]);
}

}  // namespace

bool hides_expert_exchanges(const Software& software, const Plan& plan) {
  return software.overlaps_expert_exchanges.value_or(false) && may_hide_expert_exchanges(plan);
}

double hidden_share_of_experts(const Job& job, const Plan& plan, const LayerCosts& costs, int stage) {
  if (!job.assumptions.overlap || !hides_expert_exchanges(job.coefficients.software, plan)) return 0;
  const auto micro_batches = static_cast<double>(plan.micro_batches);
  // The forwards before the first backward run without overlap, and so do equally many backwards at the end.
  const double alone = micro_batches_in_flight(plan.schedule, stage, plan.mesh[Axis::pipeline], micro_batches,
                                               plan.mesh[Axis::pipeline] == 1 ? 1 : plan.virtual_stages);
  return std::max(0.0, 1 - alone / micro_batches) * hidden_in_pairs(job, costs);
}

double most_hidden_share_of_experts(const Job& job, const Plan& plan, const LayerCosts& costs) {
  Plan interleaved = plan;
  interleaved.schedule = Schedule::one_forward_one_backward;
  interleaved.virtual_stages = 2;
  interleaved.recompute = Recompute::none;
  if (!job.assumptions.overlap || !hides_expert_exchanges(job.coefficients.software, interleaved)) return 0;
  return (1 - 1 / static_cast<double>(plan.micro_batches)) * hidden_in_pairs(job, costs);
}

}  // namespace ddl
