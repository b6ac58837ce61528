#include "cli/memory_drawing.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "cli/memory_text.hpp"
#include "core/units.hpp"
#include "core/xml_text.hpp"

namespace ddl {
namespace {

constexpr double width = 960;
constexpr double height = 480;
constexpr double left = 80;
constexpr double right = 300;  // the list's
constexpr double top = 48;
constexpr double bottom = 56;
constexpr std::size_t rows_of_peak = 16;
// Told apart by colour-blind readers too (Okabe & Ito, "Color Universal Design", 2008).
constexpr std::string_view allocated_colour = "#0072B2";
constexpr std::string_view reserved_colour = "#E69F00";
constexpr std::string_view capacity_colour = "#D55E00";

std::string label(double x, double y, std::string_view anchor, std::string_view text, std::string_view more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, more, xml_text(text));
}

std::string line(double x1, double y1, double x2, double y2, std::string_view colour, std::string_view more = "") {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"{}/>\n", x1, y1, x2, y2,
                     colour, more);
}

/// A step of 1, 2 or 4 times a power of two that leaves no more than eight lines.
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

  std::string svg = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{0}\" height=\"{1}\" "
      "fill=\"white\"/>\n",
      width, height);
  svg += label(left, 24, "start", title, " font-size=\"14\"");
  const double tick = tick_of(most);
  for (double bytes = 0; bytes <= most; bytes += tick) {
    svg += line(left, y_of(bytes), width - right, y_of(bytes), "#dddddd");
    svg += label(left - 6, y_of(bytes) + 4, "end", humanize(Bytes(bytes)));
  }
  // Where a phase begins.
  for (std::size_t i = 0; i < timeline.points.size(); ++i) {
    if (i > 0 && timeline.points[i].phase == timeline.points[i - 1].phase) continue;
    const double x = x_of(static_cast<double>(i));
    svg += line(x, top, x, height - bottom, "#888888", " stroke-dasharray=\"3 3\"");
    svg += label(x + 3, height - bottom + 16, "start", to_string(timeline.points[i].phase));
  }
  std::string allocated, reserved;
  double peak_x = left;
  for (std::size_t i = 0; i < timeline.points.size(); ++i) {
    const TimelinePoint& point = timeline.points[i];
    const double from = x_of(static_cast<double>(i)), to = x_of(static_cast<double>(i) + 1);
    const auto add = [&](std::string& points, Bytes bytes) {
      points += fmt::format("{:.1f},{:.1f} {:.1f},{:.1f} ", from, y_of(bytes.value()), to, y_of(bytes.value()));
    };
    add(allocated, point.allocated);
    add(reserved, point.reserved);
    if (point.phase == timeline.peak_phase && point.layer == timeline.peak_layer) peak_x = (from + to) / 2;
  }
  const double base = y_of(0);
  svg += fmt::format("<polygon points=\"{:.1f},{:.1f} {}{:.1f},{:.1f}\" fill=\"{}\" fill-opacity=\"0.25\" stroke=\"{}\"/>\n",
                     left, base, allocated, x_of(count), base, allocated_colour, allocated_colour);
  svg += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\"/>\n", reserved, reserved_colour);
  if (has_capacity) {
    const double y = y_of(capacity.value());
    svg += line(left, y, width - right, y, capacity_colour, " stroke-width=\"2\"");
    svg += label(width - right - 4, y - 4, "end", "the device's " + humanize(capacity));
  }
  svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"/>\n", peak_x,
                     y_of(timeline.peak_allocated.value()), allocated_colour);
  svg += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"black\"/>\n", left, top,
                     width - left - right, height - top - bottom);
  svg += label((left + width - right) / 2, height - 14, "middle", "layers as they run in a step");

  const double x = width - right + 16;
  double y = top + 8;
  const auto write = [&](std::string_view text, std::string_view more = "") {
    svg += label(x, y, "start", text, more);
    y += 18;
  };
  write(fmt::format("allocated, at most {}", humanize(timeline.peak_allocated)),
        fmt::format(" fill=\"{}\"", allocated_colour));
  write(fmt::format("reserved, at most {}", humanize(timeline.peak_reserved)), " fill=\"#8a5f00\"");
  y += 8;
  write("peak in " + moment_text(timeline.peak_phase, timeline.peak_layer, model), " font-weight=\"bold\"");
  for (std::size_t i = 0; i < std::min(rows_of_peak, timeline.live_at_peak.size()); ++i) {
    const LiveMemory& live = timeline.live_at_peak[i];
    const std::string of = live.layer < 0 ? std::string() : " of " + model.layers[static_cast<std::size_t>(live.layer)].name;
    write(fmt::format("{}  {}{}", humanize(live.bytes), to_string(live.item), of));
  }
  return svg + "</svg>\n";
}

}  // namespace ddl
