#include "profiler/backends/cuda/tensor_descriptor.hpp"

#include <limits>
#include <vector>

#include "core/error.hpp"
#include "profiler/backends/cuda/status.hpp"

namespace ddl::cuda {
namespace {

std::vector<int> narrow(const std::vector<std::int64_t>& sizes) {
  std::vector<int> result;
  for (const std::int64_t size : sizes) {
    if (size > std::numeric_limits<int>::max()) throw Error("a tensor is too large for cuDNN's older interface");
    result.push_back(static_cast<int>(size));
  }
  return result;
}

}  // namespace

TensorDescriptor::TensorDescriptor(const Extents& extents, cudnnDataType_t type) {
  const std::vector<int> sizes = narrow(extents.sizes);
  const std::vector<int> strides = narrow(extents.strides);
  check(cudnnCreateTensorDescriptor(&descriptor_), "cuDNN");
  const cudnnStatus_t status =
      cudnnSetTensorNdDescriptor(descriptor_, type, static_cast<int>(sizes.size()), sizes.data(), strides.data());
  if (status != CUDNN_STATUS_SUCCESS) static_cast<void>(cudnnDestroyTensorDescriptor(descriptor_));
  check(status, "cuDNN");
}

}  // namespace ddl::cuda
