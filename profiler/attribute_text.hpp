#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model_zoo/problem.hpp"

namespace ddl {

/// The attributes of an operation as its line says them, `kernel=3x3 stride=2`, for back ends: what an operation is, is
/// known to the operation alone, and a new one needs nothing here.
class AttributeText {
 public:
  explicit AttributeText(const Operation& operation);

  [[nodiscard]] bool has(std::string_view key) const { return !text(key).empty(); }
  /// The value, or `otherwise` where the line has none.
  [[nodiscard]] std::string_view text(std::string_view key, std::string_view otherwise = {}) const;
  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t otherwise) const;
  [[nodiscard]] double number(std::string_view key, double otherwise) const;
  /// `yes` or `no`.
  [[nodiscard]] bool flag(std::string_view key, bool otherwise) const;
  /// `3`, which stands for all dimensions, or `3x3`.
  [[nodiscard]] std::array<std::int64_t, 3> sizes(std::string_view key, std::int64_t otherwise) const;

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

/// The window of a convolution or pooling, with its rim on both sides as the shapes ask for.
struct WindowGeometry {
  std::array<std::int64_t, 3> kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1}, before{0, 0, 0}, after{0, 0, 0};
};
/// `small` is the side with one position per window place: the output, or the input of a transposed convolution.
[[nodiscard]] WindowGeometry window_geometry(const Operation& operation, const TensorShape& large, const TensorShape& small);

}  // namespace ddl
