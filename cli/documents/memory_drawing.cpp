#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/documents/memory.hpp"
#include "core/svg.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

constexpr double width = 960;
constexpr double height = 480;
constexpr double left = 80;
constexpr double right = 300;  // width of the list of contents, in pixels
constexpr double top = 48;
constexpr double bottom = 56;
constexpr std::size_t rows_of_peak = 16;
constexpr std::string_view allocated_colour = svg_colours[0];
constexpr std::string_view reserved_colour = svg_colours[4];
constexpr std::string_view capacity_colour = svg_colours[1];

/// Returns the distance between grid lines in bytes: a power of two with at most eight lines.
double tick_of(double most) {
  double tick = 1;
  while (most / tick > 8) tick *= 2;
  return tick;
}

}  // namespace

std::string draw_memory(const MemoryTimeline& timeline, const Model& model, std::string_view title, Bytes capacity) {
  const auto count = static_cast<double>(std::max<std::size_t>(1, timeline.points.size()));
  double most = std::max(1.0, timeline.peak_reserved.value());
  const bool has_capacity = capacity.value() < 4 * most;
  if (has_capacity) most = std::max(most, capacity.value());
  most *= 1.05;
  const auto x_of = [&](double place) { return left + (width - left - right) * place / count; };
  const auto y_of = [&](double bytes) { return height - bottom - (height - top - bottom) * bytes / most; };

  SvgDrawing svg(width, height);
  svg.text(left, 24, "start", title, " font-size=\"14\"");
  const double tick = tick_of(most);
  for (double bytes = 0; bytes <= most; bytes += tick) {
    svg.line({left, y_of(bytes)}, {width - right, y_of(bytes)}, "#dddddd");
    svg.text(left - 6, y_of(bytes) + 4, "end", humanize(Bytes(bytes)));
  }
  // Draws a dashed line and the name of each phase at the position where the phase begins.
  for (std::size_t i = 0; i < timeline.points.size(); ++i) {
    if (i > 0 && timeline.points[i].phase == timeline.points[i - 1].phase) continue;
    const double x = x_of(static_cast<double>(i));
    svg.line({x, top}, {x, height - bottom}, "#888888", " stroke-dasharray=\"3 3\"");
    svg.text(x + 3, height - bottom + 16, "start", to_string(timeline.points[i].phase));
  }
  const double base = y_of(0);
  std::vector<SvgPoint> allocated{{left, base}}, reserved;
  double peak_x = left;
  for (std::size_t i = 0; i < timeline.points.size(); ++i) {
    const TimelinePoint& point = timeline.points[i];
    const double from = x_of(static_cast<double>(i)), to = x_of(static_cast<double>(i) + 1);
    const auto add = [&](std::vector<SvgPoint>& points, Bytes bytes) {
      for (const double x : {from, to}) points.push_back({x, y_of(bytes.value())});
    };
    add(allocated, point.allocated);
    add(reserved, point.reserved);
    if (point.phase == timeline.peak_phase && point.layer == timeline.peak_layer) peak_x = (from + to) / 2;
  }
  allocated.push_back({x_of(count), base});
  svg.polygon(allocated, allocated_colour);
  svg.polyline(reserved, reserved_colour);
  if (has_capacity) {
    const double y = y_of(capacity.value());
    svg.line({left, y}, {width - right, y}, capacity_colour, " stroke-width=\"2\"");
    svg.text(width - right - 4, y - 4, "end", "the device's " + humanize(capacity));
  }
  svg.disc({peak_x, y_of(timeline.peak.allocated.value())}, 4, allocated_colour);
  svg.frame({left, top}, width - left - right, height - top - bottom);
  svg.text((left + width - right) / 2, height - 14, "middle", "layers in execution order");

  const double x = width - right + 16;
  double y = top + 8;
  const auto write = [&](std::string_view text, std::string_view more = "") {
    svg.text(x, y, "start", text, more);
    y += 18;
  };
  write(fmt::format("allocated, at most {}", humanize(timeline.peak.allocated)),
        fmt::format(" fill=\"{}\"", allocated_colour));
  write(fmt::format("reserved, at most {}", humanize(timeline.peak_reserved)), " fill=\"#8a5f00\"");
  y += 8;
  write("peak in " + moment_text(timeline.peak_phase, timeline.peak_layer, model), " font-weight=\"bold\"");
  for (std::size_t i = 0; i < std::min(rows_of_peak, timeline.live_at_peak.size()); ++i) {
    const LiveMemory& live = timeline.live_at_peak[i];
    const std::string of = live.layer < 0 ? std::string() : " of " + model.layers[static_cast<std::size_t>(live.layer)].name;
    write(fmt::format("{}  {}{}", humanize(live.bytes), to_string(live.item), of));
  }
  return svg.file();
}

}  // namespace ddl
