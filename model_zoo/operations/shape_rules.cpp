#include "model_zoo/operations/shape_rules.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "core/error.hpp"

namespace ddl {

std::int64_t item_count(std::string_view what, std::initializer_list<std::int64_t> sizes) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) {
    if (size > 0 && count > max_items / size) throw Error(fmt::format("{} would have more than 2^53 elements", what));
    count *= size;
  }
  return count;
}

TensorShape checked(const TensorShape& shape) {
  const bool empty = shape.channels < 1 || *std::min_element(shape.extent.begin(), shape.extent.end()) < 1;
  if (empty) throw Error(fmt::format("the output would be empty: {}", to_string(shape)));
  static_cast<void>(item_count("the output", {shape.channels, shape.extent[0], shape.extent[1], shape.extent[2]}));
  return shape;
}

const TensorShape& only_input(std::span<const TensorShape> inputs, std::string_view type) {
  if (inputs.size() != 1) throw Error(fmt::format("{} takes one input, not {}", type, inputs.size()));
  return inputs.front();
}

void require_equal_inputs(std::span<const TensorShape> inputs, std::string_view type) {
  if (inputs.size() < 2) {
    throw Error(fmt::format("{} takes two or more inputs, not {}", type, inputs.size()),
                "name them: 'from: [first, second]'");
  }
  for (const TensorShape& other : inputs.subspan(1)) {
    if (other == inputs.front()) continue;
    throw Error(
        fmt::format("{} needs inputs of the same shape, not {} and {}", type, to_string(inputs.front()), to_string(other)),
        "make the shapes equal, for example by a 1x1 convolution on one branch");
  }
}

std::optional<Extents> parse_extents(std::string_view text) {
  Extents extents;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (;;) {
    if (extents.rank == 3) return std::nullopt;
    const auto [next, problem] = std::from_chars(at, end, extents.size[static_cast<std::size_t>(extents.rank)]);
    if (problem != std::errc()) return std::nullopt;
    ++extents.rank;
    if (next == end) return extents;
    if (*next != 'x') return std::nullopt;
    at = next + 1;
  }
}

std::string print_extents(const std::array<std::int64_t, 3>& size, int rank, bool brief) {
  const auto count = static_cast<std::size_t>(std::max(rank, 1));
  const std::span<const std::int64_t> shown = std::span(size).first(count);
  if (brief && std::equal(shown.begin() + 1, shown.end(), shown.begin())) return fmt::to_string(shown.front());
  return fmt::format("{}", fmt::join(shown, "x"));
}

double items(std::span<const TensorShape> shapes) {
  double sum = 0;
  for (const TensorShape& shape : shapes) sum += items(shape);
  return sum;
}

double reduction_depth(std::initializer_list<double> dimensions) {
  double depth = 0;
  for (const double items : dimensions) {
    int exponent = 0;
    // elements = fraction · 2^exponent with 1/2 <= fraction < 1 is exact, whereas log2 might round.
    const double fraction = std::frexp(items, &exponent);
    if (items > 1) depth += fraction == 0.5 ? exponent - 1 : exponent;
  }
  return std::max(1.0, depth);
}

}  // namespace ddl
