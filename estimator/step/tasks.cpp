#include "estimator/step/tasks.hpp"

namespace ddl {

BubbleShares bubble_shares(const Plan& plan, const Assumptions& assumptions) {
  if (assumptions.weight_versions) return {0, 0, 0};
  return order_of(plan.schedule).bubble(plan.mesh[Axis::pipeline], plan.virtual_stages);
}

bool have_equal_layers(const LayerRuns& runs, const LayerRange& a, const LayerRange& b) {
  const LayerRuns::Place begin = runs.place(a.first), other = runs.place(b.first);
  return a.last - a.first == b.last - b.first && begin.run == other.run && begin.offset == other.offset &&
         begin.repeat > 0 && other.repeat > 0 && runs.place(a.last).run == begin.run && runs.place(b.last).run == begin.run;
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

double held_blocks(const ModelFacts& facts, const Plan& plan, const std::vector<int>& firsts, int stage) {
  const auto blocks_of = [&](int each) {
    const auto index = static_cast<std::size_t>(each);
    return blocks_between(facts, firsts[index], firsts[index + 1]);
  };
  const int other = static_cast<int>(firsts.size()) - 2 - stage;
  const bool has_two = order_of(plan.schedule).keeps_two_parts && other != stage;
  return blocks_of(stage) + (has_two ? blocks_of(other) : 0);
}

GradientExchange exchange_of(const LayerCostTable& costs, const Plan& plan, const ExchangedBytes& each,
                             const GradientGroup& group, bool with_startups) {
  const ExchangeTimes& exchanges = costs.exchanges(group.layout);
  if (plan.segments.empty()) return gradient_exchange(plan, exchanges, each, group, with_startups);
  return gradient_exchange(on_mesh(plan, costs.mesh(group.layout)), exchanges, each, group, with_startups);
}

GradientExchange exchange_of(const LayerCostTable& costs, const Plan& plan, const ExchangedBytes& each,
                             const std::vector<GradientGroup>& groups, bool with_startups) {
  GradientExchange all;
  for (const GradientGroup& group : groups) all.add(exchange_of(costs, plan, each, group, with_startups));
  return all;
}

void add_tasks(const StageWork& work, int stage, const Plan& plan, const Assumptions& assumptions, const Learned* origin,
               std::vector<Task>& tasks) {
  const LayerCosts& costs = work.costs;
  const BubbleShares shares = bubble_shares(plan, assumptions);
  const auto add = [&](bool backward, Part part, double launches, const Term& time) {
    if (time.time() != Seconds{} || launches > 0)
      tasks.push_back({stage, backward, part, launches, time, backward ? shares.input_gradient : shares.forward});
  };
  const auto add_kernels = [&](bool backward, double launches, Seconds time, Seconds repeated) {
    add(backward, backward ? Part::backward : Part::forward, launches,
        origin != nullptr ? Term(time, repeated) : Term(time));
  };
  const auto kernels = [&](bool backward, double launches, const LayerCosts& of, LayerTime row) {
    add_kernels(backward, launches, of.times[row], of.slopes[row]);
  };
  const auto add_exchange = [&](bool backward, Part part, Seconds time, Seconds startups) {
    Term term;
    if (origin != nullptr) {
      term.add_exchange(path_coefficients(part == Part::halo ? Purpose::halo : Purpose::layer), time, startups, *origin);
    } else {
      term.add(time);
    }
    add(backward, part, 0, term);
  };
  const auto exchange = [&](bool backward, const LayerCosts& of, LayerTime row) {
    const bool is_halo = row == LayerTime::halo_forward || row == LayerTime::halo_backward;
    add_exchange(backward, is_halo ? Part::halo : Part::layer_collectives, of.times[row], of.slopes[row]);
  };
  // All-to-alls that are overlapped with another micro-batch are separate tasks.
  const auto layer_exchange = [&](bool backward, LayerTime row, LayerTime of_experts) {
    if (work.hidden_of_experts <= 0 || costs.times[of_experts] <= Seconds{}) return exchange(backward, costs, row);
    add_exchange(backward, Part::layer_collectives, costs.times[row] - costs.times[of_experts],
                 costs.slopes[row] - costs.slopes[of_experts]);
    exchange(backward, costs, of_experts);
    tasks.back().exposed_share = 1 - work.hidden_of_experts;
  };
  const auto forward_kernels = [&](bool backward, const LayerCosts& of) {
    kernels(backward, of[LayerCount::forward_kernels] + of[LayerCount::forward_exchanges], of, LayerTime::forward);
  };
  forward_kernels(false, costs);
  layer_exchange(false, LayerTime::exchange_forward, LayerTime::experts_forward);
  exchange(false, costs, LayerTime::halo_forward);
  if (work.again != nullptr) {
    forward_kernels(true, *work.again);
    exchange(true, *work.again, LayerTime::exchange_forward);
    exchange(true, *work.again, LayerTime::halo_forward);
  }
  if (plan.recompute == Recompute::selective) {
    kernels(true, costs[LayerCount::selected_kernels], costs, LayerTime::selected_forward);
    exchange(true, costs, LayerTime::selected_exchange);
  }
  // The gradient of the weights is a separate task if the schedule separates it from the gradient of the input.
  const bool splits = shares.weight_gradient != shares.input_gradient;
  const Seconds of_weights = splits ? costs[LayerTime::weight_gradient] : Seconds{};
  const Seconds slope_of_weights = splits ? costs.slopes[LayerTime::weight_gradient] : Seconds{};
  add_kernels(true, costs[LayerCount::backward_kernels] + costs[LayerCount::backward_exchanges],
              costs[LayerTime::backward] - of_weights, costs.slopes[LayerTime::backward] - slope_of_weights);
  if (splits) {
    add_kernels(true, 0, of_weights, slope_of_weights);
    if (of_weights != Seconds{}) tasks.back().bubble = shares.weight_gradient;
  }
  layer_exchange(true, LayerTime::exchange_backward, LayerTime::experts_backward);
  exchange(true, costs, LayerTime::halo_backward);
}

}  // namespace ddl
