#include "profiler/measurement/tensor_values.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "model_zoo/network/problem.hpp"
#include "tests/catch.hpp"

using namespace ddl;

namespace {

class HostBuffer : public DeviceBuffer {
 public:
  explicit HostBuffer(std::size_t items) : values(items) {}
  [[nodiscard]] std::int64_t items() const override { return static_cast<std::int64_t>(values.size()); }
  void write(std::span<const float> from) override { std::copy(from.begin(), from.end(), values.begin()); }
  void read(std::span<float> to) const override { std::copy(values.begin(), values.end(), to.begin()); }
  std::vector<float> values;
};

double largest(const std::vector<float>& values) {
  double most = 0;
  for (const float value : values) most = std::max(most, std::abs(static_cast<double>(value)));
  return most;
}

std::vector<float> filled(std::size_t items, TensorRole role, std::int64_t token_rows, double scale) {
  HostBuffer buffer(items);
  fill(buffer, role, token_rows, scale);
  return buffer.values;
}

}  // namespace

TEST_CASE("values are within their scale, and row numbers are less than the number of rows") {
  for (const double scale : {1.0, 0.01}) {
    const std::vector<float> values = filled(100'000, TensorRole::weight, 0, scale);
    CHECK(largest(values) <= scale);
    CHECK(largest(values) > 0.99 * scale);
    CHECK(*std::min_element(values.begin(), values.end()) < -0.99 * scale);
  }
  const std::vector<float> state = filled(1000, TensorRole::optimizer_state, 0, 1);
  CHECK(*std::min_element(state.begin(), state.end()) > 0);
  const std::vector<float> rows = filled(1000, TensorRole::input, 7, 1);
  CHECK(std::all_of(rows.begin(), rows.end(), [](float row) { return row == std::floor(row) && row >= 0 && row < 7; }));
}

TEST_CASE("values that pass through many layers neither explode nor vanish") {
  // There are twenty layers of 64 inputs with a ReLU. The sum of 64 products of values within 1
  // grows about five times per layer.
  constexpr std::size_t width = 64;
  constexpr int depth = 20;
  const Problem layer =
      parse_problem("fully_connected features=64 bias=no in=64 samples=1 precision=fp32 pass=forward", "test");
  CHECK(weight_scale(layer) == Approx(std::sqrt(6.0 / 64)));
  const auto through = [&](double scale) {
    std::vector<float> values = filled(width, TensorRole::input, 0, 1);
    // All layers have different weights, like the layers of a model after its first step.
    const std::vector<float> weights = filled(depth * width * width, TensorRole::weight, 0, scale);
    for (std::size_t at = 0; at < depth; ++at) {
      std::vector<float> next(width);
      for (std::size_t row = 0; row < width; ++row) {
        for (std::size_t column = 0; column < width; ++column) {
          next[row] += weights[(at * width + row) * width + column] * values[column];
        }
        next[row] = std::max(next[row], 0.0F);
      }
      values = next;
    }
    return largest(values);
  };
  const double kept = through(weight_scale(layer));
  CHECK(kept > 0.01);
  CHECK(kept < 100);
  CHECK(through(1) > 1e6);
}

TEST_CASE("a layer without sums may have weights of any size") {
  CHECK(weight_scale(parse_problem("norm kind=layer in=64x8t samples=1 precision=fp32 pass=forward", "test")) == 1);
  // A depthwise convolution sums only over its window.
  const Problem depthwise = parse_problem(
      "convolution filters=32 kernel=3x3 padding=1 groups=32 bias=no in=32x8x8 samples=4 precision=fp32 pass=forward",
      "test");
  CHECK(weight_scale(depthwise) == Approx(std::sqrt(6.0 / 9)));
}
