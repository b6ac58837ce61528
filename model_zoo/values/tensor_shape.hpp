#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace ddl {

/// The shape of one sample's tensor: channels (features, hidden size) over up to three spatial
/// extents, or over a sequence. An image may have 64 channels over 56 × 56 positions. A tensor of
/// tokens may have 1024 channels over 512 tokens. A flat vector has rank 0.
struct TensorShape {
  std::int64_t channels = 1;
  std::array<std::int64_t, 3> extent{1, 1, 1};  ///< `rank` sizes: d×h×w, h×w or w; all further sizes are 1
  int rank = 0;
  bool sequence = false;  ///< whether the rank is 1 and the extent counts tokens

  [[nodiscard]] std::int64_t positions() const { return extent[0] * extent[1] * extent[2]; }
  [[nodiscard]] std::int64_t items() const { return channels * positions(); }
  friend bool operator==(const TensorShape&, const TensorShape&) = default;
};

/// Returns the shape as text: `64×56×56`, `1024 over 512 tokens`, `1000`.
[[nodiscard]] std::string to_string(const TensorShape& shape);

}  // namespace ddl
