#include "profiler/backends/cuda/kernels.hpp"
#include "profiler/backends/cuda/status.hpp"

namespace ddl::cuda {
namespace {

std::string refusal(const Problem& problem) {
  const TensorShape& shape = problem.output;
  return shape.sequence || shape.rank == 0 ? std::string() : "the softmax over an image's channels is not in this back end";
}

/// Rows of numbers for the library's older interface, which has the softmax.
struct Rows {
  Rows(std::int64_t rows, std::int64_t length, Precision precision) {
    check(cudnnCreateTensorDescriptor(&descriptor), "cuDNN");
    check(cudnnSetTensor4dDescriptor(descriptor, CUDNN_TENSOR_NCHW, data_type(precision), static_cast<int>(rows),
                                     static_cast<int>(length), 1, 1),
          "cuDNN");
  }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;
  ~Rows() { static_cast<void>(cudnnDestroyTensorDescriptor(descriptor)); }
  cudnnTensorDescriptor_t descriptor = nullptr;
};

std::unique_ptr<PreparedKernel> prepare(const Device& device, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const Precision precision = problem.precision;
  const std::int64_t length = problem.output.channels;
  const std::int64_t rows = problem.samples * problem.output.positions();
  const std::int64_t items = rows * length;
  const auto data = std::make_shared<const Rows>(rows, length, precision);
  constexpr auto algorithm = CUDNN_SOFTMAX_ACCURATE;
  constexpr auto mode = CUDNN_SOFTMAX_MODE_INSTANCE;
  if (problem.pass == Pass::forward) {
    return make_kernel(
        "cudnn:softmax",
        {flat(TensorRole::input, 0, items, false, precision), flat(TensorRole::output, 0, items, true, precision)},
        [=, &device](std::span<void* const> at) {
          constexpr float one = 1;
          constexpr float zero = 0;
          check(cudnnSoftmaxForward(device.target.handle(), algorithm, mode, &one, data->descriptor, at[0], &zero,
                                    data->descriptor, at[1]),
                "softmax");
        });
  }
  return make_kernel(
      "cudnn:softmax",
      {flat(TensorRole::output, 0, items, false, precision), flat(TensorRole::output_gradient, 0, items, false, precision),
       flat(TensorRole::input_gradient, 0, items, true, precision)},
      [=, &device](std::span<void* const> at) {
        constexpr float one = 1;
        constexpr float zero = 0;
        check(cudnnSoftmaxBackward(device.target.handle(), algorithm, mode, &one, data->descriptor, at[0], data->descriptor,
                                   at[1], &zero, data->descriptor, at[2]),
              "softmax");
      });
}

}  // namespace

const Kind softmax{"softmax", refusal, prepare};

}  // namespace ddl::cuda
