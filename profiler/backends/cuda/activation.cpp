#include <algorithm>
#include <array>

#include "core/error.hpp"
#include "profiler/backends/cuda/kernels.hpp"
#include "profiler/backends/cuda/status.hpp"
#include "profiler/backends/cuda/tensor_descriptor.hpp"

namespace ddl::cuda {
namespace {

/// An element-wise function and its name in cuDNN. CUDNN_ACTIVATION_IDENTITY means that cuDNN lacks the function.
struct Function {
  std::string_view name;
  device::Function own;
  cudnnActivationMode_t mode;
  double coefficient;
};
constexpr std::array<Function, 11> functions{{
    {"relu", device::Function::relu, CUDNN_ACTIVATION_RELU, 0},
    {"relu6", device::Function::relu6, CUDNN_ACTIVATION_CLIPPED_RELU, 6},
    {"leaky_relu", device::Function::leaky_relu, CUDNN_ACTIVATION_IDENTITY, 0},
    {"tanh", device::Function::tanh, CUDNN_ACTIVATION_TANH, 0},
    {"sigmoid", device::Function::sigmoid, CUDNN_ACTIVATION_SIGMOID, 0},
    {"gelu", device::Function::gelu, CUDNN_ACTIVATION_IDENTITY, 0},
    {"silu", device::Function::silu, CUDNN_ACTIVATION_SWISH, 1},
    {"hardswish", device::Function::hardswish, CUDNN_ACTIVATION_IDENTITY, 0},
    {"elu", device::Function::elu, CUDNN_ACTIVATION_ELU, 1},
    {"hardsigmoid", device::Function::hardsigmoid, CUDNN_ACTIVATION_IDENTITY, 0},
    {"softplus", device::Function::softplus, CUDNN_ACTIVATION_IDENTITY, 0},
}};

const Function* find_function(const Problem& problem) {
  const AttributeValues attributes = problem.operation->attribute_values();
  const auto* found = std::find_if(functions.begin(), functions.end(),
                                   [&](const Function& function) { return function.name == attributes.text("kind"); });
  return found == functions.end() ? nullptr : found;
}

std::string refusal_activation(const Problem& problem) {
  if (find_function(problem) != nullptr) return {};
  return "the function " + std::string(problem.operation->attribute_values().text("kind")) +
         " is not supported by this back end";
}

/// cuDNN's kernel of a function, called by its older interface, because the newer interface compiles a kernel for each size.
class Library {
 public:
  Library(const Function& function, const Problem& problem)
      : data_(dense({problem.samples, problem.output.items(), 1, 1}), data_type(problem.precision)) {
    check(cudnnCreateActivationDescriptor(&descriptor_), "cuDNN");
    cudnnStatus_t status =
        cudnnSetActivationDescriptor(descriptor_, function.mode, CUDNN_NOT_PROPAGATE_NAN, function.coefficient);
    if (status == CUDNN_STATUS_SUCCESS && function.mode == CUDNN_ACTIVATION_SWISH) {
      status = cudnnSetActivationDescriptorSwishBeta(descriptor_, function.coefficient);
    }
    if (status != CUDNN_STATUS_SUCCESS) static_cast<void>(cudnnDestroyActivationDescriptor(descriptor_));
    check(status, "cuDNN");
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() { static_cast<void>(cudnnDestroyActivationDescriptor(descriptor_)); }

  void forward(const Device& device, const void* input, void* output) const {
    check(cudnnActivationForward(device.target.handle(), descriptor_, &one, data_.get(), input, &zero, data_.get(), output),
          "activation");
  }
  void backward(const Device& device, const void* input, const void* output, const void* output_gradient,
                void* input_gradient) const {
    check(cudnnActivationBackward(device.target.handle(), descriptor_, &one, data_.get(), output, data_.get(),
                                  output_gradient, data_.get(), input, &zero, data_.get(), input_gradient),
          "activation");
  }

 private:
  static constexpr float one = 1, zero = 0;
  TensorDescriptor data_;
  cudnnActivationDescriptor_t descriptor_ = nullptr;
};

std::unique_ptr<PreparedKernel> prepare_activation(const Device& device, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const Function& function = *find_function(problem);
  const Precision precision = problem.precision;
  const std::int64_t items = problem.samples * problem.output.items();
  const bool forward = problem.pass == Pass::forward;
  const auto run_own = [&device, own = function.own, forward, items, precision](std::span<void* const> at) {
    const device::Launch launch = device.launch(precision);
    started(forward ? device::apply(launch, own, at[0], at[1], items)
                    : device::apply_backward(launch, own, at[0], at[1], at[2], items));
  };
  const auto run_library = [&device, forward](const Library& library, std::span<void* const> at) {
    if (forward) {
      library.forward(device, at[0], at[1]);
    } else {
      library.backward(device, at[0], at[3], at[1], at[2]);
    }
  };

  std::shared_ptr<const Library> library;
  std::vector<DeviceMemory> memories;
  std::vector<void*> trial;
  const Candidates candidates{
      .key = print_problem(problem),
      .count = 2,  // the two implementations: the library's, and our own
      .workspace =
          [&](std::size_t i) {
            if (i == 0 && function.mode == CUDNN_ACTIVATION_IDENTITY) throw Error("the library has no such function");
            if (i == 0) library = std::make_shared<const Library>(function, problem);
            return std::size_t{0};
          },
      .time =
          [&](std::size_t i) {
            while (memories.size() < (forward ? 2 : 4)) {
              memories.push_back(values(device, items, precision));
              trial.push_back(memories.back().data());
            }
            return shortest_time(device, [&] { i == 0 ? run_library(*library, trial) : run_own(trial); });
          },
      .tries = 2,
      .must_run = true,
  };
  const bool by_library = choose(device, candidates).index == 0;
  if (by_library && !library) library = std::make_shared<const Library>(function, problem);

  std::vector<KernelTensor> tensors{flat(TensorRole::input, 0, items, false, precision)};
  if (forward) {
    tensors.push_back(flat(TensorRole::output, 0, items, true, precision));
  } else {
    tensors.push_back(flat(TensorRole::output_gradient, 0, items, false, precision));
    tensors.push_back(flat(TensorRole::input_gradient, 0, items, true, precision));
    if (by_library) tensors.push_back(flat(TensorRole::output, 0, items, false, precision));
  }
  if (!by_library) return make_kernel("own:activation", std::move(tensors), run_own);
  return make_kernel("cudnn:activation", std::move(tensors),
                     [library, run_library](std::span<void* const> at) { run_library(*library, at); });
}

}  // namespace

const Kind activation{"activation", refusal_activation, prepare_activation};

}  // namespace ddl::cuda
