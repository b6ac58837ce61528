#include <algorithm>
#include <cmath>

#include "profiler/attribute_text.hpp"
#include "profiler/backends/onednn/kernels.hpp"

namespace ddl::onednn {
namespace {

std::string refusal(const Problem& problem) {
  if (problem.inputs.size() > 1) return "the sum of several losses is not in this back end";
  const TensorShape& input = problem.inputs.front();
  if (AttributeText(*problem.operation).text("kind") == "cross_entropy" && !input.sequence && input.rank > 0) {
    return "the cross entropy of an image's positions is not in this back end";
  }
  return only_fp32(problem);
}

// The mean over rows of samples or tokens. What should come out is made up: class `row modulo classes`, and zero for the
// mean square; time does not depend on it.
std::unique_ptr<PreparedKernel> prepare(const Device& device, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const std::int64_t classes = problem.inputs.front().channels;
  const std::int64_t items = problem.samples * problem.inputs.front().items();
  const std::int64_t rows = items / classes;
  const KernelTensor input{TensorRole::input, 0, items, false};
  const KernelTensor gradient{TensorRole::output_gradient, 0, 1, false};
  const KernelTensor to_input{TensorRole::input_gradient, 0, items, true};
  if (AttributeText(*problem.operation).text("kind") != "cross_entropy") {
    if (problem.pass == Pass::forward) {
      return loop_kernel({input, {TensorRole::output, 0, 1, true}}, [=](std::span<DeviceBuffer* const> buffers) {
        const float* from = floats(buffers[0]);
        float sum = 0;
        for (std::int64_t i = 0; i < items; ++i) sum += from[i] * from[i];
        *floats(buffers[1]) = sum / static_cast<float>(items);
      });
    }
    return loop_kernel({input, gradient, to_input}, [=](std::span<DeviceBuffer* const> buffers) {
      const float* from = floats(buffers[0]);
      float* to = floats(buffers[2]);
      const float factor = *floats(buffers[1]) * 2 / static_cast<float>(items);
      for (std::int64_t i = 0; i < items; ++i) to[i] = from[i] * factor;
    });
  }
  if (problem.pass == Pass::forward) {
    const dnnl::memory::desc data = dense({rows, classes}, dnnl::memory::data_type::f32);
    const dnnl::logsoftmax_forward::primitive_desc description({dnnl::prop_kind::forward_training, data, 1}, device.engine);
    return loop_kernel({input, {TensorRole::kept, 0, items, true}, {TensorRole::output, 0, 1, true}},
                       [=, primitive = dnnl::logsoftmax_forward(description)](std::span<DeviceBuffer* const> buffers) {
                         dnnl::memory from(data, device.engine, floats(buffers[0]));
                         dnnl::memory to(data, device.engine, floats(buffers[1]));
                         dnnl::stream stream = device.stream;
                         primitive.execute(stream, {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, to}});
                         float sum = 0;
                         for (std::int64_t row = 0; row < rows; ++row) {
                           sum -= floats(buffers[1])[row * classes + row % classes];
                         }
                         *floats(buffers[2]) = sum / static_cast<float>(rows);
                       });
  }
  return loop_kernel({{TensorRole::kept, 0, items, false}, gradient, to_input}, [=](std::span<DeviceBuffer* const> buffers) {
    const float* logarithms = floats(buffers[0]);
    const float factor = *floats(buffers[1]) / static_cast<float>(rows);
    float* to = floats(buffers[2]);
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t i = row * classes; i < (row + 1) * classes; ++i) to[i] = std::exp(logarithms[i]) * factor;
      to[row * classes + row % classes] -= factor;
    }
  });
}

}  // namespace

const Kind loss{"loss", refusal, prepare};

}  // namespace ddl::onednn
