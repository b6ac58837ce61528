#include "profiler/backends/onednn/adaptive_pool.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace ddl::onednn {
namespace {

/// Input positions of one output position.
struct Window {
  std::array<std::int64_t, 3> first{}, end{};
  [[nodiscard]] std::int64_t count() const { return (end[0] - first[0]) * (end[1] - first[1]) * (end[2] - first[2]); }
};

/// Windows from ⌊i·in/out⌋ to ⌈(i+1)·in/out⌉, as frameworks define them.
std::vector<Window> windows_of(const TensorShape& input, const TensorShape& output) {
  std::vector<Window> windows;
  for (std::int64_t place = 0; place < output.positions(); ++place) {
    const std::array<std::int64_t, 3> position{place / (output.extent[1] * output.extent[2]),
                                               place / output.extent[2] % output.extent[1], place % output.extent[2]};
    Window window;
    for (std::size_t d = 0; d < 3; ++d) {
      window.first[d] = position[d] * input.extent[d] / output.extent[d];
      window.end[d] = ((position[d] + 1) * input.extent[d] + output.extent[d] - 1) / output.extent[d];
    }
    windows.push_back(window);
  }
  return windows;
}

template <class Visit>
void each_position(const Window& window, const TensorShape& shape, const Visit& visit) {
  for (std::int64_t d = window.first[0]; d < window.end[0]; ++d) {
    for (std::int64_t h = window.first[1]; h < window.end[1]; ++h) {
      const std::int64_t row = (d * shape.extent[1] + h) * shape.extent[2];
      for (std::int64_t w = window.first[2]; w < window.end[2]; ++w) visit(row + w);
    }
  }
}

}  // namespace

std::unique_ptr<PreparedKernel> prepare_adaptive_pool(const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const TensorShape input = problem.inputs.front();
  const std::vector<Window> windows = windows_of(input, problem.output);
  const std::int64_t planes = problem.samples * input.channels;
  const std::int64_t in = planes * input.positions();
  const std::int64_t places = problem.output.positions();
  const std::int64_t out = planes * places;
  // Positions of a channel are contiguous in images, and one token apart in sequences.
  const std::int64_t step = input.sequence ? input.channels : 1;
  const auto plane_of = [=](std::int64_t plane, std::int64_t positions) {
    return input.sequence ? plane / input.channels * input.channels * positions + plane % input.channels : plane * positions;
  };
  const bool is_max = problem.operation->attribute_values().text("kind") == "max";
  const bool forward = problem.pass == Pass::forward;
  std::vector<KernelTensor> tensors{
      {forward ? TensorRole::input : TensorRole::output_gradient, 0, forward ? in : out, false},
      {forward ? TensorRole::output : TensorRole::input_gradient, 0, forward ? out : in, true}};
  // For a maximum, the winning positions are kept.
  if (is_max) tensors.push_back({TensorRole::kept, 0, out, forward});
  return loop_kernel(std::move(tensors), [=](std::span<DeviceBuffer* const> buffers) {
    if (!forward) std::fill_n(floats(buffers[1]), in, 0.0F);
    auto* const winners = is_max ? static_cast<char*>(static_cast<HostBuffer*>(buffers[2])->data()) : nullptr;
    for (std::int64_t plane = 0; plane < planes; ++plane) {
      float* const whole = floats(buffers[forward ? 0 : 1]) + plane_of(plane, input.positions());
      float* const pooled = floats(buffers[forward ? 1 : 0]) + plane_of(plane, places);
      for (std::int64_t place = 0; place < places; ++place) {
        const Window& window = windows[static_cast<std::size_t>(place)];
        float& one = pooled[place * step];
        char* const winner =
            is_max ? winners + (plane * places + place) * static_cast<std::int64_t>(sizeof(std::int32_t)) : nullptr;
        if (is_max && forward) {
          one = -std::numeric_limits<float>::infinity();
          std::int32_t best = 0;
          each_position(window, input, [&](std::int64_t position) {
            if (whole[position * step] <= one) return;
            one = whole[position * step];
            best = static_cast<std::int32_t>(position);
          });
          std::memcpy(winner, &best, sizeof best);
        } else if (is_max) {
          std::int32_t best = 0;
          std::memcpy(&best, winner, sizeof best);
          whole[best * step] += one;
        } else if (forward) {
          float sum = 0;
          each_position(window, input, [&](std::int64_t position) { sum += whole[position * step]; });
          one = sum / static_cast<float>(window.count());
        } else {
          const float share = one / static_cast<float>(window.count());
          each_position(window, input, [&](std::int64_t position) { whole[position * step] += share; });
        }
      }
    }
  });
}

}  // namespace ddl::onednn
