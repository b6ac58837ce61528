#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "cli/report/formats/html_chart.hpp"
#include "cli/report/formats/html_drawing.hpp"

namespace ddl {

std::string html_bars(const Chart& chart, const StackedBars& bars, std::string_view id) {
  /// The width of a drawing in the drawing's own units. Browsers scale the drawing to the width of the page.
  constexpr double across = 100'000;
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
    out += begin_drawing(fmt::format("{}-{}", id, i + 1),
                         fmt::format("class=\"bar\" width=\"100%\" height=\"{}\" viewBox=\"0 0 {:.0f} 20\" "
                                     "preserveAspectRatio=\"none\" data-unit=\"{}\" data-sum=\"{}\"",
                                     20, across, html_text(bars.unit), sums[i]),
                         fmt::format("{}: {}, {}", chart.title, bar.label, bar.sum));
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

}  // namespace ddl
