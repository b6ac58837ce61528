#pragma once

#include "estimator/inputs/assumptions.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

/// Returns for whom the data-parallel workers of a plan wait. `sync` if the plan has only one worker.
[[nodiscard]] Synchronization synchronization_of(const Plan& plan, const Assumptions& assumptions);
/// Returns whether workers push gradients to parameter servers, and pull weights, without a barrier of all workers.
[[nodiscard]] constexpr bool has_servers(Synchronization way) {
  return way == Synchronization::stale || way == Synchronization::async;
}
/// Returns whether workers average their weights with their neighbors.
[[nodiscard]] constexpr bool has_neighbors(Synchronization way) {
  return way == Synchronization::gossip || way == Synchronization::async_gossip;
}
/// Returns whether a worker never waits for another one, so that a slow worker slows only itself.
[[nodiscard]] constexpr bool is_lone(Synchronization way) {
  return way == Synchronization::async || way == Synchronization::async_gossip;
}

/// Returns the time in which `workers` workers together compute `workers` batches, if no worker waits, and one worker takes
/// `slow` and all others `usual` for a batch: P / ((P − 1)/t + 1/t'), from the sum of the workers' rates. `T` is a number
/// type that may carry derivatives.
template <class T>
[[nodiscard]] T lone_workers_step(double workers, const T& usual, const T& slow) {
  return usual * slow * workers / (slow * (workers - 1) + usual);
}

/// Returns the mean number of updates of other workers between a worker's reading of weights and its own update. If workers
/// do not wait, each of the other P − 1 workers updates as often as the worker reads, on average over all updates [Dutta et
/// al., "Slow and stale gradients can win the race", AISTATS 2018]. Zero with a barrier. With `stale`, an upper bound.
[[nodiscard]] double mean_staleness(const Plan& plan, const Assumptions& assumptions);

}  // namespace ddl
