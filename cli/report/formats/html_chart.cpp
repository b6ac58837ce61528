#include "cli/report/formats/html_chart.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "cli/report/figures.hpp"
#include "core/enum_array.hpp"
#include "core/source_text.hpp"
#include "core/xml_text.hpp"

namespace ddl {
namespace {

/// Maximum number of slices with texts. If there are more, each lane has one path per Kind, without texts.
constexpr std::size_t slices_with_texts = 4000;
/// The width of a drawing in the drawing's own units. Browsers scale the drawing to the width of the page.
constexpr double across = 100'000;
constexpr double lane_height = 22;

std::string_view class_of(Tone tone) {
  constexpr EnumNames<Tone> names{"t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8", "t9"};
  return names[tone];
}

std::string legend_of(const std::vector<Kind>& kinds) {
  std::string out = "<ul class=\"legend\">";
  for (const Kind& kind : kinds) {
    out += fmt::format(
        "<li><svg class=\"swatch\" width=\"12\" height=\"12\" aria-hidden=\"true\"><rect class=\"{}\" "
        "width=\"12\" height=\"12\"/></svg> {}</li>",
        class_of(kind.tone), html_text(kind.name));
  }
  return out + "</ul>\n";
}

/// Starts a drawing with an accessible name.
std::string begin_drawing(std::string_view id, std::string_view attributes, std::string_view title) {
  return fmt::format("<svg role=\"img\" aria-labelledby=\"{0}\" {1}><title id=\"{0}\">{2}</title>\n", id, attributes,
                     html_text(title));
}

/// Formats a coordinate without digits that would make no visible difference.
std::string short_coordinate(double value) {
  std::string text = fmt::format("{:.2f}", value);
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text;
}

class ChartWriter {
 public:
  ChartWriter(const Chart& chart, std::string_view id) : chart_(chart), id_(id) {}

  std::string operator()(const StackedBars& bars) const {
    double most = bars.limit;
    std::vector<double> sums;
    for (const Bar& bar : bars.bars) {
      sums.push_back(std::accumulate(bar.values.begin(), bar.values.end(), 0.0));
      most = std::max(most, sums.back());
    }
    if (most <= 0) most = 1;
    std::string out;
    for (std::size_t i = 0; i < bars.bars.size(); ++i) {
      const Bar& bar = bars.bars[i];
      out += fmt::format("<p class=\"bar-label\">{} <b>{}</b></p>\n", html_text(bar.label), html_text(bar.sum));
      out += begin_drawing(fmt::format("{}-{}", id_, i + 1),
                           fmt::format("class=\"bar\" width=\"100%\" height=\"{}\" viewBox=\"0 0 {:.0f} 20\" "
                                       "preserveAspectRatio=\"none\" data-unit=\"{}\" data-sum=\"{}\"",
                                       20, across, html_text(bars.unit), sums[i]),
                           fmt::format("{}: {}, {}", chart_.title, bar.label, bar.sum));
      double from = 0;
      for (std::size_t k = 0; k < bars.kinds.size(); ++k) {
        const double value = bar.values[k];
        if (value > 0) {
          out += fmt::format(
              "<rect class=\"{}\" x=\"{}\" width=\"{}\" height=\"20\" data-value=\"{}\"><title>{}: {}</title></rect>\n",
              class_of(bars.kinds[k].tone), short_coordinate(from / most * across), short_coordinate(value / most * across),
              value, html_text(bars.kinds[k].name), html_text(bar.texts[k]));
        }
        from += value;
      }
      if (bars.limit > 0) {
        // The limit is a rectangle, because the browser would scale the width of a line.
        const double at = std::min(bars.limit / most * across, across - 400);
        out += fmt::format("<rect class=\"limit\" x=\"{}\" width=\"400\" height=\"20\"><title>{}</title></rect>\n",
                           short_coordinate(at), html_text(bars.limit_name));
      }
      out += "</svg>\n";
    }
    std::vector<Kind> kinds = bars.kinds;
    if (bars.limit > 0) kinds.push_back({bars.limit_name, Tone::vermilion});
    return out + legend_of(kinds);
  }

  std::string operator()(const Lanes& lanes) const {
    std::size_t slices = 0;
    for (const Lane& lane : lanes.lanes) slices += lane.slices.size();
    const double length = lanes.length > 0 ? lanes.length : 1;
    const auto x_of = [&](double time) { return time / length; };
    const double height = lane_height * static_cast<double>(lanes.lanes.size());
    std::string out = fmt::format(
        "<p class=\"zoom\" hidden><button type=\"button\" data-zoom=\"2\" aria-label=\"Zoom in\">+</button> <button "
        "type=\"button\" data-zoom=\"0.5\" aria-label=\"Zoom out\">−</button> <button type=\"button\" data-zoom=\"0\">whole "
        "step</button> <output aria-live=\"polite\"></output></p>\n");
    out += "<div class=\"lanes\"><div class=\"lane-names\" aria-hidden=\"true\">";
    for (const Lane& lane : lanes.lanes) out += fmt::format("<div>{}</div>", html_text(lane.name));
    out += fmt::format("</div>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n",
                       html_text(chart_.title + ", can be scrolled"));
    out += begin_drawing(fmt::format("{}-1", id_),
                         fmt::format("class=\"timeline\" width=\"100%\" height=\"{}\"", short_coordinate(height + 24)),
                         chart_.title + ": " + chart_.description);
    out += fmt::format(
        "<svg x=\"0\" y=\"0\" width=\"100%\" height=\"{0}\" viewBox=\"0 0 {1:.0f} {0}\" "
        "preserveAspectRatio=\"none\">\n",
        short_coordinate(height), across);
    std::string labels;
    for (std::size_t l = 0; l < lanes.lanes.size(); ++l) {
      const double y = lane_height * static_cast<double>(l);
      out += fmt::format("<rect class=\"lane\" y=\"{}\" width=\"{:.0f}\" height=\"{}\"/>\n", short_coordinate(y + 1), across,
                         short_coordinate(lane_height - 2));
      std::vector<std::string> paths(lanes.kinds.size());
      for (const LaneSlice& slice : lanes.lanes[l].slices) {
        const double from = x_of(slice.begin) * across, width = x_of(slice.end - slice.begin) * across;
        if (slices > slices_with_texts) {
          paths[slice.kind] +=
              fmt::format("M{} {}h{}v{}h-{}z", short_coordinate(from), short_coordinate(y + 2), short_coordinate(width),
                          short_coordinate(lane_height - 4), short_coordinate(width));
          continue;
        }
        // Narrow slices have no border, because a border would hide them.
        const bool is_narrow = width < 0.004 * across;
        out += fmt::format(
            "<rect class=\"{}{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" data-begin=\"{}\" "
            "data-end=\"{}\"><title>{}</title></rect>\n",
            class_of(lanes.kinds[slice.kind].tone), is_narrow ? "" : " s", short_coordinate(from), short_coordinate(y + 2),
            short_coordinate(width), short_coordinate(lane_height - 4), slice.begin, slice.end, html_text(slice.text));
        if (!slice.label.empty()) {
          const double share = x_of(slice.end - slice.begin);
          // Without a script, a label is shown only if it fits on a page of 700 pixels.
          const bool fits = share * 700 > 7.0 * static_cast<double>(slice.label.size()) + 3;
          labels += fmt::format("<text class=\"{} o{}\" x=\"{}%\" y=\"{}\" data-share=\"{:.6f}\">{}</text>\n",
                                fits ? "in" : "in off", static_cast<int>(lanes.kinds[slice.kind].tone),
                                short_coordinate(x_of((slice.begin + slice.end) / 2) * 100),
                                short_coordinate(y + lane_height / 2 + 4), share, html_text(slice.label));
        }
      }
      for (std::size_t k = 0; k < paths.size(); ++k) {
        if (!paths[k].empty())
          out += fmt::format("<path class=\"{}\" d=\"{}\"/>\n", class_of(lanes.kinds[k].tone), paths[k]);
      }
    }
    out += "</svg>\n<g aria-hidden=\"true\">\n" + labels;
    constexpr int ticks = 32, named_each = 8;
    for (int i = 0; i <= ticks; ++i) {
      const bool last = i == ticks;
      out += fmt::format("<text class=\"tick{}\" x=\"{}%\" y=\"{}\" text-anchor=\"{}\">{}{}</text>\n",
                         i % named_each == 0 ? "" : " fine off", short_coordinate(100.0 * i / ticks),
                         short_coordinate(height + 16),
                         i == 0 ? "start"
                         : last ? "end"
                                : "middle",
                         i == 0 ? "0" : fine_figure(length * i / ticks * lanes.factor),
                         i % named_each == 0 ? " " + html_text(lanes.unit) : "");
    }
    return out + "</g></svg>\n</div></div>\n" + legend_of(lanes.kinds);
  }

  std::string operator()(const Plot& plot) const {
    constexpr double width = 720, height = 360, left = 84, right = 24, top = 10, bottom = 44;
    const auto scaled = [](const ChartAxis& axis, double value) {
      if (!axis.logarithmic) return axis.to > axis.from ? (value - axis.from) / (axis.to - axis.from) : 0.0;
      return std::log(value / axis.from) / std::log(axis.to / axis.from);
    };
    const auto x_of = [&](double value) { return left + (width - left - right) * scaled(plot.x, value); };
    const auto y_of = [&](double value) { return height - bottom - (height - top - bottom) * scaled(plot.y, value); };
    std::string out = "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"" +
                      html_text(chart_.title + ", can be scrolled") + "\">\n";
    out += begin_drawing(fmt::format("{}-1", id_), fmt::format("class=\"plot\" viewBox=\"0 0 {} {}\"", width, height),
                         chart_.title + ": " + chart_.description);
    for (const Tick& tick : plot.y.ticks) {
      const double y = y_of(tick.at);
      out += fmt::format(
          "<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/><text x=\"{}\" y=\"{}\" "
          "text-anchor=\"end\">{}</text>\n",
          left, width - right, short_coordinate(y), short_coordinate(y), left - 6, short_coordinate(y + 4),
          html_text(tick.text));
    }
    double free = 0;
    for (const Tick& tick : plot.x.ticks) {
      const double x = x_of(tick.at), half = plot.x.logarithmic ? 3.5 * static_cast<double>(display_width(tick.text)) : 0;
      out += fmt::format("<line class=\"grid\" x1=\"{0}\" x2=\"{0}\" y1=\"{1}\" y2=\"{2}\"/>", short_coordinate(x), top,
                         height - bottom);
      // Names of ticks that would overlap are omitted.
      if (x - half >= free && x + 7.0 * static_cast<double>(display_width(tick.text)) - half <= width) {
        out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>", short_coordinate(x), height - bottom + 16,
                           plot.x.logarithmic ? "middle" : "start", html_text(tick.text));
        free = x - half + 7.5 * static_cast<double>(display_width(tick.text)) + 6;
      }
      out += '\n';
    }
    out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", (left + width - right) / 2, height - 8,
                       html_text(plot.x.title));
    if (!plot.y.title.empty()) {
      out += fmt::format("<text transform=\"translate(12 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n", height / 2,
                         html_text(plot.y.title));
    }
    std::vector<Kind> kinds;
    for (const Curve& curve : plot.curves) {
      if (!curve.kind.name.empty()) kinds.push_back(curve.kind);
      const std::string_view tone = class_of(curve.kind.tone);
      if (curve.shape == Curve::Shape::points) {
        for (const PlotPoint& point : curve.points) {
          out += fmt::format("<circle class=\"{} p\" cx=\"{}\" cy=\"{}\" r=\"4\"><title>{}</title></circle>\n", tone,
                             short_coordinate(x_of(point.x)), short_coordinate(y_of(point.y)), html_text(point.text));
        }
        continue;
      }
      std::string points;
      for (const PlotPoint& point : curve.points)
        points += fmt::format("{}{},{}", points.empty() ? "" : " ", short_coordinate(x_of(point.x)),
                              short_coordinate(y_of(point.y)));
      if (curve.shape == Curve::Shape::area && !curve.points.empty()) {
        out += fmt::format("<polygon class=\"{} area\" points=\"{},{} {} {},{}\"/>\n", tone,
                           short_coordinate(x_of(curve.points.front().x)), height - bottom, points,
                           short_coordinate(x_of(curve.points.back().x)), height - bottom);
      }
      out += fmt::format("<polyline class=\"{} line{}\" points=\"{}\"/>\n", tone,
                         curve.shape == Curve::Shape::dashes ? " dashes" : "", points);
    }
    return out + "</svg></div>\n" + legend_of(kinds);
  }

 private:
  const Chart& chart_;
  std::string_view id_;
};

}  // namespace

std::string html_text(std::string_view text) { return xml_text(visible(text)); }

std::string html_chart(const Chart& chart, std::string_view id) {
  return fmt::format("<figure><figcaption>{}</figcaption>\n{}</figure>\n", html_text(chart.title),
                     std::visit(ChartWriter(chart, id), chart.drawing));
}

}  // namespace ddl
