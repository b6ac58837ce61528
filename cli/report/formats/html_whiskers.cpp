#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "cli/report/figures.hpp"
#include "cli/report/formats/html_chart.hpp"
#include "cli/report/formats/html_drawing.hpp"

namespace ddl {
namespace {

constexpr double row_height = 26;

std::string percent_on(const ChartAxis& axis, double value) {
  return short_coordinate(100 * std::clamp(place_on(axis, value), 0.0, 1.0));
}

/// Returns the band behind a row that ties with others: from the smallest value of the tie to the largest.
std::string band_of(const Whiskers& whiskers, std::size_t row) {
  for (const TieBand& tie : whiskers.ties) {
    if (row < tie.first || row > tie.last) continue;
    double from = whiskers.rows[tie.first].value, to = from;
    for (std::size_t i = tie.first; i <= tie.last; ++i) {
      from = std::min(from, whiskers.rows[i].value);
      to = std::max(to, whiskers.rows[i].value);
    }
    const double begin = 100 * place_on(whiskers.x, from), end = 100 * place_on(whiskers.x, to);
    return fmt::format("<rect class=\"tie\" x=\"{}%\" y=\"0\" width=\"{}%\" height=\"{}\"/>", short_coordinate(begin),
                       short_coordinate(std::max(end - begin, 0.5)), short_coordinate(row_height));
  }
  return {};
}

std::string whisker_row(const Whiskers& whiskers, std::size_t row, std::string_view id) {
  const Whisker& each = whiskers.rows[row];
  const std::string middle = short_coordinate(row_height / 2), height = short_coordinate(row_height);
  const std::string low = percent_on(whiskers.x, each.low), high = percent_on(whiskers.x, each.high);
  std::string out = fmt::format("<li class=\"whisker{}{}\"><span class=\"name\">{}</span>", each.is_chosen ? " chosen" : "",
                                each.is_faint ? " faint" : "", html_text(each.label));
  out += begin_drawing(fmt::format("{}-{}", id, row + 1), fmt::format("width=\"100%\" height=\"{}\"", height), each.text);
  out += band_of(whiskers, row);
  for (const Tick& tick : whiskers.x.ticks) {
    out += fmt::format("<line class=\"grid\" x1=\"{0}%\" x2=\"{0}%\" y1=\"0\" y2=\"{1}\"/>", percent_on(whiskers.x, tick.at),
                       height);
  }
  if (each.high > each.low) {
    out += fmt::format("<line class=\"range\" x1=\"{}%\" x2=\"{}%\" y1=\"{}\" y2=\"{}\"/>", low, high, middle, middle);
    for (const std::string& end : {low, high}) {
      out += fmt::format("<line class=\"range\" x1=\"{0}%\" x2=\"{0}%\" y1=\"{1}\" y2=\"{2}\"/>", end,
                         short_coordinate(row_height / 2 - 4), short_coordinate(row_height / 2 + 4));
    }
  }
  out += fmt::format("<circle class=\"dot\" cx=\"{}%\" cy=\"{}\" r=\"{}\"/></svg><span class=\"value\">{}</span></li>\n",
                     percent_on(whiskers.x, each.value), middle, each.is_chosen ? 6.5 : 4.5, html_text(each.figure));
  return out;
}

}  // namespace

std::string html_whiskers(const Whiskers& whiskers, std::string_view id) {
  std::string out = "<ol class=\"whiskers\">\n";
  for (std::size_t row = 0; row < whiskers.rows.size(); ++row) out += whisker_row(whiskers, row, id);
  out +=
      "</ol>\n<div class=\"whisker scale\" aria-hidden=\"true\"><span class=\"name\"></span><svg aria-hidden=\"true\" "
      "width=\"100%\" height=\"18\">";
  // On narrow screens, every second of many ticks has no text.
  constexpr std::size_t few = 4;
  for (std::size_t i = 0; i < whiskers.x.ticks.size(); ++i) {
    const Tick& tick = whiskers.x.ticks[i];
    const double at = place_on(whiskers.x, tick.at);
    const bool is_minor = whiskers.x.ticks.size() > few && i % 2 == 1;
    out += fmt::format("<text class=\"tick{}\" x=\"{}%\" y=\"13\" text-anchor=\"{}\">{}</text>", is_minor ? " wide" : "",
                       percent_on(whiskers.x, tick.at),
                       at < 0.05   ? "start"
                       : at > 0.95 ? "end"
                                   : "middle",
                       html_text(tick.text));
  }
  out += "</svg><span class=\"value\"></span></div>\n<ul class=\"legend\">";
  const auto has_chosen = [](const Whisker& each) { return each.is_chosen; };
  if (std::ranges::any_of(whiskers.rows, has_chosen)) out += legend_entry("chosen-key", whiskers.chosen_name);
  if (!whiskers.interval_name.empty()) out += legend_entry("range-key", whiskers.interval_name);
  if (!whiskers.ties.empty()) out += legend_entry("tie", whiskers.tie_name);
  return out + "</ul>\n";
}

}  // namespace ddl
