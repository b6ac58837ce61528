#pragma once

#include <string>
#include <string_view>

#include "cli/report/chart.hpp"

namespace ddl {

/// A text of an HTML page: it is never markup, and what cannot be shown stands as an escape.
[[nodiscard]] std::string html_text(std::string_view text);

/// A chart as a `figure` of drawings with titles. `id` is the page's own, and that of no other chart.
[[nodiscard]] std::string html_chart(const Chart& chart, std::string_view id);

}  // namespace ddl
