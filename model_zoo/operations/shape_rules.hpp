#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model_zoo/values/tensor_shape.hpp"

namespace ddl {

/// Maximum number of elements of a tensor or a matrix. Above 2^53, a double no longer represents every whole number.
inline constexpr std::int64_t max_items = std::int64_t{1} << 53U;
/// Maximum value of an attribute in a model file. The product of two such values fits in an int64.
inline constexpr std::int64_t max_attribute = std::int64_t{1} << 31U;

/// Returns the product of sizes. Throws Error that contains `what` if the product exceeds max_items.
[[nodiscard]] std::int64_t item_count(std::string_view what, std::initializer_list<std::int64_t> sizes);
/// Returns the shape. Throws Error unless each size is at least 1 and the number of elements is at most max_items.
[[nodiscard]] TensorShape checked(const TensorShape& shape);

/// Returns the only input of an operation. Throws Error if the operation does not have exactly one input.
[[nodiscard]] const TensorShape& only_input(std::span<const TensorShape> inputs, std::string_view type);
/// Throws Error unless there are two or more inputs of one shape.
void require_equal_inputs(std::span<const TensorShape> inputs, std::string_view type);

/// Up to three sizes, which are printed as `3x1x1`.
struct Extents {
  std::array<std::int64_t, 3> size{1, 1, 1};
  int rank = 0;
};
/// Parses `7`, `3x3` or `3x1x1`; empty for any other text.
[[nodiscard]] std::optional<Extents> parse_extents(std::string_view text);
/// Prints the first `rank` sizes: `3x3`, or `2` if all are equal and `brief` is set.
[[nodiscard]] std::string print_extents(const std::array<std::int64_t, 3>& size, int rank, bool brief = false);

[[nodiscard]] inline double real(std::int64_t count) { return static_cast<double>(count); }
[[nodiscard]] inline double items(const TensorShape& shape) { return real(shape.items()); }
[[nodiscard]] double items(std::span<const TensorShape> shapes);

/// Returns Σ⌈log2 n⌉ over the dimensions, and at least 1. This is the number of steps of trees that
/// reduce dimensions of n elements one after the other [BH18, Table 4].
[[nodiscard]] double reduction_depth(std::initializer_list<double> dimensions);

}  // namespace ddl
