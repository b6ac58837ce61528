#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "calibration/communication/fit_plot.hpp"
#include "core/units.hpp"
#include "core/xml_text.hpp"

namespace ddl {
namespace {

constexpr double width = 760;
constexpr double height = 480;
constexpr double left = 80;
constexpr double right = 200;  // the legend's
constexpr double top = 40;
constexpr double bottom = 60;
// Told apart by colour-blind readers too (Okabe & Ito, "Color Universal Design", 2008).
constexpr std::array<std::string_view, 7> colours{"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                  "#E69F00", "#56B4E9", "#000000"};

std::string text_at(double x, double y, std::string_view anchor, std::string_view text, std::string_view more = "") {
  return fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}"{}>{}</text>)"
                     "\n",
                     x, y, anchor, more, xml_text(text));
}

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

  std::string svg = fmt::format(
      R"(<?xml version="1.0" encoding="UTF-8"?>)"
      "\n"
      R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" font-family="sans-serif" font-size="12">)"
      "\n"
      R"(<rect width="{0}" height="{1}" fill="white"/>)"
      "\n",
      width, height);
  svg += text_at(left, top - 16, "start", title_of(fit), R"( font-size="14")");

  // Sizes by factors of 16, a tick for each decade of time.
  for (double bytes = std::exp2(4 * std::ceil(std::log2(frame.min_bytes) / 4 - 1e-9)); bytes <= frame.max_bytes * (1 + 1e-9);
       bytes *= 16) {
    svg += fmt::format(R"(<line x1="{0:.1f}" y1="{1:.1f}" x2="{0:.1f}" y2="{2:.1f}" stroke="#dddddd"/>)"
                       "\n",
                       x_of(bytes), top, height - bottom);
    svg += text_at(x_of(bytes), height - bottom + 16, "middle", humanize(Bytes(bytes)));
  }
  for (double seconds = std::pow(10, std::ceil(std::log10(frame.min_seconds) - 1e-9));
       seconds <= frame.max_seconds * (1 + 1e-9); seconds *= 10) {
    svg += fmt::format(R"(<line x1="{0:.1f}" y1="{2:.1f}" x2="{1:.1f}" y2="{2:.1f}" stroke="#dddddd"/>)"
                       "\n",
                       left, width - right, y_of(seconds));
    svg += text_at(left - 6, y_of(seconds) + 4, "end", humanize(Seconds(seconds)));
  }
  svg += fmt::format(R"(<rect x="{}" y="{}" width="{}" height="{}" fill="none" stroke="black"/>)"
                     "\n",
                     left, top, width - left - right, height - top - bottom);
  svg += text_at((left + width - right) / 2, height - 16, "middle", "message (bytes)");
  svg += text_at(18, (top + height - bottom) / 2, "middle", "time (seconds)",
                 fmt::format(R"svg( transform="rotate(-90 18 {:.1f})")svg", (top + height - bottom) / 2));

  double legend = top + 12;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const std::string_view colour = colours[i % colours.size()];
    for (const auto& piece : curves[i].fitted) {
      std::string line;
      for (const PlotCurve::Point& point : piece) {
        line += fmt::format("{}{:.1f},{:.1f}", line.empty() ? "" : " ", x_of(point.bytes), y_of(point.seconds));
      }
      svg += fmt::format(R"(<polyline points="{}" fill="none" stroke="{}" stroke-width="1.5"/>)"
                         "\n",
                         line, colour);
    }
    for (const PlotCurve::Point& point : curves[i].measured) {
      svg += fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="2.5" fill="{}"/>)"
                         "\n",
                         x_of(point.bytes), y_of(point.seconds), colour);
    }
    svg += fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="3" fill="{}"/>)"
                       "\n",
                       width - right + 16, legend - 4, colour);
    svg += text_at(width - right + 26, legend, "start", "measured, " + label_of(curves[i]));
    legend += 18;
  }
  svg += fmt::format(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="black" stroke-width="1.5"/>)"
                     "\n",
                     width - right + 8, legend - 4, width - right + 22, legend - 4);
  svg += text_at(width - right + 26, legend, "start", fit.refusal.empty() ? "fitted" : "not fitted");
  return svg + "</svg>\n";
}

}  // namespace ddl
