#include "profiler/backends/attention_windows.hpp"

#include <array>
#include <cstddef>

namespace ddl {
namespace {

using Point = std::array<std::int64_t, 3>;

Point point(std::int64_t place, const Point& extents) {
  return {place / (extents[1] * extents[2]), place / extents[2] % extents[1], place % extents[2]};
}

}  // namespace

AttentionWindows::AttentionWindows(const Problem& problem) {
  const AttributeValues attributes = problem.operation->attribute_values();
  const TensorShape& shape = problem.output;
  const Point sizes = attributes.sizes("window", 1);
  Point window{1, 1, 1}, shift{0, 0, 0}, grid{1, 1, 1};
  for (std::size_t d = 0; d < static_cast<std::size_t>(shape.rank); ++d) {
    window[d] = sizes[d];
    grid[d] = shape.extent[d] / window[d];
    // If one window covers a whole dimension, windows are not shifted along this dimension.
    shift[d] = grid[d] > 1 ? attributes.integer("shift", 0) % shape.extent[d] : 0;
  }
  area = window[0] * window[1] * window[2];
  count = grid[0] * grid[1] * grid[2];
  relative = (2 * window[0] - 1) * (2 * window[1] - 1) * (2 * window[2] - 1);
  is_shifted = shift != Point{};
  for (std::int64_t w = 0; w < count; ++w) {
    const Point corner = point(w, grid);
    for (std::int64_t a = 0; a < area; ++a) {
      const Point step = point(a, window);
      std::int64_t place = 0;
      unsigned around = 0;
      for (std::size_t d = 0; d < 3; ++d) {
        const std::int64_t rolled = corner[d] * window[d] + step[d] + shift[d];
        if (rolled >= shape.extent[d]) around |= 1U << d;
        place = place * shape.extent[d] + rolled % shape.extent[d];
      }
      places.push_back(static_cast<std::int32_t>(place));
      edges.push_back(static_cast<std::uint8_t>(around));
    }
  }
  for (std::int64_t a = 0; a < area; ++a) {
    for (std::int64_t b = 0; b < area; ++b) {
      const Point from = point(a, window);
      const Point to = point(b, window);
      std::int64_t row = 0;
      for (std::size_t d = 0; d < 3; ++d) row = row * (2 * window[d] - 1) + from[d] - to[d] + window[d] - 1;
      rows.push_back(static_cast<std::int32_t>(row));
    }
  }
}

std::string windows_refusal(const Problem& problem) {
  const AttributeValues attributes = problem.operation->attribute_values();
  const bool has_table = attributes.text("positions", "table") == "table";
  if (has_table && !attributes.flag("padded", false)) return {};
  return "window attention is supported with a table of biases and whole windows only";
}

}  // namespace ddl
