#pragma once

#include <cstdint>
#include <vector>

#include "model_zoo/network/problem.hpp"

namespace ddl {

/// An image cut into windows for attention, which may be shifted: where each item of a window lies, and which number of the
/// table of biases a pair of them reads. Items that came around different edges do not see each other.
struct AttentionWindows {
  /// Of a problem of the operation `window_attention`.
  explicit AttentionWindows(const Problem& problem);

  std::int64_t area = 1, count = 1;    ///< of one window, and of them
  std::int64_t relative = 1;           ///< positions of one item to another
  bool is_shifted = false;             ///< only then items came around an edge
  std::vector<std::int32_t> places{};  ///< in a plane, of each window's items: count × area
  std::vector<std::uint8_t> edges{};   ///< which dimensions of an item came around the edge, a bit each: count × area
  std::vector<std::int32_t> rows{};    ///< of the table, of each pair: area × area
};

}  // namespace ddl
