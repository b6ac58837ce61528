#pragma once

#include <array>
#include <memory>
#include <vector>

#include "profiler/backends/cuda/kernels.hpp"

namespace ddl::cuda {

/// Strides, in elements, of an image on the device.
struct ImageSteps {
  ImageSteps(const Device& device, const TensorShape& shape);
  std::int64_t sample = 0, channel = 0;
  std::array<std::int64_t, 3> extent{};
};

/// A dimension that a copy iterates over, with its strides in both tensors.
struct CopiedDimension {
  std::int64_t size = 1, input = 0, output = 0;
};

/// Prepares a problem whose output has the elements of the input, or of the input's part from `start` on, in another order.
/// Forward is a copy. Backward is a copy that fills the rest with zeros if the output is only a part. The order of
/// `dimensions` does not matter.
[[nodiscard]] std::unique_ptr<PreparedKernel> prepare_arrangement(const Device& device, const Problem& problem,
                                                                  const std::vector<CopiedDimension>& dimensions,
                                                                  std::int64_t start = 0);

/// Returns the copy as an argument of device::rearrange: from the input to the output or, with `back`, in the other
/// direction. The innermost written dimension is last.
[[nodiscard]] device::Order order_of(std::vector<CopiedDimension> dimensions, std::int64_t start, bool back);

}  // namespace ddl::cuda
