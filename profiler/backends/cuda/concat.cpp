#include "profiler/backends/cuda/kernels.hpp"

namespace ddl::cuda {
namespace {

// In the output, the channels of the inputs alternate: per position if channels are innermost, otherwise per sample.
std::unique_ptr<PreparedKernel> prepare_concat(const Device& device, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const bool forward = problem.pass == Pass::forward;
  const bool innermost = image_of(device, problem.output, 1).channels_innermost;
  const std::int64_t rows = problem.samples * (innermost ? problem.output.positions() : 1);
  const Precision precision = problem.precision;
  std::vector<std::int64_t> lengths;
  std::vector<KernelTensor> tensors;
  for (std::size_t i = 0; i < problem.inputs.size(); ++i) {
    const TensorShape& shape = problem.inputs[i];
    lengths.push_back(problem.samples * shape.items() / rows);
    tensors.push_back(image_tensor(device, forward ? TensorRole::input : TensorRole::input_gradient, static_cast<int>(i),
                                   shape, problem, !forward));
  }
  tensors.push_back(
      image_tensor(device, forward ? TensorRole::output : TensorRole::output_gradient, 0, problem.output, problem, forward));
  const std::int64_t pitch = problem.samples * problem.output.items() / rows;
  const std::int64_t size = is_mixed(precision) ? 2 : 4;
  return make_kernel(forward ? "own:concat" : "own:split", std::move(tensors),
                     [&device, rows, lengths, forward, pitch, size, precision](std::span<void* const> at) {
                       auto* whole = static_cast<std::byte*>(at.back());
                       for (std::size_t i = 0; i < lengths.size(); ++i) {
                         const device::Launch launch = device.launch(precision);
                         started(forward ? device::copy_rows(launch, at[i], lengths[i], whole, pitch, rows, lengths[i])
                                         : device::copy_rows(launch, whole, pitch, at[i], lengths[i], rows, lengths[i]));
                         whole += lengths[i] * size;
                       }
                     });
}

}  // namespace

const Kind concat{"concat", no_refusal, prepare_concat};

}  // namespace ddl::cuda
