#include <array>

#include <fmt/format.h>

#include "model_zoo/operations/function_flops.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// The tensor that backward computes the derivative from. Forward keeps this tensor (as in PyTorch 1.13.1).
enum class From {
  input,
  output,
  output_in_place,  ///< the output if the function works in place, else the input
};

struct ActivationKind {
  std::string_view name;
  From from;
  double flops;  ///< FLOPs per element
};
constexpr std::array<ActivationKind, 13> activation_kinds{{
    {"relu", From::output, 1},
    {"relu6", From::input, 2},
    {"relu2", From::input, 2},  // the square of relu [So et al., "Primer", NeurIPS 2021, section 4.1]
    {"leaky_relu", From::output_in_place, 2},
    {"tanh", From::output, tanh_flops},
    {"sigmoid", From::output, sigmoid_flops},
    {"gelu", From::input, 2 * transcendental_flops},
    {"silu", From::input, sigmoid_flops + 1},
    {"hardswish", From::input, 5},
    {"hardsigmoid", From::input, 4},
    {"softplus", From::input, 2 * transcendental_flops},
    {"elu", From::output_in_place, transcendental_flops + 1},
    // xielu has two trained numbers [Huang et al., "Deriving activation functions using integration", arXiv 2411.13010].
    {"xielu", From::input, transcendental_flops + 6},
}};
constexpr std::array<std::string_view, activation_kinds.size()> activation_names = [] {
  std::array<std::string_view, activation_kinds.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = activation_kinds[i].name;
  return names;
}();

/// An elementwise function. A composed function consists of unfused operators. An example is gelu with a hyperbolic tangent,
/// x/2·(1 + tanh(c(x + dx³))), as in NewGELUActivation of Hugging Face's transformers.
class Activation final : public Operation {
 public:
  Activation(const ActivationKind& kind, bool in_place, bool sequence, bool composed)
      : kind_(kind), in_place_(in_place), sequence_(sequence), composed_(composed) {}

  std::string_view type() const override { return "activation"; }
  std::string_view short_name() const override { return kind_.name; }
  /// Returns the attributes without `composed`, because back ends measure one kernel.
  AttributeValues attribute_values() const override {
    AttributeValues values{{"kind", kind_.name}};
    if (in_place_) values.add("in_place", true);
    return values;
  }
  TensorShape infer(std::span<const TensorShape> inputs) const override { return only_input(inputs, type()); }
  std::int64_t biases(std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const override {
    return kind_.name == "xielu" ? 2 : 0;
  }
  Work work(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    const double count = items(output);
    if (pass == Pass::forward) return {.flops = kind_.flops * count, .activation_items = 2 * count};
    // Backward reads the kept tensor and the gradient of the output, and writes the gradient of the input.
    if (pass == Pass::backward_data) return {.flops = (kind_.flops + 1) * count, .activation_items = 3 * count};
    // The gradients of the trained numbers sum over all elements.
    if (pass == Pass::backward_weight && kind_.name == "xielu")
      return {.flops = 4 * count, .activation_items = 2 * count, .weight_items = 2};
    return {};
  }
  std::vector<Work> kernels(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    std::vector<Work> kernels{work(pass, inputs, output)};
    if (!composed_ || (pass != Pass::forward && pass != Pass::backward_data)) return kernels;
    // For each unfused operator except the first of a pass, the number of tensors that the operator reads and writes.
    // Forward computes x/2, the cube (the first operator), dx³, x + dx³, its multiple, the tangent, the sum with 1, and the
    // product. Backward computes the gradients of both factors (one of them is the first operator), of the tangent, of two
    // multiples, of the cube in three operators, of x/2, and the sums of the three gradients of x.
    constexpr std::array<double, 7> forward{2, 2, 3, 2, 2, 2, 3};
    constexpr std::array<double, 10> backward{3, 3, 2, 2, 2, 2, 3, 2, 3, 3};
    const auto add = [&](double tensors) {
      kernels.push_back({.flops = items(output), .activation_items = tensors * items(output), .is_separate = true});
    };
    if (pass == Pass::forward) {
      for (const double tensors : forward) add(tensors);
    } else {
      for (const double tensors : backward) add(tensors);
    }
    return kernels;
  }
  double depth(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& output,
               double samples) const override {
    if (pass == Pass::backward_weight && kind_.name == "xielu") return reduction_depth({samples, items(output)});
    return 1;
  }
  Divisible divisible() const override { return {.channelwise = true, .spatial = !sequence_, .tokens = sequence_}; }
  bool in_place() const override { return in_place_; }
  /// The operators of a composed function also keep x/2, the tangent and the sum with 1.
  Kept kept(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    const bool is_output = kind_.from == From::output || (kind_.from == From::output_in_place && in_place_);
    return {.input = !is_output, .output = is_output, .operator_items = composed_ ? 3 * items(output) : 0};
  }

 private:
  const ActivationKind& kind_;
  bool in_place_, sequence_, composed_;
};

}  // namespace

std::shared_ptr<const Operation> read_activation(const Attributes& attributes) {
  const ActivationKind& kind = activation_kinds[attributes.choice("kind", activation_names)];
  const bool in_place = attributes.find_boolean("in_place").value_or(false);
  if (in_place && kind.from == From::input) {
    attributes.fail("in_place", fmt::format("{} cannot be in-place: its gradient needs the input", kind.name));
  }
  const bool composed = attributes.find_boolean("composed").value_or(false);
  if (composed && kind.name != "gelu") attributes.fail("composed", "only gelu can be unfused");
  return std::make_shared<Activation>(kind, in_place, attributes.input().sequence, composed);
}

}  // namespace ddl
