#include "profiler/measurement/tensor_values.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace ddl {

void fill(DeviceBuffer& buffer, TensorRole role, std::int64_t token_rows, double scale) {
  if (role == TensorRole::kept) return;
  std::vector<float> values(static_cast<std::size_t>(buffer.items()));
  const bool tokens = token_rows > 0 && role == TensorRole::input;
  // The second moments of an optimizer are squares.
  const bool positive = role == TensorRole::optimizer_state;
  std::minstd_rand random(static_cast<unsigned>(role) + 1U);
  // Drawing every element of a large tensor would take longer than most kernels, so a block of random values is repeated.
  constexpr std::size_t block = std::size_t{1} << 16U;
  for (std::size_t i = 0; i < std::min(block, values.size()); ++i) {
    const auto drawn = static_cast<float>(random()) / static_cast<float>(std::minstd_rand::max());  // in (0, 1]
    values[i] = tokens ? std::floor(drawn * 0.999F * static_cast<float>(token_rows))
                       : (positive ? drawn : 2 * drawn - 1) * static_cast<float>(scale);
  }
  for (std::size_t i = block; i < values.size(); i += block) {
    std::copy_n(values.begin(), std::min(block, values.size() - i), values.begin() + static_cast<std::ptrdiff_t>(i));
  }
  buffer.write(values);
}

double weight_scale(const Problem& problem) {
  const double summed = problem.operation->work(Pass::forward, problem.inputs, problem.output).k;
  return summed > 0 ? std::sqrt(6 / summed) : 1;
}

}  // namespace ddl
