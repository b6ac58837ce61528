#pragma once

#include "profiler/backends/onednn/kernels.hpp"

namespace ddl::onednn {

/// The softmax of each row of a dense fp32 matrix, and its gradient.
class RowSoftmax {
 public:
  RowSoftmax(const Device& device, std::int64_t rows, std::int64_t columns);
  void forward(float* from, float* to) const;
  /// Computes the gradient of the softmax. Reads the result of forward and the gradient of this
  /// result; writes the gradient of forward's input to `to`.
  void backward(float* result, float* gradient, float* to) const;

 private:
  Device device_;
  dnnl::memory::desc rows_;
  dnnl::softmax_forward forward_;
  dnnl::softmax_backward backward_;
};

}  // namespace ddl::onednn
