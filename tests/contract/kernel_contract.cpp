#include "tests/contract/kernel_contract.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <set>

#include "model_zoo/model.hpp"
#include "tests/catch.hpp"
#include "tests/contract/reference.hpp"

namespace ddl {
namespace {

using Key = std::pair<TensorRole, int>;
using Buffers = std::map<Key, std::unique_ptr<DeviceBuffer>>;

/// Buffers of a kernel in its order; those that are not there yet are made.
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
      "pool kind=max kernel=2x2x2 in=2x4x4x4",
      "norm kind=batch in=3x4x4",
      "norm kind=batch in=2x3x3x3",
      "norm kind=batch in=6x3",
      "norm kind=layer in=8x5t",
      "norm kind=layer in=6x3x3",
      "activation kind=relu in=3x4x4",
      "activation kind=relu6 in=3x4x4",
      "activation kind=leaky_relu in=20",
      "activation kind=tanh in=20",
      "activation kind=sigmoid in=20",
      "activation kind=gelu in=5x4t",
      "activation kind=silu in=20",
      "activation kind=hardswish in=20",
      "activation kind=elu in=20",
      "softmax in=7x3t",
      "softmax in=9",
      "dropout rate=0.3 in=4x5t",
      "add in=3x4x4,3x4x4",
      "add in=5,5,5",
      "multiply in=3x4x4,3x4x4",
      "multiply in=3x4x4,3",
      "concat in=2x4x4,3x4x4",
      "concat in=2x5t,4x5t,1x5t",
      "embedding vocabulary=11 features=4 in=1x6t",
      "position_embedding positions=9 in=4x6t",
      "attention heads=2 in=12x5t",
      "attention heads=3 causal=yes in=18x4t",
      "attention heads=2 dropout=0.4 in=12x4t",
      "attention heads=2 fused=yes in=48x6t",
      "attention heads=2 causal=yes fused=yes in=96x8t",
      "class_token in=4x5t",
      "select token=first in=4x5t",
      "select token=last in=4x5t",
      "loss kind=cross_entropy in=6",
      "loss kind=cross_entropy in=6x3t",
      "loss kind=cross_entropy in=6x3t,5",
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
  // Multiples of 1/64 up to 2, which bf16 holds exactly, each sign of each once before any comes again: no ties within a
  // window of a maximum, and none at the kinks of relu.
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
    // A mask, which the reference needs to know; what else is kept may be anything.
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
    backward->run(backward_bound);  // nothing adds up from one run to the next
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
  // Whatever forward reads has a gradient, unless it is words.
  for (const KernelTensor& tensor : forward->tensors()) {
    if (tensor.written || !is_input(tensor.role)) continue;
    if (problem.operation->type() == "embedding" && tensor.role == TensorRole::input) continue;
    const TensorRole gradient = tensor.role == TensorRole::input    ? TensorRole::input_gradient
                                : tensor.role == TensorRole::weight ? TensorRole::weight_gradient
                                                                    : TensorRole::bias_gradient;
    INFO(to_string(gradient));
    CHECK(gradients.contains({gradient, tensor.index}));
  }
  return 1;
}

void check_updates(KernelBackend& backend) {
  constexpr std::int64_t count = 37;
  for (const Optimizer optimizer : all_optimizers) {
    INFO(to_string(optimizer));
    const std::unique_ptr<PreparedKernel> kernel = backend.prepare(UpdateProblem{optimizer, count, Precision::fp32});
    Buffers buffers;
    const std::vector<DeviceBuffer*> bound = buffers_of(backend, *kernel, buffers);
    std::vector<float> ones(count, 1.0F);
    const std::vector<float> gradients(count, 0.5F);
    buffers.at({TensorRole::weight, 0})->write(ones);
    buffers.at({TensorRole::weight_gradient, 0})->write(gradients);
    kernel->run(bound);
    kernel->run(bound);
    // Two steps of rate 0.001 on a gradient of 0.5, states from zero.
    double expected = 1 - 2 * 1e-3 * 0.5;
    if (optimizer == Optimizer::momentum) expected = 1 - 1e-3 * (0.5 + (0.9 * 0.5 + 0.5));
    if (optimizer == Optimizer::adam) {
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

  // Every kind of operation of every model, each attribute text once.
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
      // Large ones are prepared elsewhere: this is about all of them, not about time.
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
