#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include "cli/report/figures.hpp"
#include "cli/report/formats/html_chart.hpp"
#include "cli/report/formats/html_drawing.hpp"

namespace ddl {
namespace {

/// Maximum number of slices with texts. If there are more, each lane has one path per Kind, without texts.
constexpr std::size_t slices_with_texts = 4000;
/// The width of a timeline in the drawing's own units. Browsers scale the drawing to the width of the page.
constexpr double timeline_width = 100'000;

double height_of(const Lane& lane) { return lane.is_narrow ? 12 : 22; }

constexpr std::string_view zoom_buttons =
    "<p class=\"zoom\" hidden><button type=\"button\" data-zoom=\"2\" aria-label=\"Zoom in\">+</button> <button "
    "type=\"button\" data-zoom=\"0.5\" aria-label=\"Zoom out\">−</button> <button type=\"button\" data-zoom=\"0\">whole "
    "step</button> <output aria-live=\"polite\"></output></p>\n";

/// Writes the slices of all lanes, and collects their labels.
class LanesWriter {
 public:
  explicit LanesWriter(const Lanes& lanes) : lanes_(lanes), length_(lanes.length > 0 ? lanes.length : 1) {
    std::size_t slices = 0;
    for (const Lane& lane : lanes.lanes) slices += lane.slices.size();
    has_texts_ = slices <= slices_with_texts;
  }

  void add(const Lane& lane) {
    const double height = height_of(lane);
    slices += fmt::format("<rect class=\"lane\" y=\"{}\" width=\"{:.0f}\" height=\"{}\"/>\n", short_coordinate(y_ + 1),
                          timeline_width, short_coordinate(height - (lane.is_narrow ? 3 : 1)));
    std::vector<std::string> paths(lanes_.kinds.size());
    for (const LaneSlice& slice : lane.slices) {
      const double from = slice.begin / length_ * timeline_width,
                   width = (slice.end - slice.begin) / length_ * timeline_width;
      const double y = y_ + 1, high = height - (lane.is_narrow ? 3 : 1);
      if (!has_texts_) {
        paths[slice.kind] += fmt::format("M{} {}h{}v{}h-{}z", short_coordinate(from), short_coordinate(y),
                                         short_coordinate(width), short_coordinate(high), short_coordinate(width));
        continue;
      }
      // Short slices have no border, because a border would hide them.
      const bool is_short = width < 0.004 * timeline_width;
      slices += fmt::format(
          "<rect class=\"{}{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" data-begin=\"{}\" "
          "data-end=\"{}\"><title>{}</title></rect>\n",
          class_of(lanes_.kinds[slice.kind].tone), is_short ? "" : " s", short_coordinate(from), short_coordinate(y),
          short_coordinate(width), short_coordinate(high), slice.begin, slice.end, html_text(slice.text));
      if (!slice.label.empty()) add_label(slice);
    }
    for (std::size_t k = 0; k < paths.size(); ++k) {
      if (!paths[k].empty())
        slices += fmt::format("<path class=\"{}\" d=\"{}\"/>\n", class_of(lanes_.kinds[k].tone), paths[k]);
    }
    y_ += height;
  }

  std::string slices{}, labels{};

 private:
  void add_label(const LaneSlice& slice) {
    const double share = (slice.end - slice.begin) / length_;
    // Without a script, a label is shown only if it fits on a page of 700 pixels.
    const bool fits = share * 700 > 7.0 * static_cast<double>(slice.label.size()) + 3;
    labels += fmt::format("<text class=\"{} o{}\" x=\"{}%\" y=\"{}\" data-share=\"{:.6f}\">{}</text>\n",
                          fits ? "in" : "in off", static_cast<int>(lanes_.kinds[slice.kind].tone),
                          short_coordinate((slice.begin + slice.end) / 2 / length_ * 100), short_coordinate(y_ + 15), share,
                          html_text(slice.label));
  }

  const Lanes& lanes_;
  double length_, y_ = 0;
  bool has_texts_ = true;
};

std::string time_ticks(const Lanes& lanes, double y) {
  constexpr int ticks = 32, named_each = 8;
  std::string out;
  for (int i = 0; i <= ticks; ++i) {
    const bool is_last = i == ticks, is_named = i % named_each == 0;
    out += fmt::format("<text class=\"tick{}\" x=\"{}%\" y=\"{}\" text-anchor=\"{}\">{}{}</text>\n",
                       is_named ? "" : " fine off", short_coordinate(100.0 * i / ticks), short_coordinate(y),
                       i == 0    ? "start"
                       : is_last ? "end"
                                 : "middle",
                       i == 0 ? "0" : fine_figure(lanes.length * i / ticks * lanes.factor),
                       is_named ? " " + html_text(lanes.unit) : "");
  }
  return out;
}

}  // namespace

std::string html_lanes(const Chart& chart, const Lanes& lanes, std::string_view id) {
  double height = 0;
  std::string names;
  LanesWriter writer(lanes);
  for (const Lane& lane : lanes.lanes) {
    names += fmt::format("<div{}>{}</div>", lane.is_narrow ? " class=\"narrow\"" : "", html_text(lane.name));
    height += height_of(lane);
    writer.add(lane);
  }
  std::string out(zoom_buttons);
  out += "<div class=\"lanes\"><div class=\"lane-names\" aria-hidden=\"true\">" + names;
  out += fmt::format("</div>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n",
                     html_text(chart.title + ", can be scrolled"));
  out += begin_drawing(fmt::format("{}-1", id),
                       fmt::format("class=\"timeline\" width=\"100%\" height=\"{}\"", short_coordinate(height + 24)),
                       chart.title + ": " + chart.description);
  out += fmt::format(
      "<svg x=\"0\" y=\"0\" width=\"100%\" height=\"{0}\" viewBox=\"0 0 {1:.0f} {0}\" "
      "preserveAspectRatio=\"none\">\n{2}</svg>\n<g aria-hidden=\"true\">\n{3}{4}</g></svg>\n</div></div>\n",
      short_coordinate(height), timeline_width, writer.slices, writer.labels, time_ticks(lanes, height + 16));
  return out + legend_of(lanes.kinds);
}

}  // namespace ddl
