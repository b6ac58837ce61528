#include "calibration/network/fits/exchange_prediction.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "calibration/network/fits/fitted_links.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "estimator/exchanges/lone_exchange.hpp"

namespace ddl {
namespace {

/// Bytes on a rank's link per byte of the vector (nccl-tests, doc/PERFORMANCE.md).
double bus_factor(Collective operation, double ranks) {
  switch (operation) {
    case Collective::allreduce:
      return 2 * (ranks - 1) / ranks;
    case Collective::allgather:
    case Collective::reduce_scatter:
    case Collective::all_to_all:
      return (ranks - 1) / ranks;
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::point_to_point:
      return 1;
  }
  return 1;
}

/// The 95th percentile of the error of predictions by links, as a factor, over the measurements of a level.
std::optional<double> miss_of_links(const Machine& machine, const MeasuredExchanges& measured, bool inside) {
  const Coefficients none;
  std::vector<double> misses;
  for (const MeasuredCurve& curve : measured.curves()) {
    if ((curve.nodes == 1) != inside || curve.operation == Collective::point_to_point || curve.ranks % curve.nodes != 0)
      continue;
    const LoneExchange alone(machine, none, curve.ranks, curve.nodes);
    for (const MeasuredCurve::Point& point : curve.points) {
      misses.push_back(std::abs(std::log(alone.predict(curve.operation, point.message).time / point.time)));
    }
  }
  if (misses.empty()) return std::nullopt;
  const auto at = misses.begin() + static_cast<std::ptrdiff_t>(0.95 * static_cast<double>(misses.size() - 1));
  std::nth_element(misses.begin(), at, misses.end());
  return std::exp(*at);
}

bool has_curve_on(const MeasuredExchanges& measured, bool inside) {
  return std::any_of(measured.curves().begin(), measured.curves().end(),
                     [&](const MeasuredCurve& curve) { return (curve.nodes == 1) == inside; });
}

/// The library's algorithm in the measurements on which a prediction is based; empty if the measurements do not name one
/// algorithm.
std::string algorithm_of(const MeasuredExchanges::Prediction& prediction, Bytes message) {
  std::string ran = prediction.curves.front()->algorithm_at(message);
  for (const MeasuredCurve* curve : prediction.curves) {
    if (curve->algorithm_at(message) != ran) return {};
  }
  return ran;
}

std::string beyond(Collective operation, const MeasuredExchanges::Prediction& prediction) {
  const MeasuredCurve& nearest = *prediction.curves.front();
  std::string text;
  if (prediction.measured != operation) {
    text = fmt::format("{} was measured, and {}", to_string(prediction.measured),
                       operation == Collective::allreduce ? "an allreduce takes as long as two of them" : "takes as long");
  }
  if (prediction.beyond_counts) {
    if (!text.empty()) text += "; ";
    text += fmt::format("based on a measurement of {} ranks on {} node{}", nearest.ranks, nearest.nodes,
                        nearest.nodes == 1 ? "" : "s");
  }
  if (prediction.beyond_sizes) {
    text += fmt::format("{}measured from {} to {}", text.empty() ? "" : "; ", humanize(nearest.points.front().message),
                        humanize(nearest.points.back().message));
  }
  return text;
}

/// Whether training runs changed the factors on α or β of gradient exchanges of data parallelism, as predict() uses them.
bool has_fitted_factors(const Coefficients& coefficients) {
  const Learned learned = learned_of(coefficients.learned, family_bit(Axis::data));
  return learned[Coefficient::gradient_alpha] != 1 || learned[Coefficient::gradient_beta] != 1;
}

/// The factor between the software of a user's cluster and the software of a published cluster (assumed). On Alps, 95 % of
/// the Allreduces of 1 KiB and more differ by less between two versions of a plug-in (boeschf/nccl-benchmark-on-alps-2025,
/// aws-ofi-nccl 1.9.2 and 1.13.0; 92 pairs of medians).
constexpr double other_stack = 1.27;
/// The interval of times from datasheets contains 95 % of the measured Allreduces of 1 KiB to 1 GiB, on nodes of A100, H100
/// and B200 and between nodes of Alps and Polaris. The machines are described without a fabric and with 14 us of latency
/// between nodes. There are 60 to 188 times of each machine, and each machine has the same weight.
constexpr double sheet_shorter = 1.4, sheet_longer = 4.7;

/// Adds an independent error, as a factor, to both ends of an interval.
void widen(PredictedExchange& predicted, double by) {
  if (!predicted.low || !predicted.high) return;
  const auto wider = [&](double factor) { return std::exp(std::hypot(std::log(std::max(1.0, factor)), std::log(by))); };
  predicted.low = predicted.time / wider(predicted.time / *predicted.low);
  predicted.high = predicted.time * wider(*predicted.high / predicted.time);
}

}  // namespace

std::string prescribed_exchanges(const Software& software, const Machine& machine, bool leaves_node) {
  std::string text;
  if (software.gradient_algorithm) text = fmt::format("by the algorithm {}", to_string(*software.gradient_algorithm));
  if (leaves_node && machine.host && software.gradient_route == Route::host)
    text += text.empty() ? "through the host" : ", through the host";
  return text;
}

ExchangePredictor::ExchangePredictor(Machine sheet, Coefficients coefficients, MeasuredOn measured_on)
    : machine_(with_fitted_links(std::move(sheet), coefficients.exchanges, notes_)),
      coefficients_(std::move(coefficients)),
      measured_on_(measured_on) {
  links_miss_ = {miss_of_links(machine_, coefficients_.exchanges, true),
                 miss_of_links(machine_, coefficients_.exchanges, false)};
}

PredictedExchange ExchangePredictor::predict(Collective operation, Bytes message, int ranks, int nodes) const {
  if (ranks < 2 || nodes < 1 || ranks % nodes != 0) {
    throw Error(fmt::format("{} ranks on {} node{}: each node must have the same number of ranks, at least two in total",
                            ranks, nodes, nodes == 1 ? "" : "s"));
  }
  if (ranks / nodes > machine_.devices_per_node()) {
    throw Error(fmt::format("{} ranks on {} node{}: {} has {} devices per node", ranks, nodes, nodes == 1 ? "" : "s",
                            machine_.name, machine_.devices_per_node()));
  }
  if (nodes > 1 && machine_.levels.size() < 2) {
    throw Error(fmt::format("{} has no network between nodes", machine_.name), "use ranks of one node");
  }
  const LoneExchange alone(machine_, coefficients_, ranks, nodes);
  const ExchangeTimes::Predicted exchange = alone.predict(operation, message);
  PredictedExchange predicted{.operation = operation,
                              .ranks = ranks,
                              .nodes = nodes,
                              .message = message,
                              .time = exchange.time,
                              .bus_bandwidth = message * bus_factor(operation, ranks) / exchange.time,
                              .algorithm = std::string(exchange.algorithm)};
  const bool inside = nodes == 1;
  if (const auto prediction = exchange.algorithm == measured_exchange
                                  ? coefficients_.exchanges.predict(operation, message, ranks, nodes)
                                  : std::nullopt) {
    const std::string ran = prediction->beyond_counts ? "" : algorithm_of(*prediction, message);
    if (!ran.empty()) predicted.algorithm = ran;
    predicted.low = prediction->low * std::min(1.0, exchange.time / prediction->time);
    predicted.high = prediction->high * std::max(1.0, exchange.time / prediction->time);
    const bool same = prediction->curves.size() == 1 && !prediction->beyond_counts;
    predicted.basis = prediction->beyond_counts || prediction->beyond_sizes ? ExchangeBasis::extrapolated
                      : !same                                               ? ExchangeBasis::interpolated
                      : has_fitted_factors(coefficients_)                   ? ExchangeBasis::scaled
                                                                            : ExchangeBasis::measured;
    predicted.warning = beyond(operation, *prediction);
    if (measured_on_ == MeasuredOn::published_cluster) widen(predicted, other_stack);
  } else if (has_curve_on(coefficients_.exchanges, inside)) {
    predicted.basis = ExchangeBasis::fitted_links;
    if (const auto& miss = links_miss_[inside ? 0 : 1]) {
      predicted.low = predicted.time / *miss;
      predicted.high = predicted.time * *miss;
    }
    const std::string prescribed = prescribed_exchanges(coefficients_.software, machine_, !inside);
    const bool is_unused = operation != Collective::point_to_point && !prescribed.empty() &&
                           coefficients_.exchanges.time(operation, message, ranks, nodes).has_value();
    predicted.warning =
        is_unused ? fmt::format("measured times are not used, because the software of the coefficients reduces gradients {}",
                                prescribed)
                  : fmt::format("{} was not measured among {} rank{} per node", to_string(operation), ranks / nodes,
                                ranks == nodes ? "" : "s");
    if (const std::string assumed = assumed_between_nodes(coefficients_.exchanges, coefficients_.contention, machine_);
        !inside && !assumed.empty()) {
      predicted.warning += "; " + assumed;
    }
  } else if (const auto& library = machine_.levels[inside ? 0 : 1].library;
             library && operation != Collective::point_to_point) {
    predicted.basis = ExchangeBasis::other_clusters;
    const double doubt = library->doubt;
    predicted.low = predicted.time / doubt;
    predicted.high = predicted.time * doubt;
  } else if (operation != Collective::point_to_point) {
    predicted.low = predicted.time / sheet_shorter;
    predicted.high = predicted.time * sheet_longer;
  }
  if (ranks > machine_.devices()) {
    if (!predicted.warning.empty()) predicted.warning += "; ";
    predicted.warning += fmt::format("{} has {} devices", machine_.name, machine_.devices());
  }
  return predicted;
}

std::vector<PredictedExchange> ExchangePredictor::by_algorithm(Collective operation, Bytes message, int ranks, int nodes,
                                                               std::span<const std::string_view> wanted) const {
  const PredictedExchange usual = predict(operation, message, ranks, nodes);
  const LoneExchange alone(machine_, coefficients_, ranks, nodes);
  std::vector<PredictedExchange> found;
  const auto add = [&](std::string_view name, Seconds time) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), name) == wanted.end()) return;
    found.push_back({.operation = operation,
                     .ranks = ranks,
                     .nodes = nodes,
                     .message = message,
                     .time = time,
                     .bus_bandwidth = message * bus_factor(operation, ranks) / time,
                     .algorithm = std::string(name),
                     .basis = has_curve_on(coefficients_.exchanges, nodes == 1) ? ExchangeBasis::fitted_links
                              : usual.basis == ExchangeBasis::other_clusters    ? ExchangeBasis::other_clusters
                                                                                : ExchangeBasis::data_sheet});
  };
  if (operation == Collective::allreduce) {
    for (const AllreduceAlgorithm each : enum_values<AllreduceAlgorithm>) {
      add(to_string(each), alone.allreduce_time(each, message));
      // This algorithm may be faster than the bound of those that send the whole vector.
      if (each == AllreduceAlgorithm::sparse && !found.empty() && found.back().algorithm == to_string(each))
        found.back().algorithm += fmt::format(", {:.3g} % of the vector", Assumptions{}.sparse_density * 100);
    }
    add(lower_bound_name, alone.allreduce_bound(message));
  } else {
    // A linear Allreduce is a linear reduce and a linear broadcast of equal time; the same holds for a tree.
    for (const AllreduceAlgorithm each : {AllreduceAlgorithm::linear, AllreduceAlgorithm::tree})
      add(to_string(each), alone.allreduce_time(each, message) / 2.0);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const PredictedExchange& a, const PredictedExchange& b) { return a.time < b.time; });
  return found;
}

}  // namespace ddl
