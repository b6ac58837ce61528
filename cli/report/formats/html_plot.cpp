#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include "cli/report/figures.hpp"
#include "cli/report/formats/html_chart.hpp"
#include "cli/report/formats/html_drawing.hpp"

namespace ddl {
namespace {

constexpr double plot_height = 300, plot_top = 12;
/// The width of curves in the drawing's own units.
constexpr double plot_width = 10'000;
/// The widths in pixels at which texts must not overlap: of a phone, and of a window. A text that has room only in a window
/// is hidden on narrow screens.
constexpr std::array<double, 2> plot_pixels{270, 620};
constexpr double letter_width = 6.6, line_height = 14;

/// A text that may overlap with others: its center in shares of the width, the baseline, and its width in pixels.
struct LabelBox {
  double at = 0, y = 0, before = 0, behind = 0;
};

/// Keeps the texts that were drawn, and finds out for which widths a further text has room.
class TextPlaces {
 public:
  /// Returns, for each width in `plot_pixels`, whether the text has room. Keeps the text if it has room in a window.
  std::array<bool, 2> take(const LabelBox& text) {
    std::array<bool, 2> room{true, true};
    for (std::size_t i = 0; i < plot_pixels.size(); ++i) {
      for (const auto& [known, shown] : known_) {
        const double distance = (text.at - known.at) * plot_pixels[i];
        const bool overlaps = distance - text.before < known.behind && distance + text.behind > -known.before &&
                              std::abs(text.y - known.y) < line_height;
        if (overlaps && shown[i]) room[i] = false;
      }
    }
    if (room[1]) known_.push_back({text, room});
    return room;
  }

 private:
  struct Known {
    LabelBox text;
    std::array<bool, 2> shown;
  };
  std::vector<Known> known_;
};

class PlotWriter {
 public:
  explicit PlotWriter(const Plot& plot) : plot_(plot) {}

  [[nodiscard]] double x_of(double value) const { return std::clamp(place_on(plot_.x, value), 0.0, 1.0); }
  [[nodiscard]] double y_of(double value) const {
    return plot_top + plot_height * (1 - std::clamp(place_on(plot_.y, value), 0.0, 1.0));
  }

  void add_axes() {
    for (const Tick& tick : plot_.y.ticks) {
      const std::string y = short_coordinate(y_of(tick.at));
      grid += fmt::format("<line class=\"grid\" x1=\"0\" x2=\"100%\" y1=\"{0}\" y2=\"{0}\"/>\n", y);
    }
    TextPlaces places;
    for (const Tick& tick : plot_.x.ticks) {
      const double x = x_of(tick.at), wide = letter_width * static_cast<double>(display_width(tick.text)) + 8;
      const bool at_end = x > 0.9, in_middle = plot_.x.logarithmic && !at_end && x > 0.03;
      const LabelBox text{x, 0, at_end ? wide : in_middle ? wide / 2 : 0, at_end ? 0 : in_middle ? wide / 2 : wide};
      const std::array<bool, 2> room = places.take(text);
      grid += fmt::format("<line class=\"grid\" x1=\"{0}%\" x2=\"{0}%\" y1=\"{1}\" y2=\"{2}\"/>", short_coordinate(x * 100),
                          short_coordinate(plot_top), short_coordinate(plot_top + plot_height));
      if (room[1]) {
        grid += fmt::format("<text class=\"tick{}\" x=\"{}%\" y=\"{}\" text-anchor=\"{}\">{}</text>", room[0] ? "" : " wide",
                            short_coordinate(x * 100), short_coordinate(plot_top + plot_height + 16),
                            at_end      ? "end"
                            : in_middle ? "middle"
                                        : "start",
                            html_text(tick.text));
      }
      grid += '\n';
    }
  }

  void add_forbidden() {
    for (const Forbidden& each : plot_.forbidden) {
      const double x = each.x ? x_of(*each.x) : 0, y = each.y ? y_of(*each.y) : plot_top + plot_height;
      grid +=
          fmt::format("<rect class=\"forbidden\" x=\"{}%\" y=\"{}\" width=\"{}%\" height=\"{}\"><title>{}</title></rect>\n",
                      short_coordinate(x * 100), short_coordinate(plot_top), short_coordinate((1 - x) * 100),
                      short_coordinate(y - plot_top), html_text(each.name));
      legend += legend_entry("forbidden", each.name);
    }
  }

  void add(const Curve& curve) {
    if (!curve.kind.name.empty()) legend += legend_entry(class_of(curve.kind.tone), curve.kind.name);
    if (curve.points.empty()) return;
    const std::string_view tone = class_of(curve.kind.tone);
    if (curve.shape == Curve::Shape::points) {
      for (const PlotPoint& point : curve.points) add(point, tone);
      return;
    }
    std::string places;
    for (const PlotPoint& point : curve.points) places += place_of(point.x, point.y);
    const std::string bottom = short_coordinate(plot_top + plot_height);
    const bool is_layer = curve.shape == Curve::Shape::layer;
    if (is_layer || curve.shape == Curve::Shape::area) {
      curves += fmt::format("<polygon class=\"{}{}\" points=\"{},{} {}{},{}\"/>\n", tone, is_layer ? "" : " area",
                            short_coordinate(x_of(curve.points.front().x) * plot_width), bottom, places,
                            short_coordinate(x_of(curve.points.back().x) * plot_width), bottom);
    }
    if (is_layer) return;
    curves += fmt::format("<polyline class=\"{} line{}\" points=\"{}\"/>\n", tone,
                          curve.shape == Curve::Shape::dashes ? " dashes" : "", places);
  }

  std::string grid{}, curves{}, points{}, legend{};

 private:
  [[nodiscard]] std::string place_of(double x, double y) const {
    return fmt::format("{},{} ", short_coordinate(x_of(x) * plot_width), short_coordinate(y_of(y)));
  }

  void add(const PlotPoint& point, std::string_view tone) {
    if (!point.interval.empty()) {
      std::string places;
      for (const auto& [x, y] : point.interval) places += place_of(x, y);
      curves += fmt::format("<polyline class=\"{} line range\" points=\"{}\"/>\n", tone, places);
    }
    const double x = x_of(point.x), y = y_of(point.y);
    points += fmt::format("<circle class=\"{} p{}\" cx=\"{}%\" cy=\"{}\" r=\"{}\"><title>{}</title></circle>\n", tone,
                          point.is_chosen ? " chosen" : "", short_coordinate(x * 100), short_coordinate(y),
                          point.is_chosen ? 8 : 4, html_text(point.text));
    if (point.label.empty()) return;
    const double wide = letter_width * static_cast<double>(display_width(point.label)) + 4;
    // A label is drawn above its point, else below it.
    for (const double down : {point.is_chosen ? -14.0 : -9.0, point.is_chosen ? 22.0 : 17.0}) {
      const bool at_end = x > 0.93, at_start = x < 0.04;
      const double before = at_end ? wide : at_start ? 0 : wide / 2;
      const std::array<bool, 2> room = labels_.take({x, y + down, before, wide - before});
      if (!room[1]) continue;
      points += fmt::format("<text class=\"label{}{}\" x=\"{}%\" y=\"{}\" text-anchor=\"{}\">{}</text>\n",
                            point.is_chosen ? " strong" : "", room[0] ? "" : " wide", short_coordinate(x * 100),
                            short_coordinate(y + down),
                            at_end     ? "end"
                            : at_start ? "start"
                                       : "middle",
                            html_text(point.label));
      return;
    }
  }

  const Plot& plot_;
  TextPlaces labels_;
};

}  // namespace

std::string html_plot(const Chart& chart, const Plot& plot, std::string_view id) {
  PlotWriter writer(plot);
  writer.add_forbidden();
  writer.add_axes();
  for (const Curve& curve : plot.curves) writer.add(curve);
  std::size_t longest = 0;
  for (const Tick& tick : plot.y.ticks) longest = std::max(longest, display_width(tick.text));
  const double side = 7.0 * static_cast<double>(longest) + 8, height = plot_top + plot_height + 24;
  std::string names;
  for (const Tick& tick : plot.y.ticks) {
    names += fmt::format("<text class=\"tick\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n",
                         short_coordinate(side - 6), short_coordinate(writer.y_of(tick.at) + 4), html_text(tick.text));
  }
  std::string out;
  if (!plot.y.title.empty()) out += fmt::format("<p class=\"axis\">{}</p>\n", html_text(plot.y.title));
  out += fmt::format("<div class=\"plot\"><svg aria-hidden=\"true\" width=\"{0}\" height=\"{1}\">{2}</svg>\n",
                     short_coordinate(side), short_coordinate(height), names);
  out += begin_drawing(fmt::format("{}-1", id),
                       fmt::format("class=\"plane\" width=\"100%\" height=\"{}\"", short_coordinate(height)),
                       chart.title + ": " + chart.description);
  out += writer.grid;
  out += fmt::format(
      "<svg x=\"0\" y=\"0\" width=\"100%\" height=\"{0}\" viewBox=\"0 0 {1:.0f} {0}\" "
      "preserveAspectRatio=\"none\">{2}</svg>\n",
      short_coordinate(height), plot_width, writer.curves);
  out += writer.points + "</svg></div>\n";
  if (!plot.x.title.empty()) out += fmt::format("<p class=\"axis below-plot\">{}</p>\n", html_text(plot.x.title));
  return out + "<ul class=\"legend\">" + writer.legend + "</ul>\n";
}

}  // namespace ddl
