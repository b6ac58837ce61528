#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model_zoo/network/problem.hpp"

namespace ddl {

/// An image divided into windows for attention: the position of each element of a window, and the index in the table of
/// biases for each pair of elements. Windows may be shifted. Elements that wrapped around different edges do not attend to
/// each other.
struct AttentionWindows {
  /// `problem` must have the operation `window_attention`.
  explicit AttentionWindows(const Problem& problem);

  std::int64_t area = 1, count = 1;    ///< number of elements of one window, and number of windows
  std::int64_t relative = 1;           ///< number of possible relative positions of two elements
  bool is_shifted = false;             ///< whether windows are shifted, so that elements wrap around an edge
  std::vector<std::int32_t> places{};  ///< position in the plane of each element of each window: count × area
  std::vector<std::uint8_t>
      edges{};  ///< bit mask of the dimensions in which an element wrapped around the edge: count × area
  std::vector<std::int32_t> rows{};  ///< index in the table for each pair: area × area
};

/// Returns why back ends do not run the window attention of a problem; empty if they do.
[[nodiscard]] std::string windows_refusal(const Problem& problem);

}  // namespace ddl
