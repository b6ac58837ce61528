#include <algorithm>
#include <utility>

#include "profiler/backends/cuda/kernels.hpp"

namespace ddl::cuda {
namespace {

/// One tensor of the loss. Its rows are samples, tokens or positions of an image.
struct Part {
  std::int64_t items = 0, classes = 1, rows = 1;
  device::Image image;
  bool apart = false;  ///< the classes of a row are not contiguous, which is possible for channels of an image
};

/// Returns `first`, then one tensor, then `last`.
std::vector<KernelTensor> joined(std::vector<KernelTensor> first, const KernelTensor& middle,
                                 const std::vector<KernelTensor>& last) {
  first.push_back(middle);
  first.insert(first.end(), last.begin(), last.end());
  return first;
}

float* float_pointer(void* data) { return static_cast<float*>(data); }

// The loss is the sum over inputs of the mean over rows, in fp32 in any precision, as in autocast. The targets are
// artificial: class `row modulo classes`, and zero for the mean square. The time does not depend on the targets.
std::unique_ptr<PreparedKernel> prepare_loss(const Device& device, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const Precision precision = problem.precision;
  const bool forward = problem.pass == Pass::forward;
  std::vector<Part> parts;
  std::vector<KernelTensor> inputs, kept, to_inputs;
  std::int64_t room = 0;
  const bool mean_square = problem.operation->attribute_values().text("kind") != "cross_entropy";
  for (const TensorShape& shape : problem.inputs) {
    const auto index = static_cast<int>(parts.size());
    const std::int64_t items = problem.samples * shape.items();
    const device::Image image = image_of(device, shape, problem.samples);
    parts.push_back(
        {items, shape.channels, items / shape.channels, image, !image.channels_innermost && image.positions > 1});
    const auto data = [&](TensorRole role, bool written) {
      return mean_square ? flat(role, index, items, written, precision)
                         : image_tensor(device, role, index, shape, problem, written);
    };
    inputs.push_back(data(TensorRole::input, false));
    to_inputs.push_back(data(TensorRole::input_gradient, true));
    kept.push_back(data(TensorRole::kept, forward));
    kept.back().precision = Precision::fp32;
    room = std::max(room, mean_square ? device::square_parts(items) : items / shape.channels);
  }
  const std::size_t count = parts.size();
  const KernelTensor output = flat(TensorRole::output, 0, 1, true, Precision::fp32);
  const KernelTensor gradient = flat(TensorRole::output_gradient, 0, 1, false, Precision::fp32);
  std::shared_ptr<DeviceMemory> scratch;
  if (forward) scratch = std::make_shared<DeviceMemory>(buffer_bytes(room, Precision::fp32, false));
  if (mean_square && forward) {
    return make_kernel(
        "own:mse", joined(std::move(inputs), output, {}),
        [=, &device](std::span<void* const> at) {
          for (std::size_t i = 0; i < count; ++i) {
            started(device::mean_square(device.launch(precision), at[i], float_pointer(scratch->data()),
                                        float_pointer(at[count]), parts[i].items, i > 0));
          }
        },
        scratch->bytes());
  }
  if (mean_square) {
    return make_kernel("own:mse", joined(std::move(inputs), gradient, to_inputs), [=, &device](std::span<void* const> at) {
      for (std::size_t i = 0; i < count; ++i) {
        started(device::mean_square_backward(device.launch(precision), at[i], float_pointer(at[count]), at[count + 1 + i],
                                             parts[i].items));
      }
    });
  }
  if (forward) {
    return make_kernel(
        "own:cross_entropy", joined(std::move(inputs), output, kept),
        [=, &device](std::span<void* const> at) {
          const device::Launch launch = device.launch(precision);
          for (std::size_t i = 0; i < count; ++i) {
            const Part& part = parts[i];
            float* logarithms = float_pointer(at[count + 1 + i]);
            float* rows = float_pointer(scratch->data());
            started(part.apart ? device::channel_cross_entropy(launch, part.image, at[i], logarithms, rows,
                                                               float_pointer(at[count]), i > 0)
                               : device::cross_entropy(launch, at[i], logarithms, rows, float_pointer(at[count]), part.rows,
                                                       part.classes, i > 0));
          }
        },
        scratch->bytes());
  }
  return make_kernel(
      "own:cross_entropy", joined(std::move(kept), gradient, to_inputs), [=, &device](std::span<void* const> at) {
        const device::Launch launch = device.launch(precision);
        for (std::size_t i = 0; i < count; ++i) {
          const Part& part = parts[i];
          const float* slope = float_pointer(at[count]);
          void* to = at[count + 1 + i];
          started(part.apart
                      ? device::channel_cross_entropy_backward(launch, part.image, float_pointer(at[i]), slope, to)
                      : device::cross_entropy_backward(launch, float_pointer(at[i]), slope, to, part.rows, part.classes));
        }
      });
}

}  // namespace

const Kind loss{"loss", no_refusal, prepare_loss};

}  // namespace ddl::cuda
