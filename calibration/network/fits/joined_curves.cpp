#include "calibration/network/fits/joined_curves.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/statistics.hpp"

namespace ddl {
namespace {

/// Below this size, start-up times dominate. Above this size, times per byte dominate.
constexpr double mebibyte = 1 << 20;

bool same_exchange(const MeasuredCurve& a, const MeasuredCurve& b) {
  return a.operation == b.operation && a.ranks == b.ranks && a.nodes == b.nodes && a.window == b.window &&
         a.both_ways == b.both_ways;
}

bool inside(const MeasuredCurve& curve) { return curve.nodes == 1; }

/// The factor by which new curves of a level differ from predictions of the earlier curves: the larger of the medians for
/// small messages and for large messages. 1 if the earlier curves predict none of the new times.
double difference(const MeasuredExchanges& before, const std::vector<MeasuredCurve>& measured, bool in_node) {
  std::array<std::vector<double>, 2> differences;
  for (const MeasuredCurve& curve : measured) {
    if (inside(curve) != in_node || curve.window != 1) continue;
    for (const MeasuredCurve::Point& point : curve.points) {
      const auto said = before.predict(curve.operation, point.message, curve.ranks, curve.nodes);
      if (!said || said->measured != curve.operation) continue;
      differences[point.message.value() < mebibyte ? 0 : 1].push_back(std::abs(std::log(point.time / said->time)));
    }
  }
  double most = 0;
  for (std::vector<double>& each : differences) {
    if (!each.empty()) most = std::max(most, median(each));
  }
  return std::exp(most);
}

}  // namespace

std::vector<MeasuredCurve> joined_curves(std::vector<MeasuredCurve> before, const std::vector<MeasuredCurve>& measured,
                                         std::vector<std::string>& warnings) {
  const MeasuredExchanges earlier(before);
  std::erase_if(before, [&](const MeasuredCurve& old) {
    return std::any_of(measured.begin(), measured.end(),
                       [&](const MeasuredCurve& curve) { return same_exchange(curve, old); });
  });
  for (const bool in_node : {true, false}) {
    const double factor = difference(earlier, measured, in_node);
    if (factor <= contradiction_factor) continue;
    std::set<std::string> sources;
    for (const MeasuredCurve& old : before) {
      if (inside(old) == in_node) sources.insert(old.source);
    }
    if (sources.empty()) continue;
    const std::size_t left_out = std::erase_if(before, [&](const MeasuredCurve& old) { return inside(old) == in_node; });
    warnings.push_back(fmt::format(
        "{} earlier measurement{} {} dropped: new measurements differ by a factor of {:.2f}, so the earlier ones come from "
        "other software or another network: {}",
        left_out, left_out == 1 ? "" : "s", in_node ? "inside a node" : "between nodes", factor, fmt::join(sources, "; ")));
  }
  before.insert(before.end(), measured.begin(), measured.end());
  return before;
}

}  // namespace ddl
