#pragma once

#include <string>

#include "profiler/backends/cuda/kernels.hpp"
#include "profiler/backends/cuda/tensor_descriptor.hpp"

namespace ddl::cuda {

/// A batch norm by the precompiled kernels of cuDNN's older interface, which frameworks call. Forward and backward use the
/// same mode, because backward reads what forward saves.
class BatchNormRunner {
 public:
  /// Throws Error if the library does not support the problem.
  BatchNormRunner(const Device& device, const Problem& problem);
  void forward(const Device& device, const void* input, device::Trained trained, float* mean, float* inverse_deviation,
               void* aside, void* output);
  void backward(const Device& device, const void* input, device::Trained trained, const float* mean,
                const float* inverse_deviation, void* aside, const void* output_gradient, void* input_gradient,
                float* scale_gradient, float* shift_gradient);
  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::size_t workspace() const { return workspace_; }
  /// The bytes of the memory in which forward saves data for backward.
  [[nodiscard]] std::size_t aside() const { return aside_; }

 private:
  void use(const Device& device, cudnnBatchNormMode_t mode);

  std::int64_t channels_;
  TensorDescriptor data_, trained_;
  cudnnBatchNormMode_t mode_ = CUDNN_BATCHNORM_SPATIAL;
  std::size_t aside_ = 0, workspace_ = 0;  ///< bytes of the memory saved for backward, and of scratch memory
  DeviceMemory running_;
};

}  // namespace ddl::cuda
