#include "profiler/backends/cuda/batch_norm.hpp"

#include <algorithm>
#include <array>

#include "profiler/backends/cuda/graphs/norm.hpp"
#include "profiler/backends/cuda/status.hpp"

namespace ddl::cuda {
namespace {

constexpr std::string_view what = "batch norm";
constexpr auto nothing_more = CUDNN_BATCHNORM_OPS_BN;
/// cuDNN's modes of a batch norm, in the order in which they are tried. The first mode reads its
/// input only once, if the input fits on the device's multiprocessors.
constexpr std::array<cudnnBatchNormMode_t, 2> modes{CUDNN_BATCHNORM_SPATIAL_PERSISTENT, CUDNN_BATCHNORM_SPATIAL};

Extents each_channel(const Problem& problem) {
  std::vector<std::int64_t> sizes(image(problem.output, 1, ImageLayout::channels_first).sizes.size(), 1);
  sizes[1] = problem.output.channels;
  return dense(std::move(sizes));
}

}  // namespace

BatchNormRunner::BatchNormRunner(const Device& device, const Problem& problem)
    : channels_(problem.output.channels),
      data_(image(problem.output, problem.samples,
                  problem.output.sequence ? ImageLayout::channels_last : device.options.layout),
            data_type(problem.precision)),
      trained_(each_channel(problem), CUDNN_DATA_FLOAT),
      running_(values(device, 2 * channels_, Precision::fp32)) {
  Problem both = problem;
  both.pass = Pass::forward;
  const std::int64_t items = problem.samples * problem.output.items();
  DeviceMemory input, output, gradient, statistics, trained, put_aside;
  const Candidates candidates{
      .key = print_problem(both) + " in both directions",
      .count = modes.size(),
      .workspace =
          [&](std::size_t i) {
            use(device, modes.at(i));
            return workspace_ + aside_;
          },
      .time =
          [&](std::size_t) {
            if (input.bytes() == 0) {
              for (DeviceMemory* memory : {&input, &output, &gradient}) *memory = values(device, items, problem.precision);
              statistics = values(device, 2 * channels_, Precision::fp32);
              trained = values(device, 4 * channels_, Precision::fp32);
            }
            put_aside = DeviceMemory();
            put_aside = DeviceMemory(aside_);
            auto* mean = static_cast<float*>(statistics.data());
            auto* scales = static_cast<float*>(trained.data());
            const device::Trained both_of_them{scales, scales + channels_};
            return shortest_time(device, [&] {
              forward(device, input.data(), both_of_them, mean, mean + channels_, put_aside.data(), output.data());
              backward(device, input.data(), both_of_them, mean, mean + channels_, put_aside.data(), output.data(),
                       gradient.data(), scales + 2 * channels_, scales + 3 * channels_);
            });
          },
      .tries = modes.size(),
      .must_run = true,
  };
  use(device, modes.at(choose(device, candidates).index));
}

void BatchNormRunner::use(const Device& device, cudnnBatchNormMode_t mode) {
  mode_ = mode;
  const cudnnHandle_t handle = device.target.handle();
  std::size_t forward = 0;
  std::size_t backward = 0;
  check(cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(handle, mode, nothing_more, data_.get(), nullptr,
                                                                 data_.get(), trained_.get(), nullptr, &forward),
        what);
  check(cudnnGetBatchNormalizationBackwardExWorkspaceSize(handle, mode, nothing_more, data_.get(), nullptr, data_.get(),
                                                          nullptr, data_.get(), trained_.get(), nullptr, &backward),
        what);
  check(cudnnGetBatchNormalizationTrainingExReserveSpaceSize(handle, mode, nothing_more, nullptr, data_.get(), &aside_),
        what);
  workspace_ = std::max(forward, backward);
  device.workspace.reserve(workspace_);
}

void BatchNormRunner::forward(const Device& device, const void* input, device::Trained trained, float* mean,
                              float* inverse_deviation, void* aside, void* output) {
  constexpr float one = 1;
  constexpr float zero = 0;
  constexpr double share = 0.1;  // weight of this batch in the running statistics
  auto* running = static_cast<float*>(running_.data());
  check(cudnnBatchNormalizationForwardTrainingEx(device.target.handle(), mode_, nothing_more, &one, &zero, data_.get(),
                                                 input, nullptr, nullptr, data_.get(), output, trained_.get(),
                                                 trained.scales, trained.shifts, share, running, running + channels_,
                                                 static_cast<double>(norm_epsilon), mean, inverse_deviation, nullptr,
                                                 device.workspace.data(), workspace_, aside, aside_),
        what);
}

void BatchNormRunner::backward(const Device& device, const void* input, device::Trained trained, const float* mean,
                               const float* inverse_deviation, void* aside, const void* output_gradient,
                               void* input_gradient, float* scale_gradient, float* shift_gradient) {
  constexpr float one = 1;
  constexpr float zero = 0;
  check(cudnnBatchNormalizationBackwardEx(device.target.handle(), mode_, nothing_more, &one, &zero, &one, &zero, data_.get(),
                                          input, nullptr, nullptr, data_.get(), output_gradient, nullptr, nullptr,
                                          data_.get(), input_gradient, trained_.get(), trained.scales, nullptr,
                                          scale_gradient, shift_gradient, static_cast<double>(norm_epsilon), mean,
                                          inverse_deviation, nullptr, device.workspace.data(), workspace_, aside, aside_),
        what);
}

std::string BatchNormRunner::name() const {
  return mode_ == CUDNN_BATCHNORM_SPATIAL_PERSISTENT ? "cudnn:batch_norm:persistent" : "cudnn:batch_norm";
}

}  // namespace ddl::cuda
