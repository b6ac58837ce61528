#include "profiler/backends/onednn/matrix_product.hpp"

#include "profiler/backends/onednn/blas.hpp"
#include "profiler/backends/onednn/descriptions.hpp"

namespace ddl::onednn {

using dnnl::memory;

MatrixProduct::MatrixProduct(const Device& device, const Shape& shape) : device_(device), shape_(shape) {
  if (device.blas != nullptr) return;
  const auto matrices = [&](std::int64_t rows, std::int64_t columns, bool transposed) {
    const memory::dims strides =
        transposed ? memory::dims{rows * columns, 1, rows} : memory::dims{rows * columns, columns, 1};
    return memory::desc({shape.count, rows, columns}, memory::data_type::f32, strides);
  };
  a_ = matrices(shape.m, shape.k, shape.a_transposed);
  b_ = matrices(shape.k, shape.n, shape.b_transposed);
  c_ = matrices(shape.m, shape.n, false);
  dnnl::primitive_attr attributes;
  if (shape.adds) {
    dnnl::post_ops after;
    after.append_sum();
    attributes.set_post_ops(after);
  }
  product_ = dnnl::matmul(describe<dnnl::matmul>(device, attributes, a_, b_, c_));
}

void MatrixProduct::operator()(const float* a, const float* b, float* c) const {
  if (device_.blas != nullptr) {
    for (std::int64_t i = 0; i < shape_.count; ++i) {
      device_.blas->product({shape_.a_transposed, shape_.b_transposed, shape_.adds}, shape_.m, shape_.n, shape_.k,
                            a + i * shape_.m * shape_.k, b + i * shape_.k * shape_.n, c + i * shape_.m * shape_.n);
    }
    return;
  }
  // The library takes sources as non-const, but only reads them.
  const auto bound = [&](const memory::desc& desc, const float* data) {
    return memory(desc, device_.engine, const_cast<float*>(data));
  };
  product_.execute(device_.stream,
                   {{DNNL_ARG_SRC, bound(a_, a)}, {DNNL_ARG_WEIGHTS, bound(b_, b)}, {DNNL_ARG_DST, bound(c_, c)}});
}

}  // namespace ddl::onednn
