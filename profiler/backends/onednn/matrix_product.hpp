#pragma once

#include "profiler/backends/onednn/kernels.hpp"

namespace ddl::onednn {

/// Products C = A·B of `count` consecutive dense fp32 matrices of m×k and k×n elements.
class MatrixProduct {
 public:
  struct Shape {
    std::int64_t count = 1, m = 1, n = 1, k = 1;
    bool a_transposed = false, b_transposed = false;  ///< whether A and B are transposed in memory
    bool adds = false;                                ///< whether the product is added to C
  };
  MatrixProduct(const Device& device, const Shape& shape);
  void operator()(const float* a, const float* b, float* c) const;

 private:
  Device device_;
  Shape shape_;
  dnnl::memory::desc a_, b_, c_;
  dnnl::matmul product_;
};

}  // namespace ddl::onednn
