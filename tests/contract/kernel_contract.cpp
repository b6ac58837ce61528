#include "tests/contract/kernel_contract.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <set>

#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"
#include "tests/catch.hpp"
#include "tests/contract/reference.hpp"

namespace ddl {
namespace {

using Key = std::pair<TensorRole, int>;
using Buffers = std::map<Key, std::unique_ptr<DeviceBuffer>>;

/// Returns the buffers of a kernel in the kernel's order. Missing buffers are allocated.
std::vector<DeviceBuffer*> buffers_of(KernelBackend& backend, const PreparedKernel& kernel, Buffers& buffers) {
  std::vector<DeviceBuffer*> bound;
  for (const KernelTensor& tensor : kernel.tensors()) {
    auto& buffer = buffers[{tensor.role, tensor.index}];
    if (!buffer) buffer = backend.allocate_for(tensor);
    REQUIRE(buffer->items() == tensor.items);
    bound.push_back(buffer.get());
  }
  return bound;
}

std::vector<double> read(const DeviceBuffer& buffer) {
  std::vector<float> values(static_cast<std::size_t>(buffer.items()));
  buffer.read(values);
  return {values.begin(), values.end()};
}

void compare(const std::vector<double>& got, const std::vector<double>& wanted, double tolerance) {
  REQUIRE(got.size() == wanted.size());
  double largest = 1e-3;
  for (const double value : wanted) largest = std::max(largest, std::abs(value));
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    REQUIRE(std::isfinite(got[i]));
    worst = std::max(worst, std::abs(got[i] - wanted[i]) / largest);
  }
  CHECK(worst <= tolerance);
}

bool is_input(TensorRole role) {
  return role == TensorRole::input || role == TensorRole::weight || role == TensorRole::bias;
}

TensorRole variable_of(TensorRole gradient) {
  return gradient == TensorRole::input_gradient    ? TensorRole::input
         : gradient == TensorRole::weight_gradient ? TensorRole::weight
                                                   : TensorRole::bias;
}

}  // namespace

std::vector<std::string> contract_problems() {
  return {
      "convolution filters=4 kernel=3x3 padding=1 in=3x6x5",
      "convolution filters=4 kernel=3x3 stride=2 padding=1 bias=no in=3x7x7",
      "convolution filters=6 kernel=1x1 stride=2 bias=no in=4x6x6",
      "convolution filters=6 kernel=3x3 padding=1 groups=2 in=4x5x5",
      "convolution filters=4 kernel=3x3 padding=1 groups=4 bias=no in=4x5x5",
      "convolution filters=3 kernel=3x3 dilation=2 in=2x7x7",
      "convolution filters=3 kernel=3x3 stride=2 padding=same in=2x6x7",
      "convolution filters=4 kernel=1x5 padding=0x2 in=2x4x6",
      "convolution filters=2 kernel=3x3x3 padding=1 in=2x4x4x4",
      "convolution filters=3 kernel=3 padding=1 in=2x9",
      "transposed_convolution filters=3 kernel=2x2 stride=2 in=4x3x3",
      "transposed_convolution filters=2 kernel=3x3 stride=2 padding=1 output_padding=1 bias=no in=3x3x4",
      "transposed_convolution filters=4 kernel=3x3 groups=2 in=4x3x3",
      "transposed_convolution filters=2 kernel=2x2x2 stride=2 in=2x2x2x2",
      "fully_connected features=5 in=7",
      "fully_connected features=8 in=7",
      "fully_connected features=3 bias=no in=4x6t",
      "pool kind=max kernel=3x3 stride=2 padding=1 in=3x7x7",
      "pool kind=max kernel=2x2 ceil=yes in=2x5x5",
      "pool kind=average kernel=2x2 in=3x6x6",
      "pool kind=average kernel=3x3 stride=1 padding=1 in=2x5x5",
      "pool kind=average adaptive=1x1 in=4x5x5",
      "pool kind=average adaptive=2x2 in=2x6x6",
      "pool kind=average adaptive=3x3 in=2x7x7",
      "pool kind=max adaptive=2x3 in=2x5x7",
      "pool kind=max kernel=2x2x2 in=2x4x4x4",
      "pool kind=max kernel=3 stride=2 in=4x7t",
      "pool kind=average kernel=2 stride=2 in=4x6t",
      "pool kind=average adaptive=1 in=4x6t",
      "pool kind=average adaptive=2 in=4x5t",
      "norm kind=batch in=3x4x4",
      "norm kind=batch in=2x3x3x3",
      "norm kind=batch in=6x3",
      "norm kind=batch in=4x5t",
      "norm kind=batch in=7",
      "norm kind=batch scale=no in=3x4x4",
      "norm kind=batch bias=no in=3x4x4",
      "norm kind=batch scale=no bias=no in=3x4x4",
      "norm kind=layer in=8x5t",
      "norm kind=layer in=6x3x3",
      "norm kind=layer bias=no in=8x5t",
      "norm kind=layer scale=no bias=no in=8x5t",
      "norm kind=group groups=2 in=6x3x3",
      "norm kind=group groups=3 scale=no in=6x2x2x3",
      "norm kind=instance in=3x4x5",
      "norm kind=instance scale=no bias=no in=3x4x4",
      "norm kind=rms in=8x5t",
      "norm kind=rms bias=yes in=7",
      "norm kind=rms scale=no in=8x3t",
      "activation kind=relu in=3x4x4",
      "activation kind=relu6 in=3x4x4",
      "activation kind=leaky_relu in=20",
      "activation kind=tanh in=20",
      "activation kind=sigmoid in=20",
      "activation kind=gelu in=5x4t",
      "activation kind=silu in=20",
      "activation kind=hardswish in=20",
      "activation kind=elu in=20",
      "activation kind=hardsigmoid in=20",
      "activation kind=softplus in=20",
      "scale factor=0.25 in=3x4x4",
      "scale factor=trained in=3x4x4",
      "scale factor=trained bias=yes in=3x4x4",
      "scale factor=trained in=4x5t",
      "scale factor=trained bias=yes in=4x5t",
      "softmax in=5x3x4",
      "softmax in=7x3t",
      "softmax in=9",
      "dropout rate=0.3 in=4x5t",
      "dropout rate=0.5 of=samples in=3x4x4",
      "add in=3x4x4,3x4x4",
      "add in=5,5,5",
      "multiply in=3x4x4,3x4x4",
      "multiply in=3x4x4,3",
      "multiply in=5,5,5",
      "concat in=2x4x4,3x4x4",
      "concat in=2x5t,4x5t,1x5t",
      "embedding vocabulary=11 features=4 in=1x6t",
      "position_embedding positions=9 in=4x6t",
      "attention heads=2 in=12x5t",
      "attention heads=3 causal=yes in=18x4t",
      "attention heads=4 kv_heads=2 in=16x5t",
      "attention heads=4 kv_heads=1 causal=yes in=12x5t",
      "attention heads=2 causal=yes window=3 in=12x7t",
      "attention heads=2 alibi=yes causal=yes in=12x6t",
      "attention heads=2 buckets=4 in=12x6t",
      "attention heads=2 causal=yes buckets=6 in=12x9t",
      "attention heads=2 in=8x4t,16x6t",
      "attention heads=4 kv_heads=2 dropout=0.3 in=8x4t,8x6t",
      "attention heads=2 dropout=0.4 in=12x4t",
      "attention heads=2 fused=yes in=48x6t",
      "attention heads=2 causal=yes fused=yes in=96x8t",
      "attention heads=2 kv_heads=1 causal=yes window=40 fused=yes in=8x70t",
      "attention heads=2 fused=yes in=8x4t,16x6t",
      "window_attention heads=2 window=3x2 in=12x6x4",
      "window_attention heads=2 window=2x2 shift=1 in=12x4x6",
      "window_attention heads=1 window=4x2 shift=1 in=6x4x4",
      "additive_attention features=5 in=4x3t,6x4t",
      "additive_attention features=5 normalized=yes in=4x3t,6x4t",
      "rotary_embedding heads=2 in=24x5t",
      "rotary_embedding heads=4 kv_heads=2 turned=2 in=32x5t",
      "rotary_embedding heads=3 kv_heads=0 turned=2 in=12x5t",
      "lstm features=4 in=6x5t",
      "lstm features=3 bidirectional=yes in=4x5t",
      "router experts=5 active=2 in=6x4t",
      "dispatch active=2 in=4x3t,5x3t",
      "combine in=4x6t,5x3t",
      "fully_connected features=5 experts=3 in=4x6t",
      "fully_connected features=5 experts=3 bias=no in=4x4t",
      "interaction in=6,6,6,6",
      "slice channels=2 in=5x3x3",
      "slice first=3 channels=2 in=7x4t",
      "crop size=2x3 in=3x5x5",
      "crop size=2x2x2 in=2x4x5x3",
      "channel_shuffle groups=2 in=6x3x3",
      "channel_shuffle groups=3 in=12x4t",
      "space_to_depth block=2x2 in=3x4x6",
      "space_to_depth block=1x2x3 in=2x2x4x3",
      "resize kind=nearest size=6x9 in=2x3x3",
      "resize kind=linear size=6x8 in=2x3x4",
      "resize kind=linear size=4x4 in=2x6x3",
      "class_token in=4x5t",
      "select token=first in=4x5t",
      "select token=last in=4x5t",
      "loss kind=cross_entropy in=6",
      "loss kind=cross_entropy in=6x3t",
      "loss kind=cross_entropy in=6x3t,5",
      "loss kind=cross_entropy in=4x3x3",
      "loss kind=mse in=5,4x2t",
      "loss kind=mse in=5",
  };
}

int check_computes(KernelBackend& backend, const std::string& line, Precision precision, double tolerance) {
  INFO(line << " " << to_string(precision));
  Problem problem = parse_problem(line + " samples=2", "contract");
  problem.precision = precision;
  if (!backend.refusal(problem).empty()) return 0;

  std::mt19937_64 random(std::hash<std::string>{}(line));
  // Values are multiples of 1/64 up to 2, which bf16 represents exactly. Each value occurs with each sign before any is
  // repeated, so there are no ties within a window of a maximum, and no values at the kinks of relu.
  constexpr int distinct = 254;
  std::vector<float> shuffled;
  for (int i = 0; i < distinct; ++i) shuffled.push_back(static_cast<float>(i / 2 + 1) / (i % 2 == 0 ? 64.0F : -64.0F));
  const auto fill = [&](DeviceBuffer& buffer, const KernelTensor& tensor) {
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    std::vector<float> values(static_cast<std::size_t>(tensor.items));
    const bool tokens = problem.operation->type() == "embedding" && tensor.role == TensorRole::input;
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = tokens ? static_cast<float>(i * 7 % 11) : shuffled[i % distinct];
    }
    buffer.write(values);
  };

  Buffers buffers;
  ReferenceTensors tensors;
  const std::unique_ptr<PreparedKernel> forward = backend.prepare(problem);
  const std::vector<DeviceBuffer*> bound = buffers_of(backend, *forward, buffers);
  for (std::size_t i = 0; i < bound.size(); ++i) {
    const KernelTensor& tensor = forward->tensors()[i];
    if (tensor.written) continue;
    fill(*bound[i], tensor);
    tensors[{tensor.role, tensor.index}] = read(*bound[i]);
  }
  CHECK(backend.time([&] { forward->run(bound); }).value() >= 0);
  for (std::size_t i = 0; i < bound.size(); ++i) {
    const KernelTensor& tensor = forward->tensors()[i];
    // The reference needs to know a mask. Other kept tensors may have any content.
    if (tensor.role == TensorRole::kept && (tensor.bytes || precision == Precision::fp32)) {
      tensors[{tensor.role, tensor.index}] = read(*bound[i]);
    }
  }
  const std::vector<double> output = reference_forward(problem, tensors);
  REQUIRE(buffers.contains({TensorRole::output, 0}));
  compare(read(*buffers.at({TensorRole::output, 0})), output, tolerance);

  std::set<Key> gradients;
  std::vector<double> output_gradient;
  for (const Pass pass : {Pass::backward_data, Pass::backward_weight}) {
    problem.pass = pass;
    INFO(to_string(pass));
    const std::unique_ptr<PreparedKernel> backward = backend.prepare(problem);
    const bool first = !buffers.contains({TensorRole::output_gradient, 0});
    const std::vector<DeviceBuffer*> backward_bound = buffers_of(backend, *backward, buffers);
    if (first && buffers.contains({TensorRole::output_gradient, 0})) {
      DeviceBuffer& buffer = *buffers.at({TensorRole::output_gradient, 0});
      fill(buffer, {TensorRole::output_gradient, 0, buffer.items(), false});
      output_gradient = read(buffer);
    }
    backward->run(backward_bound);
    backward->run(backward_bound);  // nothing may accumulate between two calls
    for (const KernelTensor& tensor : backward->tensors()) {
      if (!tensor.written) continue;
      INFO(to_string(tensor.role) << " " << tensor.index);
      CHECK(gradients.insert({tensor.role, tensor.index}).second);
      problem.pass = Pass::forward;
      compare(read(*buffers.at({tensor.role, tensor.index})),
              reference_gradient(problem, tensors, {variable_of(tensor.role), tensor.index}, output_gradient), tolerance);
      problem.pass = pass;
    }
  }
  // Every input of forward has a gradient, unless it is token numbers or a choice.
  for (const KernelTensor& tensor : forward->tensors()) {
    if (tensor.written || !is_input(tensor.role)) continue;
    if (problem.operation->type() == "embedding" && tensor.role == TensorRole::input) continue;
    if (problem.operation->type() == "dispatch" && tensor.index == 1) continue;
    const TensorRole gradient = tensor.role == TensorRole::input    ? TensorRole::input_gradient
                                : tensor.role == TensorRole::weight ? TensorRole::weight_gradient
                                                                    : TensorRole::bias_gradient;
    INFO(to_string(gradient));
    CHECK(gradients.contains({gradient, tensor.index}));
  }
  return 1;
}

ProductBits product_bits_of(KernelBackend& backend, Precision precision) {
  // A passing fp32 test with inputs that are exact in fewer bits does not cover these cases.
  // Backward of the data and of the weights are separate products, which may use other kernels.
  const std::vector<std::string> lines{"convolution filters=8 kernel=3x3 padding=1 bias=no in=8x6x5",
                                       "convolution filters=8 kernel=1x1 bias=no in=16x4x4",
                                       "convolution filters=4 kernel=3x3x3 padding=1 bias=no in=4x4x4x4",
                                       "fully_connected features=8 bias=no in=16", "attention heads=2 in=48x6t"};
  constexpr double sum_of_fp32 = 1e-5;  // sums of at most 216 products, each rounded to 2^-24
  ProductBits bits;
  for (const std::string& line : lines) {
    Problem problem = parse_problem(line + " samples=2", "contract");
    problem.precision = precision;
    if (!backend.refusal(problem).empty()) continue;
    ++bits.ran;
    int state = 0;
    // Values are 1 + n/4096 for odd n up to 63. tf32 rounds them by 1/4096 or by 1/2048, always
    // away from or towards zero with the sign of the value.
    const auto fill = [&](DeviceBuffer& buffer) {
      std::vector<float> values(static_cast<std::size_t>(buffer.items()));
      for (float& value : values) value = 1.0F + static_cast<float>(state++ % 16 * 4 + 1) / 4096.0F;
      buffer.write(values);
    };
    Buffers buffers;
    ReferenceTensors tensors;
    std::vector<double> errors;
    const auto note = [&](const std::vector<double>& got, const std::vector<double>& wanted) {
      double largest = 1e-3;
      double worst = 0;
      for (const double value : wanted) largest = std::max(largest, std::abs(value));
      for (std::size_t i = 0; i < wanted.size(); ++i) worst = std::max(worst, std::abs(got[i] - wanted[i]) / largest);
      errors.push_back(worst);
    };
    const std::unique_ptr<PreparedKernel> forward = backend.prepare(problem);
    const std::vector<DeviceBuffer*> bound = buffers_of(backend, *forward, buffers);
    for (std::size_t i = 0; i < bound.size(); ++i) {
      const KernelTensor& tensor = forward->tensors()[i];
      if (tensor.written) continue;
      fill(*bound[i]);
      tensors[{tensor.role, tensor.index}] = read(*bound[i]);
    }
    forward->run(bound);
    note(read(*buffers.at({TensorRole::output, 0})), reference_forward(problem, tensors));
    std::vector<double> output_gradient;
    for (const Pass pass : {Pass::backward_data, Pass::backward_weight}) {
      problem.pass = pass;
      const std::unique_ptr<PreparedKernel> backward = backend.prepare(problem);
      const std::vector<DeviceBuffer*> backward_bound = buffers_of(backend, *backward, buffers);
      if (backward_bound.empty()) continue;
      if (output_gradient.empty()) {
        DeviceBuffer& buffer = *buffers.at({TensorRole::output_gradient, 0});
        fill(buffer);
        output_gradient = read(buffer);
      }
      backward->run(backward_bound);
      for (const KernelTensor& tensor : backward->tensors()) {
        if (!tensor.written) continue;
        problem.pass = Pass::forward;
        note(read(*buffers.at({tensor.role, tensor.index})),
             reference_gradient(problem, tensors, {variable_of(tensor.role), tensor.index}, output_gradient));
        problem.pass = pass;
      }
    }
    const double worst = *std::max_element(errors.begin(), errors.end());
    if (worst <= sum_of_fp32) continue;
    UNSCOPED_INFO(line << ": " << worst << " of the largest item");
    ++bits.rounded;
  }
  return bits;
}

void check_updates(KernelBackend& backend) {
  constexpr std::int64_t count = 1037;
  constexpr std::int64_t tensors = 5;
  for (const Optimizer optimizer : enum_values<Optimizer>) {
    for (const UpdateImplementation implementation : enum_values<UpdateImplementation>) {
      INFO(to_string(optimizer) << " " << to_string(implementation));
      // The last tensor of a list is shorter than the others.
      const UpdateProblem problem{optimizer, count, Precision::fp32, implementation,
                                  is_of_list(implementation) ? tensors : 1};
      REQUIRE(backend.refusal(problem).empty());
      const std::unique_ptr<PreparedKernel> kernel = backend.prepare(problem);
      Buffers buffers;
      const std::vector<DeviceBuffer*> bound = buffers_of(backend, *kernel, buffers);
      std::vector<float> ones(count, 1.0F);
      const std::vector<float> gradients(count, 0.5F);
      buffers.at({TensorRole::weight, 0})->write(ones);
      buffers.at({TensorRole::weight_gradient, 0})->write(gradients);
      kernel->run(bound);
      kernel->run(bound);
      // The loop runs two steps of rate 0.001 on a gradient of 0.5, with states that start at zero.
      const Optimizer timed = timed_as(optimizer);
      double expected = 1 - 2 * 1e-3 * 0.5;
      if (timed == Optimizer::momentum) expected = 1 - 1e-3 * (0.5 + (0.9 * 0.5 + 0.5));
      if (timed == Optimizer::adam) {
        expected = 1;
        double first = 0;
        double second = 0;
        for (int run = 0; run < 2; ++run) {
          first = 0.9 * first + 0.1 * 0.5;
          second = 0.999 * second + 0.001 * 0.25;
          expected -= 1e-3 * first / (std::sqrt(second) + 1e-8);
        }
      }
      for (const double weight : read(*buffers.at({TensorRole::weight, 0}))) CHECK(weight == Approx(expected).epsilon(1e-5));
    }
  }
}

int check_casts(KernelBackend& backend, Precision half) {
  const std::string name(to_string(half));
  const int ran = check_computes(backend, "cast to=" + name + " in=45", Precision::fp32, 1e-6) +
                  check_computes(backend, "cast to=fp32 precision=" + name + " in=45", half, 1e-6);
  const Problem problem = parse_problem("cast to=" + name + " in=9", "contract");
  if (!backend.refusal(problem).empty()) return ran;
  const std::unique_ptr<PreparedKernel> kernel = backend.prepare(problem);
  Buffers buffers;
  const std::vector<DeviceBuffer*> bound = buffers_of(backend, *kernel, buffers);
  // The value has nine more bits than bf16, and one more than fp16.
  buffers.at({TensorRole::input, 0})->write(std::vector<float>(9, 1 + 1.0F / 4096));
  kernel->run(bound);
  CHECK(backend.time([] {}).value() >= 0);
  CHECK(read(*buffers.at({TensorRole::output, 0})) == std::vector<double>(9, 1.0));
  return ran;
}

void check_behaves(KernelBackend& backend) {
  const DeviceInfo info = backend.info();
  CHECK_FALSE(info.backend.empty());
  CHECK_FALSE(info.device.empty());
  const std::unique_ptr<DeviceBuffer> buffer = backend.allocate(5, Precision::fp32);
  buffer->write(std::array{1.0F, -2.0F, 0.5F, 1e30F, 0.0F});
  CHECK(read(*buffer) == std::vector<double>{1.0, -2.0, 0.5, 1e30F, 0.0});
  CHECK(backend.time([] {}).value() >= 0);
  DeviceBuffer* const touched = buffer.get();
  backend.evict({&touched, 1});
  backend.touch(*buffer);
  CHECK(read(*buffer) == std::vector<double>{1.0, -2.0, 0.5, 1e30F, 0.0});

  // Every operation of every model is included, with each text of attributes once.
  std::set<std::string> seen;
  int ran = 0;
  for (const std::string& name : model_names()) {
    for (const Layer& layer : load_model(name).layers) {
      if (!seen.insert(std::string(layer.operation->type()) + layer.operation->attributes()).second) continue;
      const Operation::Local local = layer.operation->local(layer.input_shapes, layer.output_shape);
      Problem problem{local.operation ? local.operation : layer.operation,
                      local.inputs,
                      layer.output_shape,
                      1,
                      Precision::fp32,
                      Pass::forward};
      INFO(name << ": " << print_problem(problem));
      const std::string why = backend.refusal(problem);
      if (!why.empty()) {
        CHECK_THROWS(backend.prepare(problem));
        continue;
      }
      // Large problems are prepared in other tests. This test covers all operations, but not their time.
      std::int64_t items = problem.output.items() + layer.weights;
      for (const TensorShape& input : problem.inputs) items += input.items();
      if (items > 2'000'000) continue;
      CHECK_NOTHROW(backend.prepare(problem));
      ++ran;
    }
  }
  CHECK(ran > 10);
}

}  // namespace ddl
