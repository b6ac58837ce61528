#pragma once

#include <string>
#include <string_view>

#include "cli/report/chart.hpp"

namespace ddl {

/// Escapes a text for an HTML page, so that it is never interpreted as markup. Unprintable characters are escaped as well.
[[nodiscard]] std::string html_text(std::string_view text);

/// Returns a chart as an HTML `figure` with titled drawings. `id` must be unique in the page.
[[nodiscard]] std::string html_chart(const Chart& chart, std::string_view id);

}  // namespace ddl
