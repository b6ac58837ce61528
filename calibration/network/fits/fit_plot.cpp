#include "calibration/network/fits/fit_plot.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace ddl {

std::vector<PlotCurve> plot_curves(const ExchangeFit& fit, std::span<const ExchangeSeries> series, int columns) {
  std::map<std::pair<int, int>, PlotCurve> curves;
  for (const std::size_t position : fit.series) {
    const ExchangeSeries& one = series[position];
    const int ranks = one.ranks.value_or(one.operation == Collective::point_to_point ? 2 : 0);
    const int nodes = one.nodes.value_or(0);
    PlotCurve& curve = curves[{ranks, nodes}];
    curve.ranks = ranks;
    curve.nodes = nodes;
    for (const MeasuredExchange& row : one.rows) {
      if (row.message.value() > 0) curve.measured.push_back({row.message.value(), row.time.value()});
    }
  }
  std::vector<PlotCurve> result;
  for (auto& [count, curve] : curves) {
    std::sort(curve.measured.begin(), curve.measured.end(),
              [](const auto& a, const auto& b) { return std::pair(a.bytes, a.seconds) < std::pair(b.bytes, b.seconds); });
    if (!curve.measured.empty() && fit.refusal.empty()) {
      const double least = curve.measured.front().bytes;
      const double most = curve.measured.back().bytes;
      for (std::size_t i = 0; i < fit.ranges.size(); ++i) {
        const double from = std::max(least, i == 0 ? least : fit.ranges[i - 1].knee.value());
        const double to = std::min(most, fit.ranges[i].knee.value());
        std::vector<PlotCurve::Point> piece;
        for (int step = 0; step <= columns && from < to; ++step) {
          // At a knee, the time is that of the range before the knee.
          const double at =
              step == 0 ? std::nextafter(from, to) : from * std::pow(to / from, step / static_cast<double>(columns));
          const double bytes = std::min(at, to);
          const Seconds time = predict(fit, curve.ranks, curve.nodes, Bytes(bytes)).time.value;
          if (time.value() > 0) piece.push_back({bytes, time.value()});
        }
        if (!piece.empty()) curve.fitted.push_back(std::move(piece));
      }
    }
    result.push_back(std::move(curve));
  }
  return result;
}

PlotFrame frame_of(std::span<const PlotCurve> curves) {
  PlotFrame frame;
  bool first = true;
  const auto add = [&](const PlotCurve::Point& point) {
    if (first) frame = {point.bytes, point.bytes, point.seconds, point.seconds};
    first = false;
    frame.min_bytes = std::min(frame.min_bytes, point.bytes);
    frame.max_bytes = std::max(frame.max_bytes, point.bytes);
    frame.min_seconds = std::min(frame.min_seconds, point.seconds);
    frame.max_seconds = std::max(frame.max_seconds, point.seconds);
  };
  for (const PlotCurve& curve : curves) {
    for (const PlotCurve::Point& point : curve.measured) add(point);
    for (const auto& piece : curve.fitted) {
      for (const PlotCurve::Point& point : piece) add(point);
    }
  }
  // If all points have the same size, the axis of sizes still needs an extent.
  if (frame.max_bytes <= frame.min_bytes)
    frame = {frame.min_bytes / 2, frame.max_bytes * 2, frame.min_seconds, frame.max_seconds};
  frame.min_seconds /= 1.2;
  frame.max_seconds *= 1.2;
  return frame;
}

std::string title_of(const ExchangeFit& fit) {
  std::string title(to_string(fit.operation));
  if (fit.window > 1)
    title += fmt::format(", {} in flight{}", fit.window, fit.pattern == ExchangePattern::both_ways ? " each way" : "");
  if (fit.level) title += *fit.level == NetworkLevel::node ? ", inside a node" : ", between nodes";
  return title;
}

std::string label_of(const PlotCurve& curve) {
  const std::string ranks = curve.ranks > 0 ? fmt::format("{} ranks", curve.ranks) : "ranks not known";
  return curve.nodes > 0 ? fmt::format("{} on {} node{}", ranks, curve.nodes, curve.nodes == 1 ? "" : "s") : ranks;
}

}  // namespace ddl
