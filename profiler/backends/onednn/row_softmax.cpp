#include "profiler/backends/onednn/row_softmax.hpp"

#include "profiler/backends/onednn/descriptions.hpp"

namespace ddl::onednn {

using dnnl::memory;

RowSoftmax::RowSoftmax(const Device& device, std::int64_t rows, std::int64_t columns)
    : device_(device), rows_(dense({rows, columns}, memory::data_type::f32)) {
  const dnnl::softmax_forward::primitive_desc forward = describe_softmax(device, {}, rows_, 1);
  forward_ = dnnl::softmax_forward(forward);
  backward_ = dnnl::softmax_backward(describe_softmax_backward(device, {}, forward, rows_, 1));
}

void RowSoftmax::forward(float* from, float* to) const {
  forward_.execute(device_.stream,
                   {{DNNL_ARG_SRC, memory(rows_, device_.engine, from)}, {DNNL_ARG_DST, memory(rows_, device_.engine, to)}});
}

void RowSoftmax::backward(float* result, float* gradient, float* to) const {
  backward_.execute(device_.stream, {{DNNL_ARG_DST, memory(rows_, device_.engine, result)},
                                     {DNNL_ARG_DIFF_DST, memory(rows_, device_.engine, gradient)},
                                     {DNNL_ARG_DIFF_SRC, memory(rows_, device_.engine, to)}});
}

}  // namespace ddl::onednn
