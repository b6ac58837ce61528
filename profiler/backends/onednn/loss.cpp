#include <cmath>
#include <vector>

#include "profiler/backends/onednn/descriptions.hpp"
#include "profiler/backends/onednn/kernels.hpp"

namespace ddl::onednn {
namespace {

/// One tensor of the loss. Its rows are samples, tokens or positions of an image. The classes of a
/// row are `step` elements apart.
struct Part {
  std::int64_t items = 0, classes = 1, rows = 1, step = 1;

  /// Index of the row's target class.
  [[nodiscard]] std::int64_t label(std::int64_t row) const {
    const std::int64_t first = row / step * step * classes + row % step;
    return first + row % classes * step;
  }
};

// The loss is the sum over inputs of the mean over rows, which are samples, tokens or positions. The targets are artificial:
// class `row modulo classes`, and zero for the mean square. The time does not depend on the targets.
std::unique_ptr<PreparedKernel> prepare_loss(const Device& device, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  std::vector<Part> parts;
  std::vector<KernelTensor> inputs, kept, to_inputs;
  for (const TensorShape& shape : problem.inputs) {
    const auto index = static_cast<int>(parts.size());
    const std::int64_t items = problem.samples * shape.items();
    parts.push_back({items, shape.channels, items / shape.channels, shape.sequence ? 1 : shape.positions()});
    inputs.push_back({TensorRole::input, index, items, false});
    kept.push_back({TensorRole::kept, index, items, problem.pass == Pass::forward});
    to_inputs.push_back({TensorRole::input_gradient, index, items, true});
  }
  const std::size_t count = parts.size();
  const KernelTensor output{TensorRole::output, 0, 1, true};
  const KernelTensor gradient{TensorRole::output_gradient, 0, 1, false};
  const auto joined = [](std::vector<KernelTensor> first, const KernelTensor& middle,
                         const std::vector<KernelTensor>& last) {
    first.push_back(middle);
    first.insert(first.end(), last.begin(), last.end());
    return first;
  };
  if (problem.operation->attribute_values().text("kind") != "cross_entropy") {
    if (problem.pass == Pass::forward) {
      return loop_kernel(joined(inputs, output, {}), [=](std::span<DeviceBuffer* const> buffers) {
        float total = 0;
        for (std::size_t part = 0; part < count; ++part) {
          const float* from = floats(buffers[part]);
          float sum = 0;
          for (std::int64_t i = 0; i < parts[part].items; ++i) sum += from[i] * from[i];
          total += sum / static_cast<float>(parts[part].items);
        }
        *floats(buffers[count]) = total;
      });
    }
    return loop_kernel(joined(inputs, gradient, to_inputs), [=](std::span<DeviceBuffer* const> buffers) {
      for (std::size_t part = 0; part < count; ++part) {
        const float* from = floats(buffers[part]);
        float* to = floats(buffers[count + 1 + part]);
        const float factor = *floats(buffers[count]) * 2 / static_cast<float>(parts[part].items);
        for (std::int64_t i = 0; i < parts[part].items; ++i) to[i] = from[i] * factor;
      }
    });
  }
  if (problem.pass == Pass::forward) {
    std::vector<dnnl::memory::desc> data;
    std::vector<LogSoftmax> softmax;
    for (const Part& part : parts) {
      data.push_back(part.step == 1 ? dense({part.rows, part.classes}, dnnl::memory::data_type::f32)
                                    : dense({part.rows / part.step, part.classes, part.step}, dnnl::memory::data_type::f32));
      softmax.emplace_back(describe_log_softmax(device, {}, data.back(), 1));
    }
    return loop_kernel(joined(inputs, output, kept), [=](std::span<DeviceBuffer* const> buffers) {
      float total = 0;
      for (std::size_t part = 0; part < count; ++part) {
        float* const logarithms = floats(buffers[count + 1 + part]);
        dnnl::memory from(data[part], device.engine, floats(buffers[part]));
        dnnl::memory to(data[part], device.engine, logarithms);
        dnnl::stream stream = device.stream;
        softmax[part].execute(stream, {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, to}});
        float sum = 0;
        for (std::int64_t row = 0; row < parts[part].rows; ++row) sum -= logarithms[parts[part].label(row)];
        total += sum / static_cast<float>(parts[part].rows);
      }
      *floats(buffers[count]) = total;
    });
  }
  return loop_kernel(joined(kept, gradient, to_inputs), [=](std::span<DeviceBuffer* const> buffers) {
    for (std::size_t part = 0; part < count; ++part) {
      const float* logarithms = floats(buffers[part]);
      const float factor = *floats(buffers[count]) / static_cast<float>(parts[part].rows);
      float* to = floats(buffers[count + 1 + part]);
      for (std::int64_t i = 0; i < parts[part].items; ++i) to[i] = std::exp(logarithms[i]) * factor;
      for (std::int64_t row = 0; row < parts[part].rows; ++row) to[parts[part].label(row)] -= factor;
    }
  });
}

}  // namespace

const Kind loss{"loss", only_fp32, prepare_loss};

}  // namespace ddl::onednn
