#include <array>
#include <optional>

#include "profiler/backends/cuda/arrangement.hpp"
#include "profiler/backends/cuda/matrix_product.hpp"
#include "profiler/backends/cuda/status.hpp"

namespace ddl::cuda {
namespace {

constexpr std::int64_t gates = 4;

struct Sizes {
  explicit Sizes(const Problem& problem)
      : samples(problem.samples),
        tokens(problem.output.extent[0]),
        channels(problem.inputs.front().channels),
        features(problem.operation->attribute_values().integer("features", 1)),
        directions(problem.operation->attribute_values().flag("bidirectional", false) ? 2 : 1) {}
  [[nodiscard]] std::int64_t rows() const { return samples * tokens; }
  [[nodiscard]] std::int64_t width() const { return directions * features; }
  /// The number of elements of the state of one direction in one step.
  [[nodiscard]] std::int64_t states() const { return samples * features; }
  [[nodiscard]] std::int64_t gate_items() const { return gates * states(); }

  std::int64_t samples, tokens, channels, features, directions;
};

/// Transposes samples and tokens, or back, so that the rows of a step are contiguous.
device::Order turned(const Sizes& s, std::int64_t width, bool back) {
  return order_of({{s.samples, s.tokens * width, width}, {s.tokens, width, s.samples * width}, {width, 1, 1}}, 0, back);
}

// The gates are in the order input, forget, cell, output. Each direction has two matrices of [gates × features, channels],
// for the input and for the state, and one bias. One product computes the contribution of the input to all steps. Each step
// then has a product of the state, and a pass over the units. Kept tensors are stored step by step: gates, cells, and the
// initial states of steps.
class Lstm {
 public:
  Lstm(const Device& on, const Problem& problem)
      : device_(on), s_(problem), precision_(problem.precision), forward_(problem.pass == Pass::forward) {
    const std::string key = print_problem(problem);
    const std::int64_t rows = gates * s_.features;
    // The alignment is small, because the products use parts of tensors that contain both directions or all steps.
    const std::uint32_t alignment =
        alignment_of({s_.features * rows, s_.channels * rows, s_.gate_items(), s_.states()}, precision_);
    turned_input_ = memory(s_.rows() * s_.channels, precision_);
    if (forward_) {
      of_input_.emplace(on,
                        Product{.m = s_.rows(), .n = rows, .k = s_.channels, .b_transposed = true, .alignment = alignment},
                        precision_, key + " of the input");
      of_state_.emplace(on,
                        Product{.m = s_.samples, .n = rows, .k = s_.features, .b_transposed = true, .alignment = alignment},
                        precision_, key + " of the state");
      input_products_ = memory(s_.tokens * s_.gate_items(), precision_);
      state_products_ = memory(s_.gate_items(), precision_);
      return;
    }
    to_input_.emplace(on, Product{.m = s_.rows(), .n = s_.channels, .k = rows, .alignment = alignment}, precision_,
                      key + " to the input");
    to_state_.emplace(on, Product{.m = s_.samples, .n = s_.features, .k = rows, .alignment = alignment}, precision_,
                      key + " to the state");
    input_weights_.emplace(
        on, Product{.m = rows, .n = s_.channels, .k = s_.rows(), .a_transposed = true, .alignment = alignment}, precision_,
        key + " of the input's weights");
    state_weights_.emplace(
        on, Product{.m = rows, .n = s_.features, .k = s_.rows(), .a_transposed = true, .alignment = alignment}, precision_,
        key + " of the state's weights");
    input_products_ = memory(s_.tokens * s_.gate_items(), precision_);  // in backward: gradients of the gates
    state_products_ = memory(s_.states(), precision_);                  // in backward: gradient of a step's state
    cell_gradients_ = memory(s_.states(), Precision::fp32);
    for (DeviceMemory& part : input_gradients_) part = memory(s_.rows() * s_.channels, precision_);
    sums_ = memory(device::channel_sum_parts(bias_rows()) * rows, Precision::fp32);
  }

  [[nodiscard]] std::string name() const { return (forward_ ? of_input_ : to_input_)->name() + "+own:lstm"; }
  [[nodiscard]] std::size_t workspace() const {
    std::size_t bytes = turned_input_.bytes() + input_products_.bytes() + state_products_.bytes() + cell_gradients_.bytes() +
                        input_gradients_[0].bytes() + input_gradients_[1].bytes() + sums_.bytes();
    for (const auto* product : {&of_input_, &of_state_, &to_input_, &to_state_, &input_weights_, &state_weights_}) {
      if (*product) bytes += (*product)->workspace();
    }
    return bytes;
  }
  [[nodiscard]] std::vector<KernelTensor> tensors() const {
    const std::int64_t rows = s_.directions * gates * s_.features;
    const std::int64_t in = s_.rows() * s_.channels;
    const std::int64_t out = s_.rows() * s_.width();
    std::vector<KernelTensor> tensors{
        flat(TensorRole::input, 0, in, false, precision_),
        flat(TensorRole::weight, 0, rows * s_.channels, false, precision_),
        flat(TensorRole::weight, 1, rows * s_.features, false, precision_),
        flat(TensorRole::kept, 0, s_.directions * s_.tokens * s_.gate_items(), forward_, precision_),
        flat(TensorRole::kept, 1, out, forward_, Precision::fp32),
        flat(TensorRole::kept, 2, out, forward_, precision_)};
    if (forward_) {
      tensors.push_back(flat(TensorRole::bias, 0, rows, false, precision_));
      tensors.push_back(flat(TensorRole::output, 0, out, true, precision_));
    } else {
      tensors.push_back(flat(TensorRole::output_gradient, 0, out, false, precision_));
      tensors.push_back(flat(TensorRole::input_gradient, 0, in, true, precision_));
      tensors.push_back(flat(TensorRole::weight_gradient, 0, rows * s_.channels, true, precision_));
      tensors.push_back(flat(TensorRole::weight_gradient, 1, rows * s_.features, true, precision_));
      tensors.push_back(flat(TensorRole::bias_gradient, 0, rows, true, precision_));
    }
    return tensors;
  }

  void run(std::span<void* const> at) {
    started(device::rearrange(launch(), turned(s_, s_.channels, false), at[0], turned_input_.data()));
    for (std::int64_t direction = 0; direction < s_.directions; ++direction) {
      if (forward_) {
        run_forward(at, direction);
      } else {
        run_backward(at, direction);
      }
    }
    if (forward_) return;
    if (s_.directions == 2) {
      started(device::add(launch(), input_gradients_[0].data(), input_gradients_[1].data(), input_gradients_[0].data(),
                          s_.rows() * s_.channels));
    }
    started(device::rearrange(launch(), turned(s_, s_.channels, true), input_gradients_[0].data(), at[7]));
  }

 private:
  static DeviceMemory memory(std::int64_t items, Precision precision) {
    return DeviceMemory(buffer_bytes(items, precision, false));
  }
  [[nodiscard]] device::Launch launch() const { return device_.launch(precision_); }
  [[nodiscard]] device::Image bias_rows() const { return {s_.rows(), gates * s_.features, 1, true}; }
  [[nodiscard]] void* part(void* whole, std::int64_t items) const {
    return static_cast<std::byte*>(whole) + static_cast<std::size_t>(items) * (is_mixed(precision_) ? 2 : 4);
  }
  /// The parts of a direction's tensors that one step uses.
  struct Step {
    std::int64_t token;
    std::optional<std::int64_t> before, behind;  ///< tokens of the adjacent steps
  };
  [[nodiscard]] Step step_of(std::int64_t direction, std::int64_t number) const {
    const std::int64_t way = direction == 0 ? 1 : -1;
    const std::int64_t token = direction == 0 ? number : s_.tokens - 1 - number;
    Step step{token, {}, {}};
    if (number > 0) step.before = token - way;
    if (number + 1 < s_.tokens) step.behind = token + way;
    return step;
  }
  [[nodiscard]] device::LstmStep place_of(std::int64_t direction, std::int64_t token) const {
    return {s_.samples, s_.features, s_.tokens * s_.width(), token * s_.width() + direction * s_.features};
  }

  void run_forward(std::span<void* const> at, std::int64_t direction) {
    const std::int64_t rows = gates * s_.features;
    const std::int64_t states = direction * s_.tokens * s_.states();
    void* const kept_gates = part(at[3], direction * s_.tokens * s_.gate_items());
    auto* const cells = static_cast<float*>(at[4]) + states;
    void* const begun = part(at[5], states);
    of_input_->run(device_, turned_input_.data(), part(at[1], direction * rows * s_.channels), input_products_.data());
    started(device::add_bias(launch(), bias_rows(), part(at[6], direction * rows), input_products_.data()));
    for (std::int64_t number = 0; number < s_.tokens; ++number) {
      const Step step = step_of(direction, number);
      if (step.before) {
        of_state_->run(device_, part(begun, step.token * s_.states()), part(at[2], direction * rows * s_.features),
                       state_products_.data());
      } else {
        const auto bytes = static_cast<std::size_t>(s_.states()) * (is_mixed(precision_) ? 2 : 4);
        check(cudaMemsetAsync(part(begun, step.token * s_.states()), 0, bytes, device_.stream), "clearing a state");
      }
      started(device::lstm_step(
          launch(), place_of(direction, step.token), part(input_products_.data(), step.token * s_.gate_items()),
          step.before ? state_products_.data() : nullptr, step.before ? cells + *step.before * s_.states() : nullptr,
          part(kept_gates, step.token * s_.gate_items()), cells + step.token * s_.states(),
          step.behind ? part(begun, *step.behind * s_.states()) : nullptr, at[7]));
    }
  }

  void run_backward(std::span<void* const> at, std::int64_t direction) {
    const std::int64_t rows = gates * s_.features;
    const std::int64_t states = direction * s_.tokens * s_.states();
    void* const kept_gates = part(at[3], direction * s_.tokens * s_.gate_items());
    const auto* const cells = static_cast<const float*>(at[4]) + states;
    void* const gradients = input_products_.data();
    for (std::int64_t number = s_.tokens; number-- > 0;) {
      const Step step = step_of(direction, number);
      if (step.behind) {
        to_state_->run(device_, part(gradients, *step.behind * s_.gate_items()), part(at[2], direction * rows * s_.features),
                       state_products_.data());
      }
      started(device::lstm_step_backward(
          launch(), place_of(direction, step.token), at[6], step.behind ? state_products_.data() : nullptr,
          part(kept_gates, step.token * s_.gate_items()), step.before ? cells + *step.before * s_.states() : nullptr,
          cells + step.token * s_.states(), static_cast<float*>(cell_gradients_.data()),
          part(gradients, step.token * s_.gate_items())));
    }
    to_input_->run(device_, gradients, part(at[1], direction * rows * s_.channels),
                   input_gradients_.at(static_cast<std::size_t>(direction)).data());
    input_weights_->run(device_, gradients, turned_input_.data(), part(at[8], direction * rows * s_.channels));
    state_weights_->run(device_, gradients, part(at[5], states), part(at[9], direction * rows * s_.features));
    started(device::channel_sums(launch(), bias_rows(), gradients, static_cast<float*>(sums_.data()),
                                 part(at[10], direction * rows)));
  }

  const Device& device_;
  Sizes s_;
  Precision precision_;
  bool forward_;
  std::optional<ProductRunner> of_input_, of_state_, to_input_, to_state_, input_weights_, state_weights_;
  DeviceMemory turned_input_, input_products_, state_products_, cell_gradients_, sums_;
  std::array<DeviceMemory, 2> input_gradients_;
};

std::unique_ptr<PreparedKernel> prepare_lstm(const Device& device, const Problem& problem) {
  // This pass is empty. backward-weight computes all gradients, because they all need a backward
  // pass through the time steps. It runs even if the input's gradient is not needed.
  if (problem.pass == Pass::backward_data) return empty_kernel();
  const auto lstm = std::make_shared<Lstm>(device, problem);
  return make_kernel(
      lstm->name(), lstm->tensors(), [lstm](std::span<void* const> at) { lstm->run(at); }, lstm->workspace());
}

}  // namespace

const Kind lstm{"lstm", no_refusal, prepare_lstm};

}  // namespace ddl::cuda
