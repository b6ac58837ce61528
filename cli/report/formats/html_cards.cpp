#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "cli/report/formats/html_chart.hpp"
#include "cli/report/formats/html_drawing.hpp"
#include "core/enum_array.hpp"

namespace ddl {

namespace {

constexpr EnumNames<Grade> grade_classes{"", "fits", "risk", "bad"};

std::string gauge_of(const Gauge& gauge, Grade grade, std::string_view id) {
  const auto place = [&](double value) {
    return gauge.to > gauge.from ? 100 * std::clamp((value - gauge.from) / (gauge.to - gauge.from), 0.0, 1.0) : 0.0;
  };
  const double value = place(gauge.value), low = place(gauge.low), high = place(gauge.high);
  std::string out =
      begin_drawing(id, fmt::format("class=\"gauge {}\" width=\"100%\" height=\"14\"", grade_classes[grade]), gauge.text);
  const auto bar = [&](std::string_view css_class, double from, double to, double height) {
    out += fmt::format("<rect class=\"{}\" x=\"{}%\" y=\"{}\" width=\"{}%\" height=\"{}\" rx=\"2\"/>", css_class,
                       short_coordinate(from), short_coordinate(7 - height / 2), short_coordinate(std::max(to - from, 0.0)),
                       short_coordinate(height));
  };
  bar("scale", 0, 100, gauge.is_filled ? 14 : 6);
  if (gauge.is_filled) bar("used", 0, value, 14);
  bar("range", gauge.is_filled ? value : low, high, gauge.is_filled ? 14 : 6);
  if (!gauge.is_filled) out += fmt::format("<circle class=\"dot\" cx=\"{}%\" cy=\"7\" r=\"5.5\"/>", short_coordinate(value));
  return out + "</svg>\n";
}

}  // namespace

std::string html_cards(const Cards& cards, std::string_view id) {
  std::string out = "<ul class=\"cards\" aria-label=\"Answer\">\n";
  for (std::size_t i = 0; i < cards.cards.size(); ++i) {
    const Card& card = cards.cards[i];
    out += fmt::format("<li class=\"card\"><p class=\"card-label\">{}</p>\n", html_text(card.label));
    if (!card.figure.empty() || !card.badge.empty()) {
      out += fmt::format("<p class=\"card-figure\"><b>{}</b>{}", html_text(card.figure),
                         card.about.empty() ? "" : " <small>" + html_text(card.about) + "</small>");
      if (!card.badge.empty())
        out += fmt::format(" <span class=\"badge {}\">{}</span>", grade_classes[card.grade], html_text(card.badge));
      out += "</p>\n";
    }
    if (card.gauge) out += gauge_of(*card.gauge, card.grade, fmt::format("{}-{}", id, i + 1));
    for (const std::string& detail : card.details)
      out += fmt::format("<p class=\"card-detail\">{}</p>\n", html_text(detail));
    out += "</li>\n";
  }
  return out + "</ul>\n";
}

}  // namespace ddl
