#include "profiler/backends/cuda/graphs/norm.hpp"

#include <utility>

#include "core/error.hpp"
#include "profiler/backends/cuda/batch_norm.hpp"
#include "profiler/backends/cuda/status.hpp"

namespace ddl::cuda {
namespace {

/// The scales and shifts of a norm that trains only scales, only shifts, or none of them. The library requires both. So
/// missing scales are ones and missing shifts are zeros, and their gradients go to memory that is not used.
class Parameters {
 public:
  explicit Parameters(const Problem& problem)
      : scale_(problem.operation->attribute_values().flag("scale", true)),
        shift_(
            problem.operation->attribute_values().flag("bias", problem.operation->attribute_values().text("kind") != "rms")),
        channels_(problem.output.channels) {
    if (scale_ && shift_) return;
    std::vector<float> constants(static_cast<std::size_t>(channels_), 1.0F);
    constants.resize(static_cast<std::size_t>(2 * channels_), 0.0F);
    memory_ = DeviceMemory(buffer_bytes(2 * channels_, Precision::fp32, false));
    unused_ = DeviceMemory(buffer_bytes(channels_, Precision::fp32, false));
    check(cudaMemcpy(memory_.data(), constants.data(), constants.size() * sizeof(float), cudaMemcpyHostToDevice),
          "copying to the device");
  }
  /// The number of trained parameters. They are consecutive and in fp32.
  [[nodiscard]] std::int64_t items() const { return ((scale_ ? 1 : 0) + (shift_ ? 1 : 0)) * channels_; }
  /// Pointers to scales and shifts in a buffer; null for parameters that are not trained.
  [[nodiscard]] float* scales(void* all) const { return scale_ ? static_cast<float*>(all) : nullptr; }
  [[nodiscard]] float* shifts(void* all) const {
    return shift_ ? static_cast<float*>(all) + (scale_ ? channels_ : 0) : nullptr;
  }
  [[nodiscard]] device::Trained trained(void* all) const { return {scales(all), shifts(all)}; }
  /// Returns pointers to scales and shifts for cuDNN, which requires both. Parameters that are not
  /// trained are ones and zeros.
  [[nodiscard]] device::Trained whole(void* all) const {
    return {scale_ ? scales(all) : constants(), shift_ ? shifts(all) : constants() + channels_};
  }
  [[nodiscard]] float* scale_gradients(void* all) const { return scale_ ? scales(all) : unused(); }
  [[nodiscard]] float* shift_gradients(void* all) const { return shift_ ? shifts(all) : unused(); }

 private:
  [[nodiscard]] float* constants() const { return static_cast<float*>(memory_.data()); }
  [[nodiscard]] float* unused() const { return static_cast<float*>(unused_.data()); }

  bool scale_, shift_;
  std::int64_t channels_;
  DeviceMemory memory_{};  ///< ones for missing scales, then zeros for missing shifts
  DeviceMemory unused_{};  ///< receives gradients that are not needed
};

float* floats(void* data) { return static_cast<float*>(data); }

/// The tensors of a norm: input and parameters, statistics, and then the output or both gradients.
struct Tensors {
  std::vector<KernelTensor> all;
  std::size_t trained = 0, statistics = 0, output = 0, trained_gradient = 0;
};
Tensors tensors_of(const Device& device, const Problem& problem, std::int64_t parameters, std::int64_t groups,
                   int statistics, bool channels_innermost) {
  const bool forward = problem.pass == Pass::forward;
  const auto data = [&](TensorRole role, bool written) {
    KernelTensor tensor = image_tensor(device, role, 0, problem.output, problem, written);
    if (channels_innermost && !problem.output.sequence) {
      // Tensors that are summed over channels have channels innermost in every layout.
      tensor.channels = problem.output.channels;
      tensor.positions = problem.output.positions();
    }
    return tensor;
  };
  Tensors tensors;
  const auto add = [&](const KernelTensor& tensor) {
    tensors.all.push_back(tensor);
    return tensors.all.size() - 1;
  };
  add(data(TensorRole::input, false));
  if (parameters > 0) tensors.trained = add(flat(TensorRole::bias, 0, parameters, false, Precision::fp32));
  tensors.statistics = tensors.all.size();
  for (int i = 0; i < statistics; ++i) add(flat(TensorRole::kept, i, groups, forward, Precision::fp32));
  if (forward) {
    tensors.output = add(data(TensorRole::output, true));
    return tensors;
  }
  tensors.output = add(data(TensorRole::output_gradient, false));
  add(data(TensorRole::input_gradient, true));
  if (parameters > 0) tensors.trained_gradient = add(flat(TensorRole::bias_gradient, 0, parameters, true, Precision::fp32));
  return tensors;
}

/// A batch norm or a layer norm by the library.
std::unique_ptr<PreparedKernel> prepare_by_library(const Device& device, const Problem& problem, bool batch) {
  const bool forward = problem.pass == Pass::forward;
  const Precision precision = problem.precision;
  const auto parameters = std::make_shared<const Parameters>(problem);
  const std::int64_t groups = batch ? problem.output.channels : problem.samples * problem.output.positions();
  Tensors tensors = tensors_of(device, problem, parameters->items(), groups, 2, !batch);
  const std::size_t trained = tensors.trained, mean = tensors.statistics, output = tensors.output,
                    gradient = tensors.trained_gradient;

  std::string reason;
  if (batch) {
    try {
      const auto runner = std::make_shared<BatchNormRunner>(device, problem);
      const bool puts_aside = runner->aside() > 0;
      if (puts_aside) {
        tensors.all.push_back(
            flat(TensorRole::kept, 2, static_cast<std::int64_t>(runner->aside()), forward, Precision::fp32));
        tensors.all.back().bytes = true;
      }
      return make_kernel(
          runner->name(), std::move(tensors.all),
          [=, &device](std::span<void* const> at) {
            void* aside = puts_aside ? at.back() : nullptr;
            const device::Trained whole = parameters->whole(at[trained]);
            if (forward) {
              runner->forward(device, at[0], whole, floats(at[mean]), floats(at[mean + 1]), aside, at[output]);
            } else {
              runner->backward(device, at[0], whole, floats(at[mean]), floats(at[mean + 1]), aside, at[output],
                               at[output + 1], parameters->scale_gradients(at[gradient]),
                               parameters->shift_gradients(at[gradient]));
            }
          },
          runner->workspace());
    } catch (const OutOfMemory&) {
      throw;
    } catch (const Error& error) {
      reason = error.what();
    }
  }

  NormGraph made = norm_graph(problem, device.options.layout);
  Graph graph = std::move(made.graph);
  const auto names = std::make_shared<const NormGraph>(std::move(made));
  if (const auto runner = run_graph(device, std::move(graph), precision, print_problem(problem), &reason)) {
    return make_kernel(
        runner->name(), std::move(tensors.all),
        [=, &device](std::span<void* const> at) {
          const device::Trained whole = parameters->whole(at[trained]);
          std::vector<std::pair<Graph::Tensor, void*>> addresses{{names->input, at[0]},
                                                                 {names->scale, const_cast<float*>(whole.scales)},
                                                                 {names->mean, at[mean]},
                                                                 {names->inverse_deviation, at[mean + 1]}};
          if (forward) {
            addresses.emplace_back(names->shift, const_cast<float*>(whole.shifts));
            addresses.emplace_back(names->output, at[output]);
          } else {
            addresses.emplace_back(names->output_gradient, at[output]);
            addresses.emplace_back(names->input_gradient, at[output + 1]);
            addresses.emplace_back(names->scale_gradient, parameters->scale_gradients(at[gradient]));
            addresses.emplace_back(names->shift_gradient, parameters->shift_gradients(at[gradient]));
          }
          runner->run(device, std::move(addresses));
        },
        runner->workspace());
  }
  if (!batch) throw Error(reason);
  const device::Image image = image_of(device, problem.output, problem.samples);
  return make_kernel("own:batch_norm", std::move(tensors.all), [=, &device](std::span<void* const> at) {
    const device::Launch launch = device.launch(precision);
    const device::Trained own = parameters->trained(at[trained]);
    started(forward ? device::batch_norm(launch, image, at[0], own, floats(at[mean]), floats(at[mean + 1]), at[output],
                                         norm_epsilon)
                    : device::batch_norm_backward(launch, image, at[0], own, floats(at[mean]), floats(at[mean + 1]),
                                                  at[output], at[output + 1], parameters->scales(at[gradient]),
                                                  parameters->shifts(at[gradient])));
  });
}

/// A norm over groups of a sample's channels, or over each channel [Wu and He, "Group normalization", ECCV 2018].
std::unique_ptr<PreparedKernel> prepare_groups(const Device& device, const Problem& problem) {
  const AttributeValues attributes = problem.operation->attribute_values();
  const std::int64_t channels = problem.output.channels;
  const std::int64_t groups = attributes.text("kind") == "group" ? attributes.integer("groups", 1) : channels;
  const bool forward = problem.pass == Pass::forward;
  const Precision precision = problem.precision;
  const auto parameters = std::make_shared<const Parameters>(problem);
  const device::Image image = image_of(device, problem.output, problem.samples);
  Tensors tensors = tensors_of(device, problem, parameters->items(), problem.samples * groups, 2, false);
  const std::size_t trained = tensors.trained, mean = tensors.statistics, output = tensors.output,
                    gradient = tensors.trained_gradient;
  const auto scratch =
      std::make_shared<DeviceMemory>(buffer_bytes(device::group_scratch(image, groups), Precision::fp32, false));
  return make_kernel(
      "own:group_norm", std::move(tensors.all),
      [=, &device](std::span<void* const> at) {
        const device::Launch launch = device.launch(precision);
        const device::Trained own = parameters->trained(at[trained]);
        float* const room = floats(scratch->data());
        started(forward ? device::group_norm(launch, image, groups, at[0], own, floats(at[mean]), floats(at[mean + 1]),
                                             at[output], room, norm_epsilon)
                        : device::group_norm_backward(
                              launch, image, groups, at[0], own, floats(at[mean]), floats(at[mean + 1]), at[output],
                              at[output + 1], parameters->scales(at[gradient]), parameters->shifts(at[gradient]), room));
      },
      scratch->bytes());
}

/// RMS norm [Zhang and Sennrich, "Root mean square layer normalization", NeurIPS 2019].
std::unique_ptr<PreparedKernel> prepare_rms(const Device& device, const Problem& problem) {
  const std::int64_t channels = problem.output.channels;
  const std::int64_t rows = problem.samples * problem.output.positions();
  const bool forward = problem.pass == Pass::forward;
  const Precision precision = problem.precision;
  const auto parameters = std::make_shared<const Parameters>(problem);
  Tensors tensors = tensors_of(device, problem, parameters->items(), rows, 1, true);
  const std::size_t trained = tensors.trained, root = tensors.statistics, output = tensors.output,
                    gradient = tensors.trained_gradient;
  const std::int64_t room = forward ? 0 : device::channel_scratch({1, channels, rows, true});
  const auto scratch = std::make_shared<DeviceMemory>(buffer_bytes(room, Precision::fp32, false));
  return make_kernel(
      "own:rms_norm", std::move(tensors.all),
      [=, &device](std::span<void* const> at) {
        const device::Launch launch = device.launch(precision);
        const device::Trained own = parameters->trained(at[trained]);
        started(forward ? device::rms_norm(launch, at[0], own, floats(at[root]), at[output], rows, channels, norm_epsilon)
                        : device::rms_norm_backward(launch, at[0], own, floats(at[root]), at[output], at[output + 1],
                                                    parameters->scales(at[gradient]), parameters->shifts(at[gradient]),
                                                    floats(scratch->data()), rows, channels));
      },
      scratch->bytes());
}

std::unique_ptr<PreparedKernel> prepare_norm(const Device& device, const Problem& problem) {
  // The gradients of scale and shift are computed from the same sums as the gradient of the input, so backward-weight has
  // nothing left to do.
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const std::string_view kind = problem.operation->attribute_values().text("kind");
  if (kind == "rms") return prepare_rms(device, problem);
  if (kind == "group" || kind == "instance") return prepare_groups(device, problem);
  return prepare_by_library(device, problem, kind == "batch");
}

}  // namespace

const Kind norm{"norm", no_refusal, prepare_norm};

}  // namespace ddl::cuda
