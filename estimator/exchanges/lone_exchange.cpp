#include "estimator/exchanges/lone_exchange.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "estimator/exchanges/collectives/times.hpp"

namespace ddl {

LoneExchange::LoneExchange(Machine machine, const Coefficients& coefficients, int ranks, int nodes)
    : machine_(std::move(machine)), coefficients_(coefficients), ranks_(ranks), nodes_(nodes) {
  assert(nodes > 0 && ranks % nodes == 0);
  const int ranks_per_node = ranks / nodes;
  plan_.mesh.set(Axis::data, ranks);
  plan_.global_batch = ranks;
  if (machine_.levels.empty()) return;
  double held = 1;
  for (std::size_t level = 1; level < machine_.levels.size(); ++level) held *= machine_.levels[level].units;
  if (machine_.levels[0].units == ranks_per_node && held >= nodes) return;
  if (nodes > 1 && machine_.levels.size() > 1) {
    // Each rank uses the rails next to its device. Rails next to devices without a rank are idle.
    double& rails = machine_.levels[1].rails;
    rails = std::min(rails, std::max(1.0, rails / machine_.levels[0].units) * ranks_per_node);
  }
  machine_.levels[0].units = ranks_per_node;
  machine_.network = nullptr;
  // The machine gets as many nodes as the caller requested, even if its datasheet has fewer.
  while (held < nodes && machine_.levels.size() > 1) {
    machine_.levels.back().units *= 2;
    held *= 2;
  }
}

Seconds LoneExchange::allreduce_time(AllreduceAlgorithm algorithm, Bytes message) const {
  Assumptions fixed = assumptions_;
  fixed.allreduce = algorithm;
  const ExchangeTimes times(plan_, machine_, coefficients_, fixed);
  return times.fastest(Collective::allreduce, message, family_bit(Axis::data), Purpose::gradient).time;
}

Seconds LoneExchange::allreduce_bound(Bytes message) const {
  if (machine_.levels.empty()) return {};
  const LinkLevel& inside = machine_.levels.front();
  Link start{.alpha = inside.latency};
  const auto through = [&](double units, const LinkLevel& level) {
    start.beta = SecondsPerByte(1.0 / (level.bandwidth.value() * level.rails));
    return allreduce_lower_bound(message, units, start);
  };
  if (nodes_ == 1) return through(ranks_, inside);
  // Each doubling of the nodes counts one start-up between nodes. The other doublings count start-ups inside a node.
  const Seconds inner = inside.latency * std::ceil(std::log2(static_cast<double>(ranks_) / nodes_));
  start.alpha = machine_.levels[1].latency;
  const Seconds between = through(nodes_, machine_.levels[1]) + inner;
  start.alpha = Seconds{};
  return ranks_ == nodes_ ? between : max(between, through(static_cast<double>(ranks_) / nodes_, inside));
}

ExchangeTimes::Predicted LoneExchange::predict(Collective operation, Bytes message) const {
  const ExchangeTimes times(plan_, machine_, coefficients_, assumptions_);
  const Purpose purpose = operation == Collective::point_to_point ? Purpose::pipeline : Purpose::gradient;
  return times.fastest(operation, message, family_bit(Axis::data), purpose);
}

}  // namespace ddl
