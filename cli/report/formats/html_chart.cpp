#include "cli/report/formats/html_chart.hpp"

#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "cli/report/formats/html_drawing.hpp"
#include "core/enum_array.hpp"
#include "core/source_text.hpp"
#include "core/xml_text.hpp"

namespace ddl {
namespace {

/// Writes the drawing of a chart by its type.
struct ChartWriter {
  const Chart& chart;
  std::string_view id;

  std::string operator()(const StackedBars& bars) const { return html_bars(chart, bars, id); }
  std::string operator()(const Lanes& lanes) const { return html_lanes(chart, lanes, id); }
  std::string operator()(const Plot& plot) const { return html_plot(chart, plot, id); }
  std::string operator()(const Whiskers& whiskers) const { return html_whiskers(whiskers, id); }
  std::string operator()(const Cards& cards) const { return html_cards(cards, id); }
};

}  // namespace

std::string html_text(std::string_view text) { return xml_text(visible(text)); }

std::string_view class_of(Tone tone) {
  constexpr EnumNames<Tone> names{"t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8", "t9", "t10"};
  return names[tone];
}

std::string legend_entry(std::string_view css_class, std::string_view name) {
  return fmt::format(
      "<li><svg class=\"swatch\" width=\"12\" height=\"12\" aria-hidden=\"true\"><rect class=\"{}\" width=\"12\" "
      "height=\"12\"/></svg> {}</li>",
      css_class, html_text(name));
}

std::string legend_of(const std::vector<Kind>& kinds) {
  std::string out = "<ul class=\"legend\">";
  for (const Kind& kind : kinds) {
    if (!kind.name.empty()) out += legend_entry(class_of(kind.tone), kind.name);
  }
  return out + "</ul>\n";
}

std::string begin_drawing(std::string_view id, std::string_view attributes, std::string_view title) {
  return fmt::format("<svg role=\"img\" aria-labelledby=\"{0}\" {1}><title id=\"{0}\">{2}</title>\n", id, attributes,
                     html_text(title));
}

std::string short_coordinate(double value) {
  std::string text = fmt::format("{:.2f}", value);
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text;
}

double place_on(const ChartAxis& axis, double value) {
  if (!axis.logarithmic) return axis.to > axis.from ? (value - axis.from) / (axis.to - axis.from) : 0.0;
  return std::log(value / axis.from) / std::log(axis.to / axis.from);
}

std::string html_chart(const Chart& chart, std::string_view id) {
  const std::string drawn = std::visit(ChartWriter{chart, id}, chart.drawing);
  if (chart.title.empty()) return drawn;
  return fmt::format("<figure><figcaption>{}</figcaption>\n{}</figure>\n", html_text(chart.title), drawn);
}

}  // namespace ddl
