#include "estimator/kernels/problem_times.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "estimator/kernels/kernel_time.hpp"

namespace ddl {
namespace {

/// Maximum distance of a problem from the segment between two measured problems, as a logarithm: 3.5 % of a size.
constexpr double aside = 0.05;
/// Width of the Gaussian weights of a `curve` time, as a binary logarithm: a doubling of one size.
constexpr double width = 1.0;
/// Among this many nearest points of a family, two points on opposite sides of the problem are searched.
constexpr std::size_t neighbours = 128;

double size_of(double value) { return std::log2(std::max(1.0, value)); }

template <std::size_t n>
double dot(const std::array<double, n>& a, const std::array<double, n>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

template <std::size_t n>
std::array<double, n> difference(const std::array<double, n>& a, const std::array<double, n>& b) {
  std::array<double, n> result;
  for (std::size_t i = 0; i < n; ++i) result[i] = a[i] - b[i];
  return result;
}

/// Returns the width of the measurement's interval, relative to the median.
double spread(const MeasuredTime& time) { return time.median.value() > 0 ? (time.high - time.low) / time.median : 0.0; }

/// Joins parts into a key, such as `convolution forward`.
std::string key_of(std::initializer_list<std::string_view> parts) {
  std::string key;
  for (const std::string_view part : parts) key.append(key.empty() ? "" : " ").append(part);
  return key;
}

}  // namespace

ProblemTimes::ProblemTimes(const MeasuredKernels& measured, const Roofline& roofline, Precision precision)
    : roofline_(roofline) {
  for (const MeasuredKernel& each : measured.kernels) {
    if (each.problem.precision == precision)
      add(print_problem(each.problem), query_of(each.problem), each.time, each.workspace);
  }
  for (const MeasuredUpdate& each : measured.updates) {
    if (each.problem.precision == precision)
      add(print_problem(each.problem), query_of(each.problem), each.time, std::nullopt);
  }
  // If a problem was measured several times, only the most precise time is used. Groups contain one point per problem.
  for (auto* groups : {&families_, &passes_, &operations_}) {
    for (auto& [name, group] : *groups) {
      static_cast<void>(name);
      std::sort(group.points.begin(), group.points.end());
    }
  }
}

void ProblemTimes::add(const std::string& line, KernelQuery query, const MeasuredTime& time,
                       const std::optional<Bytes>& workspace) {
  const double seconds = time.median.value();
  if (!(seconds >= 0) || !std::isfinite(seconds) || query.point.roofline <= 0) return;
  const auto [known, is_new] = lines_.try_emplace(line, Known{static_cast<std::uint32_t>(points_.size()), time});
  if (!is_new) {
    // Not every source of kernel times records scratch memory.
    std::optional<Bytes>& seen = points_[known->second.point].workspace;
    if (!seen) seen = workspace;
    if (spread(time) >= spread(known->second.time)) return;
  }
  query.point.workspace = is_new || workspace ? workspace : points_[known->second.point].workspace;
  query.point.seconds = seconds;
  query.point.ratio = seconds > 0 ? std::log(seconds / query.point.roofline) : 0.0;
  const bool idle = seconds <= 0;
  if (!is_new) {
    // Each profile line is a single point.
    const std::uint32_t place = known->second.point;
    known->second.time = time;
    points_[place] = query.point;
    for (Group* group : {&families_[query.family], &passes_[query.pass], &operations_[query.operation], &all_}) {
      std::erase(group->points, place);
      join(*group, place, idle);
    }
    return;
  }
  const auto place = static_cast<std::uint32_t>(points_.size());
  points_.push_back(query.point);
  for (Group* group : {&families_[query.family], &passes_[query.pass], &operations_[query.operation], &all_}) {
    join(*group, place, idle);
  }
}

void ProblemTimes::join(Group& group, std::uint32_t point, bool idle) {
  const double ratio = idle ? 0.0 : std::exp(points_[point].ratio);
  const bool is_first = group.points.empty() && !group.has_idle;
  group.least = is_first ? ratio : std::min(group.least, ratio);
  group.has_idle = group.has_idle || idle;
  if (idle) return;
  const Place& place = points_[point].place;
  for (std::size_t i = 0; i < sizes; ++i) {
    group.low[i] = group.points.empty() ? place[i] : std::min(group.low[i], place[i]);
    group.high[i] = group.points.empty() ? place[i] : std::max(group.high[i], place[i]);
  }
  group.points.push_back(point);
}

ProblemTimes::KernelQuery ProblemTimes::query_of(const Problem& problem) const {
  const TensorShape& input = problem.inputs.front();
  const TensorShape& output = problem.output;
  // A tile's input includes halo rows. Its output does not.
  const std::array<std::int64_t, 3>& extent = output.rank == input.rank ? output.extent : input.extent;
  double other_channels = 0;
  double other_positions = 0;
  for (std::size_t i = 1; i < problem.inputs.size(); ++i) {
    other_channels += static_cast<double>(problem.inputs[i].channels);
    other_positions += static_cast<double>(problem.inputs[i].positions());
  }
  const auto samples = static_cast<double>(problem.samples);
  const auto weights = static_cast<double>(problem.operation->weights(problem.inputs, output));
  const double channels = size_of(static_cast<double>(input.channels)) + size_of(static_cast<double>(output.channels));
  const Work work = problem.operation->work(problem.pass, problem.inputs, output);

  KernelQuery query;
  query.point.place = {size_of(samples),
                       size_of(static_cast<double>(output.channels)),
                       size_of(static_cast<double>(input.channels)),
                       size_of(static_cast<double>(extent[0])),
                       size_of(static_cast<double>(extent[1])),
                       size_of(static_cast<double>(extent[2])),
                       size_of(other_channels),
                       size_of(other_positions),
                       weights > 0 ? std::log2(weights) - channels : 0.0};
  query.point.operations = size_of(work.flops * samples);
  query.point.bytes = size_of(roofline_.bytes(work, samples));
  query.point.roofline = roofline_.time(work, samples).value();
  query.operation = problem.operation->type();
  query.pass = key_of({query.operation, to_string(problem.pass)});
  query.family = key_of({query.pass, problem.operation->lasting_attributes(), std::to_string(problem.inputs.size()),
                         std::to_string(input.rank), std::to_string(output.rank)});
  return query;
}

ProblemTimes::KernelQuery ProblemTimes::query_of(const UpdateProblem& problem) const {
  const double bytes = static_cast<double>(problem.parameters) *
                       update_bytes_per_parameter(problem.optimizer, problem.precision, problem.implementation);
  KernelQuery query;
  query.point.place[0] = size_of(static_cast<double>(problem.parameters));
  query.point.bytes = size_of(bytes);
  query.point.roofline = roofline_.traffic_time(bytes).value();
  query.operation = query.pass = "update";
  query.family = key_of({"update", to_string(problem.optimizer)});
  if (is_of_list(problem.implementation)) {
    query.point.place[1] = size_of(static_cast<double>(problem.tensors));
    // An update that runs over a list of tensors is estimated from other measured updates of this type. If no such update
    // was measured, it is estimated from the device's efficiency for single layers.
    query.pass = key_of({query.pass, to_string(problem.implementation)});
    query.family = key_of({query.family, to_string(problem.implementation)});
  }
  return query;
}

KernelCost ProblemTimes::cost(const Problem& problem) const { return cost(print_problem(problem), query_of(problem)); }
KernelCost ProblemTimes::cost(const UpdateProblem& problem) const { return cost(print_problem(problem), query_of(problem)); }

const MeasuredTime* ProblemTimes::measured(const std::string& line) const {
  const auto known = lines_.find(line);
  return known == lines_.end() ? nullptr : &known->second.time;
}

KernelCost ProblemTimes::cost(const std::string& line, const KernelQuery& query) const {
  const auto known = lines_.find(line);
  if (known != lines_.end()) {
    const Point& point = points_[known->second.point];
    KernelCost cost{Seconds(point.seconds), Provenance::measured, {}};
    if (point.workspace) cost.workspace = {*point.workspace, *point.workspace, Provenance::measured};
    return cost;
  }
  bool is_family = false;
  const Group& group = nearest_group(query, is_family);
  // If a problem takes no time in all measured sizes, it is a no-op.
  if (group.points.empty()) return {Seconds{}, Provenance::curve, {}};
  const KernelWorkspace scratch = is_family ? workspace(group, query.point) : KernelWorkspace{};
  double seconds = 0;
  if (is_family && between(group, query.point, seconds)) return {Seconds(seconds), Provenance::interpolated, scratch};
  return {Seconds(query.point.roofline * std::exp(curve(group, query.point, is_family))), Provenance::curve, scratch};
}

KernelWorkspace ProblemTimes::workspace(const Group& family, const Point& query) const {
  const Point* nearest = nullptr;
  double shortest = 0;
  for (const std::uint32_t index : family.points) {
    const Point& point = points_[index];
    if (!point.workspace) continue;
    const Place step = difference(point.place, query.place);
    const double distance = dot(step, step);
    if (nearest != nullptr && distance >= shortest) continue;
    nearest = &point;
    shortest = distance;
  }
  if (nearest == nullptr) return {};
  const Bytes there = *nearest->workspace;
  const Bytes grown = there * std::exp2(query.bytes - nearest->bytes);
  return {min(there, grown), max(there, grown), Provenance::interpolated};
}

const ProblemTimes::Group& ProblemTimes::nearest_group(const KernelQuery& query, bool& is_family) const {
  const auto family = families_.find(query.family);
  is_family = family != families_.end();
  if (is_family) return family->second;
  for (const auto& [groups, name] : {std::pair(&passes_, &query.pass), std::pair(&operations_, &query.operation)}) {
    const auto group = groups->find(*name);
    if (group != groups->end() && !group->second.points.empty()) return group->second;
  }
  return all_;
}

bool ProblemTimes::between(const Group& family, const Point& query, double& seconds) const {
  // If one size is outside of the measured range, no two points lie on opposite sides of the problem.
  for (std::size_t i = 0; i < sizes; ++i) {
    if (query.place[i] > family.high[i] + aside || query.place[i] < family.low[i] - aside) return false;
  }
  std::vector<std::pair<double, std::uint32_t>> order;
  order.reserve(family.points.size());
  for (const std::uint32_t index : family.points) {
    const Place step = difference(points_[index].place, query.place);
    order.emplace_back(dot(step, step), index);
  }
  const std::size_t count = std::min(neighbours, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end());
  // Each mask has a bit for every size. The masks tell in which sizes a point is larger, and
  // smaller, than the problem. If both ends of a segment are larger in one size, or both are
  // smaller, the segment is more than `aside` away from the problem.
  struct Near {
    double distance = 0;
    const Point* point = nullptr;
    Place step{};
    std::uint32_t larger = 0, smaller = 0;
  };
  std::vector<Near> near;
  near.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Point& point = points_[order[i].second];
    Near own{std::sqrt(order[i].first), &point, difference(point.place, query.place)};
    for (std::size_t size = 0; size < sizes; ++size) {
      if (own.step[size] > aside) own.larger |= 1U << size;
      if (own.step[size] < -aside) own.smaller |= 1U << size;
    }
    near.push_back(own);
  }

  // A measured problem with the same sizes differs from this problem only in padding.
  if (!near.empty() && near.front().distance < aside) {
    seconds = query.roofline * std::exp(near.front().point->ratio);
    return true;
  }
  double shortest = std::numeric_limits<double>::infinity();
  for (std::size_t far = 1; far < near.size(); ++far) {
    if (near[far].distance >= shortest) break;
    for (std::size_t close = 0; close < far; ++close) {
      const Near& a = near[close];
      const Near& b = near[far];
      if ((a.larger & b.larger) != 0 || (a.smaller & b.smaller) != 0) continue;
      if (dot(a.step, b.step) >= 0) continue;
      const Place whole = difference(b.step, a.step);
      const double length = std::sqrt(dot(whole, whole));
      if (length >= shortest) continue;
      // `part` is the position on the segment of the foot of the perpendicular from the problem.
      // The next line computes the length of the perpendicular.
      const double part = -dot(a.step, whole) / (length * length);
      const double away = a.distance * a.distance - part * part * length * length;
      if (away > aside * aside) continue;
      shortest = length;
      const double ratio = a.point->ratio + part * (b.point->ratio - a.point->ratio);
      // If the problem's roofline time is between the roofline times of the two measured problems, its time has to be
      // between their measured times, even if the roofline has a kink between them.
      const auto [low, high] = std::minmax(a.point->seconds, b.point->seconds);
      seconds = query.roofline * std::exp(ratio);
      const bool is_inside = query.roofline >= std::min(a.point->roofline, b.point->roofline) &&
                             query.roofline <= std::max(a.point->roofline, b.point->roofline);
      if (is_inside) {
        const auto [least, most] = std::minmax(a.point->ratio, b.point->ratio);
        seconds =
            std::clamp(std::clamp(seconds, low, high), query.roofline * std::exp(least), query.roofline * std::exp(most));
      }
    }
  }
  return std::isfinite(shortest);
}

double ProblemTimes::curve(const Group& group, const Point& query, bool is_family) const {
  std::vector<double> distances;
  distances.reserve(group.points.size());
  for (const std::uint32_t index : group.points) {
    const Point& point = points_[index];
    if (is_family) {
      const Place step = difference(point.place, query.place);
      distances.push_back(dot(step, step));
    } else {
      const std::array<double, 2> step{point.operations - query.operations, point.bytes - query.bytes};
      distances.push_back(dot(step, step));
    }
  }
  // Distances are relative to the nearest point, so the nearest point always has the weight one.
  const double nearest = *std::min_element(distances.begin(), distances.end());
  double weights = 0;
  double sum = 0;
  for (std::size_t i = 0; i < distances.size(); ++i) {
    const double exponent = (distances[i] - nearest) / (2 * width * width);
    if (exponent > 30) continue;
    const double weight = std::exp(-exponent);
    weights += weight;
    sum += weight * points_[group.points[i]].ratio;
  }
  return sum / weights;
}

double ProblemTimes::least_ratio(const Problem& problem) const {
  bool is_family = false;
  return nearest_group(query_of(problem), is_family).least;
}

Seconds ProblemTimes::roofline(const Problem& problem) const {
  return roofline_.time(problem.operation->work(problem.pass, problem.inputs, problem.output),
                        static_cast<double>(problem.samples));
}

}  // namespace ddl
