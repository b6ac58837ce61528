#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/documents/charts.hpp"
#include "cli/documents/memory.hpp"
#include "core/enum_array.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

/// Maximum number of positions along the horizontal axis of a drawing.
constexpr std::size_t places_drawn = 600;

/// The color of each item, in every drawing.
constexpr EnumArray<MemoryItem, Tone> item_tones{Tone::blue,  Tone::sky,  Tone::green,  Tone::orange,
                                                 Tone::brown, Tone::grey, Tone::purple, Tone::dark};

/// The items from the bottom of the drawing to its top: items that never change first.
constexpr std::array<MemoryItem, memory_item_count> stacked{
    MemoryItem::context, MemoryItem::weights,       MemoryItem::optimizer, MemoryItem::gradients,
    MemoryItem::input,   MemoryItem::communication, MemoryItem::workspace, MemoryItem::activations};

/// Consecutive points of a timeline that are drawn at one position, as the point with the most allocated memory.
struct DrawnMoment {
  double from = 0, to = 0;
  std::size_t most = 0;  ///< index of the drawn point
  Bytes reserved{};
};

std::vector<DrawnMoment> moments_of(const MemoryTimeline& timeline) {
  const std::vector<TimelinePoint>& points = timeline.points;
  const std::size_t count = timeline.points.size();
  const std::size_t together = std::max<std::size_t>(1, (count + places_drawn - 1) / places_drawn);
  std::vector<DrawnMoment> moments;
  for (std::size_t i = 0; i < count; i += together) {
    const std::size_t end = std::min(i + together, count);
    DrawnMoment moment{static_cast<double>(i), static_cast<double>(end), i, {}};
    for (std::size_t j = i; j < end; ++j) {
      if (points[j].allocated > points[moment.most].allocated) moment.most = j;
      moment.reserved = max(moment.reserved, points[j].reserved);
    }
    moments.push_back(moment);
  }
  return moments;
}

/// Adds a step of a curve: a horizontal line from one end of the moment to the other. Equal neighbors become one line.
void add_step(Curve& curve, const DrawnMoment& moment, double value) {
  std::vector<PlotPoint>& points = curve.points;
  if (points.size() > 1 && points.back().y == value) {
    points.back().x = moment.to;
    return;
  }
  points.push_back({moment.from, value});
  points.push_back({moment.to, value});
}

/// Returns a layer for each item, each on top of the layers below it. The layer on top comes first.
std::vector<Curve> layers_of(const std::vector<DrawnMoment>& moments, const MemoryTimeline& timeline,
                             const ItemsOverTime& items) {
  std::vector<Curve> layers;
  for (std::size_t top = 0; top < stacked.size(); ++top) {
    const MemoryItem item = stacked[top];
    const auto holds = [&](const DrawnMoment& each) { return items[each.most][static_cast<std::size_t>(item)] > Bytes{}; };
    if (std::ranges::none_of(moments, holds)) continue;
    Curve layer{Curve::Shape::layer, {std::string(to_string(item)), item_tones[item]}, {}};
    for (const DrawnMoment& moment : moments) {
      Bytes sum{}, all{};
      for (std::size_t i = 0; i < stacked.size(); ++i) {
        const Bytes bytes = items[moment.most][static_cast<std::size_t>(stacked[i])];
        all += bytes;
        if (i <= top) sum += bytes;
      }
      // Requests are rounded up to blocks, so that the layers together are scaled to the allocated memory.
      add_step(layer, moment, all > Bytes{} ? sum.value() * (timeline.points[moment.most].allocated / all) : 0);
    }
    layers.insert(layers.begin(), std::move(layer));
  }
  return layers;
}

}  // namespace

Chart memory_plot(const MemoryTimeline& timeline, const ItemsOverTime& items, const Model& model, Bytes capacity) {
  const std::size_t count = std::max<std::size_t>(1, timeline.points.size());
  double most = std::max(1.0, timeline.peak_reserved.value());
  const bool has_capacity = capacity.value() < 4 * most;
  if (has_capacity) most = std::max(most, capacity.value());
  Plot plot;
  plot.x = {"layers in execution order", false, 0, static_cast<double>(count)};
  plot.y = {"", false, 0, most * 1.08};
  double tick = 1;
  while (most / tick > 6) tick *= 2;
  for (double bytes = 0; bytes <= most; bytes += tick) plot.y.ticks.push_back({bytes, humanize(Bytes(bytes))});
  for (std::size_t j = 0; j < timeline.points.size(); ++j) {
    if (j == 0 || timeline.points[j].phase != timeline.points[j - 1].phase)
      plot.x.ticks.push_back({static_cast<double>(j), std::string(to_string(timeline.points[j].phase))});
  }
  const std::vector<DrawnMoment> moments = moments_of(timeline);
  plot.curves = layers_of(moments, timeline, items);
  Curve reserved{
      Curve::Shape::line, {"reserved by the allocator, at most " + humanize(timeline.peak_reserved), Tone::vermilion}, {}};
  for (const DrawnMoment& moment : moments) add_step(reserved, moment, moment.reserved.value());
  plot.curves.push_back(std::move(reserved));
  if (has_capacity) plot.forbidden.push_back({{}, capacity.value(), "more than the device's " + humanize(capacity)});
  for (std::size_t i = 0; i < timeline.points.size(); ++i) {
    const TimelinePoint& point = timeline.points[i];
    if (point.phase != timeline.peak_phase || point.layer != timeline.peak_layer) continue;
    const std::string where = fmt::format("peak of {} in {}", humanize(timeline.peak.allocated),
                                          moment_text(timeline.peak_phase, timeline.peak_layer, model));
    PlotPoint peak{static_cast<double>(i) + 0.5, timeline.peak.allocated.value(), where};
    peak.label = humanize(timeline.peak.allocated);
    plot.curves.push_back({Curve::Shape::points, {where, Tone::dark}, {std::move(peak)}});
    break;
  }
  return {"Memory over a step", "bytes allocated by kind, and bytes reserved by the allocator, while each layer runs",
          std::move(plot)};
}

Chart memory_bar(const MemoryBreakdown& memory, Bytes capacity) {
  StackedBars bars;
  bars.unit = "bytes";
  Bar bar{"per device", humanize(memory.total()), {}, {}};
  for (const MemoryItem item : enum_values<MemoryItem>) {
    const Bytes bytes = memory.of(item);
    if (bytes <= Bytes{}) continue;
    bars.kinds.push_back({std::string(to_string(item)), item_tones[item]});
    bar.values.push_back(bytes.value());
    bar.texts.push_back(humanize(bytes));
  }
  bars.bars.push_back(std::move(bar));
  bars.limit = capacity.value();
  bars.limit_name = "the device's " + humanize(capacity);
  return {"Memory per device by item",
          fmt::format("needs {} of {}; the table has the same numbers", humanize(memory.total()), humanize(capacity)),
          std::move(bars)};
}

}  // namespace ddl
