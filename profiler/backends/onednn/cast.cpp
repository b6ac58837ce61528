#include "model_zoo/operations/cast.hpp"

#include "profiler/backends/onednn/kernels.hpp"

namespace ddl::onednn {
namespace {

std::string refusal_cast(const Problem& problem) {
  return *cast_format(*problem.operation) == Precision::fp16 ? "processors have no fp16" : "";
}

std::unique_ptr<PreparedKernel> prepare_cast(const Device& device, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const bool forward = problem.pass == Pass::forward;
  const Precision other = *cast_format(*problem.operation);
  const Precision from = forward ? problem.precision : other;
  const Precision to = forward ? other : problem.precision;
  const std::int64_t items = problem.samples * problem.output.items();
  const dnnl::memory::desc read = dense({items}, data_type(from));
  const dnnl::memory::desc written = dense({items}, data_type(to));
  const dnnl::reorder::primitive_desc reorder(device.engine, read, device.engine, written, own_scratchpad());
  const KernelTensor input{forward ? TensorRole::input : TensorRole::output_gradient, 0, items, false, from};
  const KernelTensor output{forward ? TensorRole::output : TensorRole::input_gradient, 0, items, true, to};
  return primitive_kernel(device, dnnl::reorder(reorder), reorder.scratchpad_desc(), reorder.impl_info_str(),
                          {{input, DNNL_ARG_FROM, read, read}, {output, DNNL_ARG_TO, written, written}});
}

}  // namespace

const Kind cast{"cast", refusal_cast, prepare_cast};

}  // namespace ddl::onednn
