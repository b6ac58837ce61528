#include "profiler/backends/cuda/graphs/norm.hpp"

#include "core/error.hpp"
#include "profiler/attribute_text.hpp"
#include "profiler/backends/cuda/batch_norm.hpp"
#include "profiler/backends/cuda/kernels.hpp"

namespace ddl::cuda {
namespace {

std::string refusal(const Problem& problem) {
  const AttributeText attributes(*problem.operation);
  const std::string_view kind = attributes.text("kind");
  if (kind != "batch" && kind != "layer") {
    return "norms over groups, instances or root mean squares are not in this back end";
  }
  if (!attributes.flag("bias", true) || !attributes.flag("scale", true)) {
    return "norms without a scale or a shift are not in this back end";
  }
  if (kind == "batch" && problem.inputs.front().sequence) return "batch norm of tokens is not in this back end";
  return {};
}

// The scale and the shift lie one behind the other, in fp32 as what is kept does.
std::unique_ptr<PreparedKernel> prepare(const Device& device, const Problem& problem) {
  // The gradients of scale and shift come out of the same sums as the input's: backward-weight has nothing left to do.
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const bool batch = AttributeText(*problem.operation).text("kind") == "batch";
  const bool forward = problem.pass == Pass::forward;
  const Precision precision = problem.precision;
  const std::int64_t channels = problem.output.channels;
  const std::int64_t groups = batch ? channels : problem.samples * problem.output.positions();
  const auto data = [&](TensorRole role, bool written) {
    KernelTensor tensor = image_tensor(device, role, 0, problem.output, problem, written);
    if (!batch && !problem.output.sequence) {
      // A layer norm sums over channels, which are innermost for it whatever the layout.
      tensor.channels = channels;
      tensor.positions = problem.output.positions();
    }
    return tensor;
  };
  std::vector<KernelTensor> tensors{data(TensorRole::input, false),
                                    flat(TensorRole::bias, 0, 2 * channels, false, Precision::fp32),
                                    flat(TensorRole::kept, 0, groups, forward, Precision::fp32),
                                    flat(TensorRole::kept, 1, groups, forward, Precision::fp32)};
  if (forward) {
    tensors.push_back(data(TensorRole::output, true));
  } else {
    tensors.push_back(data(TensorRole::output_gradient, false));
    tensors.push_back(data(TensorRole::input_gradient, true));
    tensors.push_back(flat(TensorRole::bias_gradient, 0, 2 * channels, true, Precision::fp32));
  }
  const auto floats = [](void* at) { return static_cast<float*>(at); };

  std::string reason;
  if (batch) {
    try {
      const auto runner = std::make_shared<BatchNormRunner>(device, problem);
      const bool puts_aside = runner->aside() > 0;
      if (puts_aside) {
        tensors.push_back(flat(TensorRole::kept, 2, static_cast<std::int64_t>(runner->aside()), forward, Precision::fp32));
        tensors.back().bytes = true;
      }
      return make_kernel(
          runner->name(), std::move(tensors),
          [=, &device](std::span<void* const> at) {
            void* aside = puts_aside ? at.back() : nullptr;
            if (forward) {
              runner->forward(device, at[0], floats(at[1]), floats(at[2]), floats(at[3]), aside, at[4]);
            } else {
              runner->backward(device, at[0], floats(at[1]), floats(at[2]), floats(at[3]), aside, at[4], at[5],
                               floats(at[6]));
            }
          },
          runner->workspace());
    } catch (const Error& error) {
      reason = error.what();
    }
  }

  NormGraph made = norm_graph(problem, device.options.layout);
  Graph graph = std::move(made.graph);
  const auto names = std::make_shared<const NormGraph>(std::move(made));
  if (const auto runner = run_graph(device, std::move(graph), precision, print_problem(problem), &reason)) {
    return make_kernel(
        runner->name(), std::move(tensors),
        [=, &device](std::span<void* const> at) {
          if (forward) {
            runner->run(device, {{names->input, at[0]},
                                 {names->scale, at[1]},
                                 {names->shift, floats(at[1]) + channels},
                                 {names->mean, at[2]},
                                 {names->inverse_deviation, at[3]},
                                 {names->output, at[4]}});
          } else {
            runner->run(device, {{names->input, at[0]},
                                 {names->scale, at[1]},
                                 {names->mean, at[2]},
                                 {names->inverse_deviation, at[3]},
                                 {names->output_gradient, at[4]},
                                 {names->input_gradient, at[5]},
                                 {names->scale_gradient, at[6]},
                                 {names->shift_gradient, floats(at[6]) + channels}});
          }
        },
        runner->workspace());
  }
  if (!batch) throw Error(reason);
  const device::Image image = image_of(device, problem.output, problem.samples);
  return make_kernel("own:batch_norm", std::move(tensors), [=, &device](std::span<void* const> at) {
    const device::Launch launch = device.launch(precision);
    started(forward
                ? device::batch_norm(launch, image, at[0], floats(at[1]), floats(at[2]), floats(at[3]), at[4], norm_epsilon)
                : device::batch_norm_backward(launch, image, at[0], floats(at[1]), floats(at[2]), floats(at[3]), at[4],
                                              at[5], floats(at[6])));
  });
}

}  // namespace

const Kind norm{"norm", refusal, prepare};

}  // namespace ddl::cuda
