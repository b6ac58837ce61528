#include "profiler/backends/cuda/kernels.hpp"
#include "profiler/backends/cuda/status.hpp"
#include "profiler/backends/cuda/tensor_descriptor.hpp"

namespace ddl::cuda {
namespace {

std::unique_ptr<PreparedKernel> prepare_softmax(const Device& device, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const Precision precision = problem.precision;
  const bool forward = problem.pass == Pass::forward;
  const std::int64_t length = problem.output.channels;
  const std::int64_t rows = problem.samples * problem.output.positions();
  const std::int64_t items = rows * length;
  const device::Scores scores{rows, length, rows, false, 1};
  // The channels of an image may not be contiguous.
  const device::Image image = image_of(device, problem.output, problem.samples);
  const bool apart = !image.channels_innermost && image.positions > 1;
  const auto run_own = [&device, scores, image, apart, forward, precision](std::span<void* const> at) {
    const device::Launch launch = device.launch(precision);
    if (apart) {
      started(forward ? device::channel_softmax(launch, image, at[0], at[1])
                      : device::channel_softmax_backward(launch, image, at[0], at[1], at[2]));
    } else {
      started(forward ? device::softmax(launch, scores, at[0], at[1])
                      : device::softmax_backward(launch, scores, at[0], at[1], at[2]));
    }
  };
  const auto run_library = [&device, apart, forward](const TensorDescriptor& data, std::span<void* const> at) {
    constexpr float one = 1;
    constexpr float zero = 0;
    constexpr auto algorithm = CUDNN_SOFTMAX_ACCURATE;
    const auto mode = apart ? CUDNN_SOFTMAX_MODE_CHANNEL : CUDNN_SOFTMAX_MODE_INSTANCE;
    const cudnnHandle_t handle = device.target.handle();
    check(forward ? cudnnSoftmaxForward(handle, algorithm, mode, &one, data.get(), at[0], &zero, data.get(), at[1])
                  : cudnnSoftmaxBackward(handle, algorithm, mode, &one, data.get(), at[0], data.get(), at[1], &zero,
                                         data.get(), at[2]),
          "softmax");
  };

  std::shared_ptr<const TensorDescriptor> data;
  std::vector<DeviceMemory> memories;
  std::vector<void*> trial;
  const auto describe = [&] {
    const Extents extents = apart ? dense({problem.samples, length, image.positions, 1}) : dense({rows, length, 1, 1});
    data = std::make_shared<const TensorDescriptor>(extents, data_type(precision));
  };
  const Candidates candidates{
      .key = print_problem(problem),
      .count = 2,  // the two implementations: the library's, and our own
      .workspace =
          [&](std::size_t i) {
            if (i == 0) describe();
            return std::size_t{0};
          },
      .time =
          [&](std::size_t i) {
            while (memories.size() < 3) {
              memories.push_back(values(device, items, precision));
              trial.push_back(memories.back().data());
            }
            return shortest_time(device, [&] { i == 0 ? run_library(*data, trial) : run_own(trial); });
          },
      .tries = 2,
      .must_run = true,
  };
  const bool by_library = choose(device, candidates).index == 0;
  const auto tensor = [&](TensorRole role, bool written) {
    return image_tensor(device, role, 0, problem.output, problem, written);
  };
  std::vector<KernelTensor> tensors;
  if (forward) {
    tensors = {tensor(TensorRole::input, false), tensor(TensorRole::output, true)};
  } else {
    tensors = {tensor(TensorRole::output, false), tensor(TensorRole::output_gradient, false),
               tensor(TensorRole::input_gradient, true)};
  }
  if (!by_library) return make_kernel("own:softmax", std::move(tensors), run_own);
  if (!data) describe();
  return make_kernel("cudnn:softmax", std::move(tensors),
                     [data, run_library](std::span<void* const> at) { run_library(*data, at); });
}

}  // namespace

const Kind softmax{"softmax", no_refusal, prepare_softmax};

}  // namespace ddl::cuda
