#include "estimator/inputs/measured_exchanges.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/statistics.hpp"

namespace ddl {
namespace {

/// Possible error of a prediction for a count of nodes that was not measured, as a logarithm, in
/// addition to the difference of ring and tree. 95 % of the held-out counts of published nccl-tests
/// sweeps have smaller errors (docs/calibration.md, "How good it is").
constexpr double count_doubt = 0.1;
/// Additional possible error for each doubling of nodes beyond the measured counts, as a logarithm.
constexpr double doubling_doubt = 0.15;
/// The time of the largest message is limited by bandwidth if its bytes take at least this share of the time.
constexpr double deciding_share = 0.9;
/// Noise of one measurement that was not repeated, as a geometric standard deviation.
constexpr double single_spread = 1.03;
/// If bandwidth limits the time of the largest messages, measured times are extrapolated up to this
/// multiple of the largest size.
constexpr double size_reach = 4;
/// If the second largest count predicts the time of the largest count with a larger error (as a factor), growth between
/// counts is not extrapolated.
constexpr double growth_doubt = 1.3;
/// A 95 % interval reaches this many standard deviations to each side.
constexpr double reach_95 = 1.96;

/// The number of ranks and the number of nodes of an exchange.
struct Count {
  double ranks = 2;
  double nodes = 1;
  /// Returns the number of nodes or, inside a single node, of ranks. The logarithm of this number
  /// is the depth of a tree. Curves are ordered by this number.
  [[nodiscard]] double places() const { return nodes > 1 ? nodes : ranks; }
};

Count count_of(const MeasuredCurve& curve) { return {static_cast<double>(curve.ranks), static_cast<double>(curve.nodes)}; }

/// Returns whether two counts have equally many ranks per node. All counts inside a single node are treated as equal.
bool same_shape(Count a, Count b) {
  if (a.nodes <= 1 || b.nodes <= 1) return a.nodes <= 1 && b.nodes <= 1;
  return std::abs(a.ranks * b.nodes - b.ranks * a.nodes) < 1e-6 * a.ranks * b.nodes;
}

/// Returns whether libraries may run this operation as a tree. They may if the whole vector passes each rank, or if the
/// operation has a root.
bool has_tree(Collective operation) {
  return operation == Collective::allreduce || operation == Collective::broadcast || operation == Collective::reduce;
}

/// Returns the number of rounds of a ring, or the number of messages of a pairwise exchange.
double steps_of(Collective operation, Count count) {
  switch (operation) {
    case Collective::allreduce:
      return 2 * (count.ranks - 1);
    case Collective::allgather:
    case Collective::reduce_scatter:
    case Collective::all_to_all:
      return count.ranks - 1;
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::point_to_point:
      return 1;
  }
  return 1;
}

/// Returns the share of the vector that one round moves. In an all-to-all, a round between nodes
/// moves less than a round inside one node.
double step_share(Collective operation, Count count) {
  switch (operation) {
    case Collective::allreduce:
    case Collective::allgather:
    case Collective::reduce_scatter:
      return 1 / count.ranks;
    case Collective::all_to_all:
      return count.nodes > 1 ? (count.nodes - 1) / (count.nodes * (count.ranks - 1)) : 1 / count.ranks;
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::point_to_point:
      return 1;
  }
  return 1;
}

/// Returns the time of a message between two measured sizes, as a start-up time plus a time per byte.
Seconds on_line(const MeasuredCurve::Point& fewer, const MeasuredCurve::Point& more, Bytes message) {
  return fewer.time + (more.time - fewer.time) * ((message - fewer.message) / (more.message - fewer.message));
}

/// Returns the time that a curve predicts for a count other than the measured one, if the algorithm is a ring.
Seconds as_ring(const MeasuredCurve& curve, Bytes message, Count asked) {
  const Count measured = count_of(curve);
  const Bytes like = message * (step_share(curve.operation, asked) / step_share(curve.operation, measured));
  return curve.at(like) * (steps_of(curve.operation, asked) / steps_of(curve.operation, measured));
}
std::optional<Collective> like(Collective operation) {
  if (operation == Collective::reduce_scatter) return Collective::allgather;
  if (operation == Collective::allgather) return Collective::reduce_scatter;
  return std::nullopt;
}

/// How often an operation contains the measured operation: an Allreduce is a Reduce-scatter and an Allgather.
double times_of(Collective operation, const MeasuredCurve& curve) {
  return operation == Collective::allreduce && curve.operation != Collective::allreduce ? 2 : 1;
}

/// Returns the least time per byte of a curve. Between two sizes, the time per byte lies between the values at these sizes.
/// Below the smallest size, the time per byte grows. Above the largest size, it approaches the curve's last slope.
double least_per_byte_of(const MeasuredCurve& curve) {
  double least = curve.last_slope().value();
  for (const MeasuredCurve::Point& point : curve.points) least = std::min(least, (point.time / point.message).value());
  return least;
}

/// Returns a lower bound of the time per byte for another count of nodes. A ring scales the bound
/// with its number of rounds. A tree does not lower the bound.
SecondsPerByte bound_for(const MeasuredCurve& curve, double least, Count asked) {
  const Count measured = count_of(curve);
  const double ring = steps_of(curve.operation, asked) * step_share(curve.operation, asked) /
                      (steps_of(curve.operation, measured) * step_share(curve.operation, measured));
  return SecondsPerByte(least * std::min(1.0, ring));
}

}  // namespace

SecondsPerByte MeasuredCurve::last_slope() const {
  const Point& last = points.back();
  const SecondsPerByte mean = last.time / last.message;
  if (points.size() < 2) return mean;
  const Point& before = points[points.size() - 2];
  const SecondsPerByte slope = (last.time - before.time) / (last.message - before.message);
  // Noise or a change of protocol may make the time of the largest message shorter than the time of the message before.
  return slope > mean * 0.1 && slope < mean ? slope : mean;
}

Seconds MeasuredCurve::at(Bytes message) const {
  const auto after =
      std::lower_bound(points.begin(), points.end(), message, [](const Point& p, Bytes size) { return p.message < size; });
  if (after == points.begin()) return points.front().time;
  if (after == points.end()) return points.back().time + (message - points.back().message) * last_slope();
  if (after->message == message) return after->time;
  return on_line(*(after - 1), *after, message);
}

bool MeasuredCurve::ends_by_bytes() const {
  if (points.size() < 2) return true;
  const Point &last = points.back(), &before = points[points.size() - 2];
  return (last.time - before.time) * (last.message / (last.message - before.message)) >= last.time * deciding_share;
}

MeasuredCurve::SizeDoubt MeasuredCurve::size_doubt(Bytes message) const {
  const auto after =
      std::lower_bound(points.begin(), points.end(), message, [](const Point& p, Bytes size) { return p.message < size; });
  if (after == points.begin() || after == points.end() || after->message == message) return {};
  double bend = 0;
  for (auto end = after - 1; end != after + 1; ++end) {
    if (end == points.begin() || end + 1 == points.end()) continue;
    bend = std::max(bend, std::abs(std::log(on_line(*(end - 1), *(end + 1), end->message) / end->time)));
  }
  const Point& before = *(after - 1);
  const double weight = std::log(message / before.message) / std::log(after->message / before.message);
  const double doubt = bend * 4 * weight * (1 - weight);
  const Seconds time = on_line(before, *after, message);
  return {std::min(doubt, std::log(time / min(before.time, after->time))), doubt};
}

std::string MeasuredCurve::algorithm_at(Bytes message) const {
  const auto after =
      std::lower_bound(points.begin(), points.end(), message, [](const Point& p, Bytes size) { return p.message < size; });
  if (after == points.end()) return points.back().algorithm;
  const std::string& next = after->algorithm;
  if (after == points.begin() || after->message == message) return next;
  const std::string& last = (after - 1)->algorithm;
  if (last == next || last.empty() || next.empty()) return last == next ? next : "";
  return last + " or " + next;
}

MeasuredExchanges::MeasuredExchanges(std::vector<MeasuredCurve> curves)
    : curves_(std::move(curves)), least_(std::numeric_limits<double>::infinity()) {
  for (const MeasuredCurve& curve : curves_) {
    if (curve.window == 1 && !curve.both_ways) of_operation_[curve.operation].push_back(least_of_curves_.size());
    least_of_curves_.push_back(least_per_byte_of(curve));
    if (curve.operation == Collective::point_to_point) continue;  // bandwidth tests give β of links, not times of exchanges
    // If a group has more than two ranks, the share of the vector that a round moves is at most
    // twice the share with two ranks.
    const double halves = curve.operation == Collective::allreduce ? 0.5 : 1.0;
    least_ = min(least_, SecondsPerByte(0.5 * halves * least_of_curves_.back()));
  }
}

MeasuredExchanges::Neighbours MeasuredExchanges::neighbours(Collective operation, double ranks, double nodes,
                                                            const MeasuredCurve* left_out) const {
  const Count asked{ranks, nodes};
  Neighbours near;
  for (const std::size_t index : of_operation_[operation]) {
    const MeasuredCurve& curve = curves_[index];
    if (&curve == left_out) continue;
    const Count count = count_of(curve);
    if (!same_shape(count, asked)) continue;
    const double places = count.places();
    if (places <= asked.places() && (near.fewer == nullptr || places > count_of(*near.fewer).places())) near.fewer = &curve;
    if (places >= asked.places() && (near.more == nullptr || places < count_of(*near.more).places())) near.more = &curve;
  }
  if (near.fewer == nullptr) near.fewer = near.more;
  if (near.more == nullptr) near.more = near.fewer;
  if (near.fewer != near.more) {
    const double fewer = std::log(count_of(*near.fewer).places());
    near.weight = (std::log(asked.places()) - fewer) / (std::log(count_of(*near.more).places()) - fewer);
  }
  return near;
}

MeasuredExchanges::Neighbours MeasuredExchanges::neighbours_or_like(Collective operation, double ranks, double nodes) const {
  if (curves_.empty() || ranks <= 1) return {};
  Neighbours near = neighbours(operation, ranks, nodes);
  if (near.fewer == nullptr && like(operation)) near = neighbours(*like(operation), ranks, nodes);
  if (near.fewer == nullptr && operation == Collective::allreduce)
    return neighbours_or_like(Collective::reduce_scatter, ranks, nodes);
  return near;
}

double MeasuredExchanges::least_of(const MeasuredCurve& curve) const {
  return least_of_curves_[static_cast<std::size_t>(&curve - curves_.data())];
}

Seconds MeasuredExchanges::as_tree(const MeasuredCurve& curve, Bytes message, double places) const {
  const Seconds time = curve.at(message);
  const Seconds bytes = min(time, Seconds(message.value() * least_of(curve)));
  return bytes + (time - bytes) * (std::log2(places) / std::log2(count_of(curve).places()));
}

Seconds MeasuredExchanges::from(const MeasuredCurve& curve, Bytes message, double ranks, double nodes) const {
  const Count asked{ranks, nodes};
  const double measured = count_of(curve).places();
  if (asked.places() == measured) return curve.at(message);
  const Seconds ring = as_ring(curve, message, asked);
  if (!has_tree(curve.operation)) return ring;
  const Seconds tree = as_tree(curve, message, asked.places());
  return asked.places() > measured ? min(ring, tree) : max(ring, tree);
}

Seconds MeasuredExchanges::between(const Neighbours& near, Bytes message, double ranks, double nodes) const {
  if (near.more == near.fewer) return from(*near.fewer, message, ranks, nodes);
  const Count asked{ranks, nodes};
  const double noise = std::log(single_spread);
  double logarithm = 0, weights = 0;
  const auto add = [&](Seconds fewer, Seconds more) {
    const double apart = std::log(more / fewer);
    const double weight = 1 / (noise * noise + apart * apart);
    logarithm += weight * (std::log(fewer.value()) + near.weight * apart);
    weights += weight;
  };
  add(as_ring(*near.fewer, message, asked), as_ring(*near.more, message, asked));
  if (has_tree(near.fewer->operation)) {
    add(as_tree(*near.fewer, message, asked.places()), as_tree(*near.more, message, asked.places()));
  }
  return Seconds(std::exp(logarithm / weights));
}

std::optional<Seconds> MeasuredExchanges::time(Collective operation, Bytes message, double ranks, double nodes) const {
  const Neighbours near = neighbours_or_like(operation, ranks, nodes);
  if (near.fewer == nullptr) return std::nullopt;
  return between(near, message, ranks, nodes) * times_of(operation, *near.fewer);
}

std::optional<Bytes> MeasuredExchanges::last_size(Collective operation, double ranks, double nodes) const {
  const Neighbours near = neighbours_or_like(operation, ranks, nodes);
  std::optional<Bytes> last;
  for (const MeasuredCurve* curve : {near.fewer, near.more}) {
    if (curve == nullptr || curve->ends_by_bytes()) continue;
    const Count asked{ranks, nodes}, measured = count_of(*curve);
    const double share = step_share(curve->operation, measured) / step_share(curve->operation, asked);
    const Bytes own = curve->points.back().message * std::max(1.0, share);
    last = last ? min(*last, own) : own;
  }
  return last;
}

std::optional<MeasuredExchanges::MeasuredCount> MeasuredExchanges::last_count(Collective operation, Bytes message,
                                                                              double ranks, double nodes) const {
  const Neighbours near = neighbours_or_like(operation, ranks, nodes);
  if (near.fewer == nullptr || near.fewer != near.more) return std::nullopt;
  const Count asked{ranks, nodes}, last = count_of(*near.fewer);
  if (asked.places() <= last.places()) return std::nullopt;
  const Neighbours earlier = neighbours(near.fewer->operation, last.ranks, last.nodes, near.fewer);
  if (earlier.fewer == nullptr || count_of(*earlier.fewer).places() > last.places()) return std::nullopt;
  const double missed = from(*earlier.fewer, message, last.ranks, last.nodes) / near.fewer->at(message);
  if (std::max(missed, 1 / missed) <= growth_doubt) return std::nullopt;
  return MeasuredCount{last.ranks, last.nodes};
}

bool MeasuredExchanges::may_be_continued(Collective operation, double ranks, double nodes) const {
  const Neighbours near = neighbours_or_like(operation, ranks, nodes);
  if (near.fewer == nullptr) return false;
  const bool is_beyond = near.fewer == near.more && Count{ranks, nodes}.places() > count_of(*near.fewer).places();
  return is_beyond || last_size(operation, ranks, nodes).has_value();
}

bool MeasuredExchanges::rests_on_two_nodes(Collective operation, double ranks, double nodes) const {
  const Neighbours near = neighbours_or_like(operation, ranks, nodes);
  return near.fewer != nullptr && near.fewer == near.more && near.fewer->nodes == 2 && nodes > 2;
}

double MeasuredExchanges::spread(Collective operation, double ranks, double nodes) const {
  const Neighbours near = neighbours_or_like(operation, ranks, nodes);
  if (near.fewer == nullptr) return 1;
  return near.fewer->spread * std::pow(near.more->spread / near.fewer->spread, near.weight);
}

bool MeasuredExchanges::has_spread() const {
  return std::any_of(curves_.begin(), curves_.end(), [](const MeasuredCurve& curve) { return curve.spread > 1; });
}

std::optional<SecondsPerByte> MeasuredExchanges::least_per_byte(Collective operation, double ranks, double nodes) const {
  const Neighbours near = neighbours_or_like(operation, ranks, nodes);
  if (near.fewer == nullptr) return std::nullopt;
  const Count asked{ranks, nodes};
  return min(bound_for(*near.fewer, least_of(*near.fewer), asked), bound_for(*near.more, least_of(*near.more), asked)) *
         times_of(operation, *near.fewer);
}

std::optional<MeasuredExchanges::Prediction> MeasuredExchanges::predict(Collective operation, Bytes message, double ranks,
                                                                        double nodes) const {
  const Neighbours near = neighbours_or_like(operation, ranks, nodes);
  if (near.fewer == nullptr) return std::nullopt;
  const Count asked{ranks, nodes};
  Prediction prediction;
  prediction.time = between(near, message, ranks, nodes);
  prediction.low = prediction.high = prediction.time;
  prediction.measured = near.fewer->operation;
  prediction.curves.push_back(near.fewer);
  if (near.more != near.fewer) prediction.curves.push_back(near.more);
  double shorter = 0, longer = 0;  // logarithms of the possible errors to both sides, due to noise, size and count
  double beyond = 0;               // possible error for the doublings beyond the measured counts, as a logarithm
  for (const MeasuredCurve* curve : prediction.curves) {
    const double places = count_of(*curve).places();
    const double noise = reach_95 * std::log(std::max(curve->spread, single_spread));
    const MeasuredCurve::SizeDoubt size = curve->size_doubt(message);
    shorter = std::max(shorter, std::hypot(noise, size.shorter));
    longer = std::max(longer, std::hypot(noise, size.longer));
    prediction.beyond_sizes |= message > curve->points.back().message * size_reach;
    if (places == asked.places()) continue;
    shorter = std::max(shorter, count_doubt);
    longer = std::max(longer, count_doubt);
    std::vector<Seconds> ways{as_ring(*curve, message, asked)};
    if (has_tree(curve->operation)) ways.insert(ways.end(), {as_tree(*curve, message, asked.places()), curve->at(message)});
    for (const Seconds way : ways) {
      prediction.low = min(prediction.low, way);
      prediction.high = max(prediction.high, way);
    }
    prediction.beyond_counts |= near.fewer == near.more;
    if (near.fewer == near.more) beyond += doubling_doubt * std::abs(std::log2(asked.places() / places));
  }
  const double times = times_of(operation, *near.fewer);
  prediction.time *= times;
  prediction.low = prediction.low * (times * std::exp(-shorter - beyond));
  prediction.high = prediction.high * (times * std::exp(longer + beyond));
  return prediction;
}

std::optional<double> MeasuredExchanges::left_out_error() const {
  std::vector<double> errors;
  for (const MeasuredCurve& curve : curves_) {
    if (curve.window != 1 || curve.both_ways) continue;
    const Count count = count_of(curve);
    const Neighbours near = neighbours(curve.operation, count.ranks, count.nodes, &curve);
    if (near.fewer == nullptr || near.fewer == near.more) continue;
    for (const MeasuredCurve::Point& point : curve.points) {
      errors.push_back(std::abs(between(near, point.message, count.ranks, count.nodes) / point.time - 1));
    }
  }
  if (errors.empty()) return std::nullopt;
  return median(errors);
}

}  // namespace ddl
