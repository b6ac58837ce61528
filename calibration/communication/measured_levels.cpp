#include "calibration/communication/measured_levels.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/units.hpp"
#include "estimator/exchanges/group.hpp"

namespace ddl {
namespace {

/// What tells most about a link comes first: two ranks alone, then what training does most.
int preference(Collective operation) {
  switch (operation) {
    case Collective::point_to_point:
      return 0;
    case Collective::allreduce:
      return 1;
    case Collective::allgather:
    case Collective::reduce_scatter:
      return 2;
    case Collective::all_to_all:
    case Collective::broadcast:
    case Collective::reduce:
      return 3;
  }
  return 3;
}

/// Of the smallest messages.
const MeasuredNetwork* latency_of(std::span<const MeasuredNetwork> network, NetworkLevel level) {
  const MeasuredNetwork* best = nullptr;
  for (const MeasuredNetwork& each : network) {
    if (each.level != level || !each.alpha) continue;
    const auto key = [](const MeasuredNetwork& one) {
      return std::pair(preference(one.operation), one.min_message.value());
    };
    if (best == nullptr || key(each) < key(*best)) best = &each;
  }
  return best;
}

/// Of the largest.
const MeasuredNetwork* bandwidth_of(std::span<const MeasuredNetwork> network, NetworkLevel level) {
  const MeasuredNetwork* best = nullptr;
  for (const MeasuredNetwork& each : network) {
    if (each.level != level || !each.bandwidth) continue;
    const auto key = [](const MeasuredNetwork& one) {
      return std::pair(preference(one.operation), -one.max_message.value());
    };
    if (best == nullptr || key(each) < key(*best)) best = &each;
  }
  return best;
}

void measure_level(LinkLevel& into, std::span<const MeasuredNetwork> network, NetworkLevel level) {
  if (const MeasuredNetwork* const found = latency_of(network, level)) into.latency = found->alpha->value;
  if (const MeasuredNetwork* const found = bandwidth_of(network, level)) {
    const double at_once = found->shared ? static_cast<double>(found->max_ranks) / found->max_nodes : 1.0;
    into.bandwidth = found->bandwidth->value * (at_once / into.rails);
  }
}

}  // namespace

Machine with_measured_levels(Machine machine, std::span<const MeasuredNetwork> network) {
  std::vector<LinkLevel>& levels = machine.levels;
  if (!levels.empty()) measure_level(levels[0], network, NetworkLevel::node);
  if (levels.size() > 1) measure_level(levels[1], network, NetworkLevel::between_nodes);
  // What is narrow further out stays so, but nothing out there starts sooner than next door.
  for (std::size_t i = 2; i < levels.size(); ++i) levels[i].latency = max(levels[i].latency, levels[1].latency);
  return machine;
}

std::vector<std::string> outside_of_measured(std::span<const MeasuredNetwork> network, const Machine& machine,
                                             const Explanation& explanation) {
  struct Extent {
    double ranks = 0;
    Bytes message{};
  };
  const auto widen = [](Extent& extent, double ranks, Bytes message) {
    extent.ranks = std::max(extent.ranks, ranks);
    extent.message = max(extent.message, message);
  };
  std::vector<std::string> outside;
  for (const NetworkLevel level : {NetworkLevel::node, NetworkLevel::between_nodes}) {
    Extent measured, used;
    for (const MeasuredNetwork& each : network) {
      if (each.level == level) widen(measured, each.max_ranks, each.max_message);
    }
    for (const ExchangeTotal& each : explanation.exchanges) {
      const Group group = group_of(explanation.estimate.plan, machine, each.axes);
      const bool crosses = group.outermost > 0;
      if (each.count > 0 && crosses == (level == NetworkLevel::between_nodes)) {
        widen(used, group.ranks, each.bytes / each.count);
      }
    }
    const std::string_view where = level == NetworkLevel::node ? "inside a node" : "between nodes";
    if (measured.ranks > 0 && used.ranks > measured.ranks) {
      outside.push_back(fmt::format("exchanges {} among {:.0f} ranks rest on measurements of at most {:.0f}", where,
                                    used.ranks, measured.ranks));
    }
    if (measured.ranks > 0 && used.message > measured.message) {
      outside.push_back(fmt::format("exchanges {} of {} rest on measurements of at most {}", where, humanize(used.message),
                                    humanize(measured.message)));
    }
  }
  return outside;
}

}  // namespace ddl
