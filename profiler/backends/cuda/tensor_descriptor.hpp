#pragma once

#include <cudnn.h>

#include "profiler/backends/cuda/layout.hpp"

namespace ddl::cuda {

/// A tensor descriptor of cuDNN's older interface, destroyed with its owner. Throws Error if a size does not fit into 32
/// bits.
class TensorDescriptor {
 public:
  TensorDescriptor(const Extents& extents, cudnnDataType_t type);
  TensorDescriptor(const TensorDescriptor&) = delete;
  TensorDescriptor& operator=(const TensorDescriptor&) = delete;
  ~TensorDescriptor() { static_cast<void>(cudnnDestroyTensorDescriptor(descriptor_)); }
  [[nodiscard]] cudnnTensorDescriptor_t get() const { return descriptor_; }

 private:
  cudnnTensorDescriptor_t descriptor_ = nullptr;
};

}  // namespace ddl::cuda
