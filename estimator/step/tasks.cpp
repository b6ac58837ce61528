#include "estimator/step/tasks.hpp"

namespace ddl {

bool runs_again(const Plan& plan, const Operation& operation) {
  return plan.recompute == Recompute::full || (plan.recompute == Recompute::selective && operation.is_attention());
}

void add_tasks(const LayerCosts& costs, int stage, Recompute recompute, const Learned* origin, std::vector<Task>& tasks) {
  const LayerCosts::Slopes& slopes = costs.slopes;
  const auto add = [&](bool backward, Part part, double starts, const Term& time) {
    if (time.time() != Seconds{} || starts > 0) tasks.push_back({stage, backward, part, starts, time});
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
  const auto forward = [&](bool again) {
    kernels(again, costs.forward_kernels + costs.forward_exchanges, costs.forward, slopes.repeated_forward);
    exchange(again, Part::layer_collectives, Purpose::layer, costs.exchange_forward, slopes.exchange_forward);
    exchange(again, Part::halo, Purpose::halo, costs.halo_forward, slopes.halo_forward);
  };
  forward(false);
  if (recompute == Recompute::full) forward(true);
  if (recompute == Recompute::selective) {
    kernels(true, costs.attention_kernels, costs.attention_forward, slopes.repeated_attention);
    exchange(true, Part::layer_collectives, Purpose::layer, costs.attention_exchange, slopes.exchange_attention);
  }
  kernels(true, costs.backward_kernels + costs.backward_exchanges, costs.backward, slopes.repeated_backward);
  exchange(true, Part::layer_collectives, Purpose::layer, costs.exchange_backward, slopes.exchange_backward);
  exchange(true, Part::halo, Purpose::halo, costs.halo_backward, slopes.halo_backward);
}

}  // namespace ddl
