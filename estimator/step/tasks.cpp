#include "estimator/step/tasks.hpp"

namespace ddl {

BubbleShares bubble_shares(const Plan& plan) {
  return order_of(plan.schedule).bubble(plan.mesh[Axis::pipeline], plan.virtual_stages);
}

LayerCosts held_costs(const LayerCostTable& costs, const Plan& plan, const std::vector<int>& firsts, int stage) {
  const auto of = [&](int each) {
    const auto index = static_cast<std::size_t>(each);
    return costs.between(firsts[index], firsts[index + 1]);
  };
  LayerCosts held = of(stage);
  const int other = static_cast<int>(firsts.size()) - 2 - stage;
  if (order_of(plan.schedule).keeps_two_parts && other != stage) held.add(of(other), 1.0);
  return held;
}

void add_tasks(const LayerCosts& costs, const LayerCosts* again, int stage, const Plan& plan, const Learned* origin,
               std::vector<Task>& tasks) {
  const BubbleShares shares = bubble_shares(plan);
  const LayerCosts::Slopes& slopes = costs.slopes;
  const auto add = [&](bool backward, Part part, double starts, const Term& time) {
    if (time.time() != Seconds{} || starts > 0)
      tasks.push_back({stage, backward, part, starts, time, backward ? shares.input_gradient : shares.forward});
  };
  const auto kernels = [&](bool backward, double starts, Seconds time, Seconds repeated) {
    add(backward, backward ? Part::backward : Part::forward, starts, origin != nullptr ? Term(time, repeated) : Term(time));
  };
  const auto exchange = [&](bool backward, Part part, Purpose purpose, Seconds time, Seconds startups) {
    Term term;
    if (origin != nullptr) {
      term.add_exchange(path_coefficients(purpose), time, startups, *origin);
    } else {
      term.add(time);
    }
    add(backward, part, 0, term);
  };
  const auto forward = [&](bool backward, const LayerCosts& of) {
    kernels(backward, of.forward_kernels + of.forward_exchanges, of.forward, of.slopes.repeated_forward);
    exchange(backward, Part::layer_collectives, Purpose::layer, of.exchange_forward, of.slopes.exchange_forward);
    exchange(backward, Part::halo, Purpose::halo, of.halo_forward, of.slopes.halo_forward);
  };
  forward(false, costs);
  if (again != nullptr) forward(true, *again);
  if (plan.recompute == Recompute::selective) {
    kernels(true, costs.selected_kernels, costs.selected_forward, slopes.repeated_selected);
    exchange(true, Part::layer_collectives, Purpose::layer, costs.selected_exchange, slopes.exchange_selected);
  }
  // Of the two gradients, that of the weights is a task of its own where it is scheduled as such.
  const bool splits = shares.weight_gradient != shares.input_gradient;
  const Seconds of_weights = splits ? costs.weight_gradient : Seconds{};
  const Seconds slope_of_weights = splits ? slopes.repeated_weight_gradient : Seconds{};
  kernels(true, costs.backward_kernels + costs.backward_exchanges, costs.backward - of_weights,
          slopes.repeated_backward - slope_of_weights);
  if (splits) {
    kernels(true, 0, of_weights, slope_of_weights);
    if (of_weights != Seconds{}) tasks.back().bubble = shares.weight_gradient;
  }
  exchange(true, Part::layer_collectives, Purpose::layer, costs.exchange_backward, slopes.exchange_backward);
  exchange(true, Part::halo, Purpose::halo, costs.halo_backward, slopes.halo_backward);
}

}  // namespace ddl
