#include "model_zoo/operations/cast.hpp"

#include "profiler/backends/cuda/kernels.hpp"

namespace ddl::cuda {
namespace {

std::unique_ptr<PreparedKernel> prepare_cast(const Device& device, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const bool forward = problem.pass == Pass::forward;
  const Precision other = *cast_format(*problem.operation);
  const Precision from = forward ? problem.precision : other;
  const Precision to = forward ? other : problem.precision;
  const std::int64_t items = problem.samples * problem.output.items();
  std::vector<KernelTensor> tensors{flat(forward ? TensorRole::input : TensorRole::output_gradient, 0, items, false, from),
                                    flat(forward ? TensorRole::output : TensorRole::input_gradient, 0, items, true, to)};
  return make_kernel("own:cast", std::move(tensors), [&device, items, from, to](std::span<void* const> at) {
    started(device::cast(device.launch(from), at[0], number(to), at[1], items));
  });
}

}  // namespace

const Kind cast{"cast", no_refusal, prepare_cast};

}  // namespace ddl::cuda
