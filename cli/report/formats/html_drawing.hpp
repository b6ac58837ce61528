#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/report/chart.hpp"

namespace ddl {

[[nodiscard]] std::string_view class_of(Tone tone);
/// Returns a list with the color and the name of each Kind. Kinds without a name are left out.
[[nodiscard]] std::string legend_of(const std::vector<Kind>& kinds);
/// Returns an entry of a legend, whose color is a CSS class.
[[nodiscard]] std::string legend_entry(std::string_view css_class, std::string_view name);
/// Starts a drawing with an accessible name.
[[nodiscard]] std::string begin_drawing(std::string_view id, std::string_view attributes, std::string_view title);
/// Formats a coordinate without digits that would make no visible difference.
[[nodiscard]] std::string short_coordinate(double value);
/// Returns the position of a value on an axis, from 0 to 1 for values within the axis.
[[nodiscard]] double place_on(const ChartAxis& axis, double value);

// The functions below write one kind of chart each. `id` must be unique in the page.
[[nodiscard]] std::string html_bars(const Chart& chart, const StackedBars& bars, std::string_view id);
[[nodiscard]] std::string html_lanes(const Chart& chart, const Lanes& lanes, std::string_view id);
[[nodiscard]] std::string html_plot(const Chart& chart, const Plot& plot, std::string_view id);
[[nodiscard]] std::string html_whiskers(const Whiskers& whiskers, std::string_view id);
[[nodiscard]] std::string html_cards(const Cards& cards, std::string_view id);

}  // namespace ddl
