#include <algorithm>

#include "profiler/backends/onednn/kernels.hpp"

namespace ddl::onednn {
namespace {

// In images, channels come before positions; in sequences, after positions. In both layouts, the
// output consists of alternating rows of the inputs.
std::unique_ptr<PreparedKernel> prepare_concat(const Device& /*device*/, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const bool forward = problem.pass == Pass::forward;
  const bool sequence = problem.output.sequence;
  const std::int64_t rows = problem.samples * (sequence ? problem.output.positions() : 1);
  std::vector<std::int64_t> lengths;
  std::vector<KernelTensor> tensors;
  for (std::size_t i = 0; i < problem.inputs.size(); ++i) {
    const std::int64_t items = problem.samples * problem.inputs[i].items();
    lengths.push_back(items / rows);
    tensors.push_back({forward ? TensorRole::input : TensorRole::input_gradient, static_cast<int>(i), items, !forward});
  }
  tensors.push_back(
      {forward ? TensorRole::output : TensorRole::output_gradient, 0, problem.samples * problem.output.items(), forward});
  return loop_kernel(std::move(tensors), [rows, lengths, forward](std::span<DeviceBuffer* const> buffers) {
    float* whole = floats(buffers.back());
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::size_t i = 0; i < lengths.size(); ++i) {
        float* part = floats(buffers[i]) + row * lengths[i];
        if (forward) {
          std::copy_n(part, lengths[i], whole);
        } else {
          std::copy_n(whole, lengths[i], part);
        }
        whole += lengths[i];
      }
    }
  });
}

}  // namespace

const Kind concat{"concat", only_fp32, prepare_concat};

}  // namespace ddl::onednn
