#include "calibration/network/fits/fitted_links.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "core/statistics.hpp"
#include "core/units.hpp"
#include "estimator/exchanges/group.hpp"
#include "estimator/exchanges/lone_exchange.hpp"

namespace ddl {
namespace {

/// The maximum factor by which fitted links may exceed the datasheet. It is above 1, because
/// datasheets give attainable values.
constexpr double slack = 1.1;
/// Only messages of at least this size determine a bandwidth. Only smaller messages determine a start-up.
constexpr Bytes least_of_bandwidth = Bytes(1 << 20);

/// Inverts an increasing function: returns the argument in [low, high] at which it has a given
/// value, or the nearer end if there is none. `low` and `high` must be above zero.
template <class Function>
double where(double value, double low, double high, Function&& function) {
  constexpr int halvings = 20;  // number of halvings of a logarithm, for a precision of one in a thousand
  for (int i = 0; i < halvings; ++i) {
    const double middle = std::sqrt(low) * std::sqrt(high);
    (function(middle) < value ? low : high) = middle;
  }
  return std::sqrt(low) * std::sqrt(high);
}

struct FittedLink {
  std::optional<double> alpha, bandwidth;  ///< α in seconds, and the bandwidth of one rail in bytes/s
  double rails = 1;                        ///< number of rails used at once
  bool capped = false;
};

/// Fits the link to messages between two ranks.
FittedLink link_of_pair(const MeasuredCurve& curve, const LinkLevel& sheet, bool inside) {
  FittedLink link;
  if (curve.window == 1 && !curve.both_ways && curve.points.front().message < least_of_bandwidth) {
    link.alpha = curve.points.front().time.value();
  }
  const MeasuredCurve::Point& last = curve.points.back();
  if (last.message < least_of_bandwidth) return link;
  const double startup = link.alpha.value_or(0.0);
  const double per_byte = (last.time.value() - std::min(startup, 0.9 * last.time.value())) / last.message.value();
  // A message inside a node is striped over all links of a device. A message between nodes uses one rail.
  const double rail = 1 / per_byte / (inside ? sheet.rails : 1.0);
  link.capped = rail > slack * sheet.bandwidth.value();
  link.bandwidth = std::min(rail, slack * sheet.bandwidth.value());
  return link;
}

/// Fits the link to a collective, by inverting the formulas that predict it.
FittedLink link_of_collective(const MeasuredCurve& curve, const Machine& machine, std::size_t level) {
  const LinkLevel& sheet = machine.levels[level];
  const Coefficients none;
  LoneExchange alone(machine, none, curve.ranks, curve.nodes);
  const auto time_with = [&](Seconds startup, Bandwidth rail, Bytes message) {
    alone.machine().levels[level].latency = startup;
    alone.machine().levels[level].bandwidth = rail;
    return alone.predict(curve.operation, message).time;
  };
  FittedLink link;
  link.rails = alone.machine().levels[level].rails;
  const Bandwidth fastest = sheet.bandwidth * slack;
  const MeasuredCurve::Point &first = curve.points.front(), &last = curve.points.back();
  double alpha = sheet.latency.value();
  double bandwidth = sheet.bandwidth.value();
  constexpr int rounds = 2;
  for (int round = 0; round < rounds; ++round) {
    if (last.message >= least_of_bandwidth) {
      const double per_byte = where(last.time.value(), 1 / fastest.value(), 1e6 / fastest.value(), [&](double beta) {
        return time_with(Seconds(alpha), Bandwidth(1 / beta), last.message).value();
      });
      bandwidth = 1 / per_byte;
      link.bandwidth = bandwidth;
    }
    if (first.message < least_of_bandwidth) {
      constexpr double shortest = 1e-9, longest = 1;
      alpha = where(first.time.value(), shortest, longest, [&](double startup) {
        return time_with(Seconds(startup), Bandwidth(bandwidth), first.message).value();
      });
      link.alpha = alpha;
    }
  }
  if (link.bandwidth) {
    constexpr double tolerance = 1.02;
    link.capped = time_with(Seconds(alpha), fastest, last.message) > last.time * tolerance;
  }
  return link;
}

void fit_level(Machine& machine, const MeasuredExchanges& measured, std::size_t level, std::vector<std::string>& notes) {
  const bool inside = level == 0;
  const LinkLevel sheet = machine.levels[level];
  std::vector<double> alphas, bandwidths, pair_alphas, pair_bandwidths;
  double most_rails = 0;
  const MeasuredCurve* capped = nullptr;
  for (const MeasuredCurve& curve : measured.curves()) {
    if ((curve.nodes == 1) != inside || curve.ranks % curve.nodes != 0) continue;
    const bool pair = curve.operation == Collective::point_to_point;
    const FittedLink link = pair ? link_of_pair(curve, sheet, inside) : link_of_collective(curve, machine, level);
    if (link.alpha) (pair ? pair_alphas : alphas).push_back(*link.alpha);
    if (link.bandwidth && !pair && link.rails > most_rails) {
      // Collectives of fewer ranks per node use fewer rails, and do not determine the total bandwidth.
      bandwidths.clear();
      most_rails = link.rails;
    }
    if (link.bandwidth && (pair || link.rails == most_rails))
      (pair ? pair_bandwidths : bandwidths).push_back(*link.bandwidth);
    if (link.capped && capped == nullptr) capped = &curve;
  }
  // Times of collectives are preferred, because links are used to predict collectives. If no
  // collective was measured, messages between two ranks are used.
  if (alphas.empty()) alphas = std::move(pair_alphas);
  if (bandwidths.empty()) bandwidths = std::move(pair_bandwidths);
  if (!alphas.empty()) machine.levels[level].latency = Seconds(median(alphas));
  if (!bandwidths.empty()) machine.levels[level].bandwidth = Bandwidth(median(bandwidths));
  if (capped != nullptr) {
    const double rails = capped->operation == Collective::point_to_point && !inside ? 1 : sheet.rails;
    notes.push_back(
        fmt::format("{} among {} ranks on {} node{} was faster than the formulas allow with {:.3g} rail{} of {}: unmeasured "
                    "collectives are predicted with at most {} per rail",
                    to_string(capped->operation), capped->ranks, capped->nodes, capped->nodes == 1 ? "" : "s", rails,
                    rails == 1 ? "" : "s", humanize(sheet.bandwidth), humanize(sheet.bandwidth * slack)));
  }
}

}  // namespace

Machine with_fitted_links(Machine machine, const MeasuredExchanges& measured, std::vector<std::string>& notes) {
  std::vector<LinkLevel>& levels = machine.levels;
  for (std::size_t level = 0; level < std::min<std::size_t>(2, levels.size()); ++level) {
    fit_level(machine, measured, level, notes);
  }
  // Levels outside the second one keep their bandwidth. Their α must be at least that of inner levels.
  for (std::size_t i = 2; i < levels.size(); ++i) levels[i].latency = max(levels[i].latency, levels[1].latency);
  return machine;
}

std::string assumed_between_nodes(const MeasuredExchanges& measured, const std::vector<MeasuredContention>& contention,
                                  const Machine& machine) {
  if (machine.levels.size() < 2) return {};
  const bool holds_several = machine.devices_per_node() > 1;
  bool is_measured = false;
  for (const MeasuredCurve& curve : measured.curves()) {
    if (curve.nodes < 2) continue;
    is_measured = true;
    const bool is_collective = curve.operation != Collective::point_to_point;
    if (is_collective && (curve.ranks > curve.nodes || !holds_several)) return {};
  }
  if (!is_measured) return {};
  const double rails = machine.levels[1].rails;
  const bool together = rails <= 1 || std::any_of(contention.begin(), contention.end(),
                                                  [](const MeasuredContention& one) { return one.groups > 1; });
  return fmt::format(
      "no collective{} between nodes was measured: predictions assume an algorithm{}; measure {}allreduce, allgather "
      "and reduce_scatter among all ranks",
      holds_several ? " of several ranks per node" : "",
      together ? "" : fmt::format(", and that {:.3g} rails together carry {:.3g} times as much as one", rails, rails),
      together ? "" : "contention, ");
}

std::vector<std::string> outside_of_measured(const Coefficients& coefficients, const Machine& machine,
                                             const Explanation& explanation) {
  const MeasuredExchanges& measured = coefficients.exchanges;
  std::vector<std::string> outside;
  const auto say = [&](std::string sentence) {
    if (std::find(outside.begin(), outside.end(), sentence) == outside.end()) outside.push_back(std::move(sentence));
  };
  for (const ExchangeTotal& each : explanation.exchanges) {
    if (each.count <= 0 || each.operation == Collective::point_to_point) continue;
    const Group group = group_of(explanation.estimate.plan, machine, each.axes);
    const double nodes = group.outermost == 0 ? 1 : group.nodes();
    const Bytes message = each.bytes / each.count;
    const auto prediction = measured.predict(each.operation, message, group.ranks, nodes);
    if (!prediction && nodes > 1) {
      if (std::string assumed = assumed_between_nodes(measured, coefficients.contention, machine); !assumed.empty()) {
        say(std::move(assumed));
      }
    }
    if (!prediction) continue;
    const MeasuredCurve& nearest = *prediction->curves.front();
    if (prediction->beyond_counts) {
      say(fmt::format("{} among {:.0f} ranks on {:.0f} node{} is based on a measurement of {} ranks on {}",
                      to_string(each.operation), group.ranks, nodes, nodes == 1 ? "" : "s", nearest.ranks, nearest.nodes));
    }
    if (prediction->beyond_sizes && !nearest.ends_by_bytes()) {
      say(fmt::format("{} of {} is based on measurements of {} to {}", to_string(each.operation), humanize(message),
                      humanize(nearest.points.front().message), humanize(nearest.points.back().message)));
    }
  }
  return outside;
}

}  // namespace ddl
