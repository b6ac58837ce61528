#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "calibration/network/fits/fit_plot.hpp"
#include "core/svg.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

constexpr double width = 760;
constexpr double height = 480;
constexpr double left = 80;
constexpr double right = 200;  // width of the legend
constexpr double top = 40;
constexpr double bottom = 60;

}  // namespace

std::string plot_svg(const ExchangeFit& fit, std::span<const ExchangeSeries> series) {
  const std::vector<PlotCurve> curves = plot_curves(fit, series, 80);
  const PlotFrame frame = frame_of(curves);
  const auto x_of = [&](double bytes) {
    return left + (width - left - right) * std::log(bytes / frame.min_bytes) / std::log(frame.max_bytes / frame.min_bytes);
  };
  const auto y_of = [&](double seconds) {
    return height - bottom -
           (height - top - bottom) * std::log(seconds / frame.min_seconds) / std::log(frame.max_seconds / frame.min_seconds);
  };

  SvgDrawing svg(width, height);
  svg.text(left, top - 16, "start", title_of(fit), " font-size=\"14\"");

  // The size axis has a tick for each factor of 16, the time axis one for each decade.
  const auto sizes = static_cast<int>(std::floor(std::log2(frame.max_bytes) / 4 + 1e-9));
  for (auto size = static_cast<int>(std::ceil(std::log2(frame.min_bytes) / 4 - 1e-9)); size <= sizes; ++size) {
    const double bytes = std::exp2(4 * size);
    svg.line({x_of(bytes), top}, {x_of(bytes), height - bottom}, "#dddddd");
    svg.text(x_of(bytes), height - bottom + 16, "middle", humanize(Bytes(bytes)));
  }
  const auto decades = static_cast<int>(std::floor(std::log10(frame.max_seconds) + 1e-9));
  for (auto decade = static_cast<int>(std::ceil(std::log10(frame.min_seconds) - 1e-9)); decade <= decades; ++decade) {
    const double seconds = std::pow(10, decade);
    svg.line({left, y_of(seconds)}, {width - right, y_of(seconds)}, "#dddddd");
    svg.text(left - 6, y_of(seconds) + 4, "end", humanize(Seconds(seconds)));
  }
  svg.frame({left, top}, width - left - right, height - top - bottom);
  svg.text((left + width - right) / 2, height - 16, "middle", "message (bytes)");
  svg.text(18, (top + height - bottom) / 2, "middle", "time (seconds)",
           fmt::format(" transform=\"rotate(-90 18 {:.1f})\"", (top + height - bottom) / 2));

  double legend = top + 12;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const std::string_view colour = svg_colours[i % svg_colours.size()];
    for (const auto& piece : curves[i].fitted) {
      std::vector<SvgPoint> line;
      for (const PlotCurve::Point& point : piece) line.push_back({x_of(point.bytes), y_of(point.seconds)});
      svg.polyline(line, colour, " stroke-width=\"1.5\"");
    }
    for (const PlotCurve::Point& point : curves[i].measured) {
      svg.disc({x_of(point.bytes), y_of(point.seconds)}, 2.5, colour);
    }
    svg.disc({width - right + 16, legend - 4}, 3, colour);
    svg.text(width - right + 26, legend, "start", "measured, " + label_of(curves[i]));
    legend += 18;
  }
  svg.line({width - right + 8, legend - 4}, {width - right + 22, legend - 4}, "black", " stroke-width=\"1.5\"");
  svg.text(width - right + 26, legend, "start", fit.refusal.empty() ? "fitted" : "not fitted");
  return svg.file();
}

}  // namespace ddl
