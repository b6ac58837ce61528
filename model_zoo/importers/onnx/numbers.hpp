#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace ddl::onnx_import {

/// The known content of a small tensor: whole numbers (and booleans), or real numbers.
struct Numbers {
  std::vector<std::int64_t> shape;
  bool integral = true;
  std::vector<std::int64_t> integers{};  ///< the numbers if `integral`
  std::vector<double> reals{};           ///< the numbers if not `integral`

  [[nodiscard]] std::size_t count() const { return integral ? integers.size() : reals.size(); }
  [[nodiscard]] double real(std::size_t index) const {
    return integral ? static_cast<double>(integers[index]) : reals[index];
  }
};

/// The maximum number of elements of a tensor that is evaluated.
inline constexpr std::size_t most_numbers = 1U << 18U;

/// Returns the value of all elements if they are equal; empty otherwise, and for a tensor without elements.
[[nodiscard]] std::optional<double> uniform(const Numbers& numbers);
/// Returns the shape of two broadcast tensors; empty if the shapes are incompatible, or the result is too large.
[[nodiscard]] std::optional<std::vector<std::int64_t>> broadcast(const std::vector<std::int64_t>& a,
                                                                 const std::vector<std::int64_t>& b);
/// Returns the result of `Add`, `Sub`, `Mul`, `Div`, `Pow`, `Max`, `Min`, `Mod` or a comparison;
/// empty for an overflow, a division by zero, or another operator.
[[nodiscard]] std::optional<Numbers> joined(std::string_view operation, const Numbers& a, const Numbers& b);
/// Returns whether a tensor has no negative size and at most 2^53 elements.
[[nodiscard]] bool is_countable(const std::vector<std::int64_t>& shape);
/// Returns the number of elements of a shape; empty if the number is above `most_numbers`.
[[nodiscard]] std::optional<std::size_t> small_count(const std::vector<std::int64_t>& shape);
/// Returns gathered elements. `pick` maps an index in the result to an index in the source.
template <class Pick>
[[nodiscard]] Numbers picked(const Numbers& source, std::vector<std::int64_t> shape, std::size_t count, Pick&& pick) {
  Numbers result{.shape = std::move(shape), .integral = source.integral};
  for (std::size_t i = 0; i < count; ++i) {
    if (source.integral) {
      result.integers.push_back(source.integers[pick(i)]);
    } else {
      result.reals.push_back(source.reals[pick(i)]);
    }
  }
  return result;
}

}  // namespace ddl::onnx_import
