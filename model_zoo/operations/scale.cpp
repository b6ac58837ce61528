#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Multiplies every element by a constant, or by a trained factor of its channel, with an optional trained shift. Constants
/// of each channel with a constant shift are a batch norm that is not trained.
class Scale final : public Operation {
 public:
  /// If `factor` is unset, the factor is trained.
  Scale(std::optional<double> factor, bool bias, bool shifts, bool sequence)
      : factor_(factor), bias_(bias), shifts_(shifts), sequence_(sequence) {}

  std::string_view type() const override { return "scale"; }
  AttributeValues attribute_values() const override {
    if (factor_) {
      AttributeValues values{{"factor", *factor_}};
      if (shifts_) values.add("shift", true);
      return values;
    }
    AttributeValues values{{"factor", "trained"}};
    if (bias_) values.add("bias", true);
    return values;
  }
  TensorShape infer(std::span<const TensorShape> inputs) const override { return only_input(inputs, type()); }
  std::int64_t biases(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    return factor_ ? 0 : (bias_ ? 2 : 1) * output.channels;
  }
  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const double count = items(output);
    const double parameters = real(biases(inputs, output));
    if (pass == Pass::forward) {
      return {.flops = (bias_ ? 2 : 1) * count, .activation_items = 2 * count, .weight_items = parameters};
    }
    if (pass == Pass::backward_data) return {.flops = count, .activation_items = 2 * count, .weight_items = parameters};
    // The gradient of a trained factor is the sum of the products of the input and the output's
    // gradient. The gradient of the shift is the sum of the output's gradient.
    if (pass == Pass::backward_weight && !factor_) {
      return {.flops = (bias_ ? 3 : 2) * count, .activation_items = 2 * count, .weight_items = parameters};
    }
    return {};
  }
  std::vector<Work> kernels(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    std::vector<Work> kernels{work(pass, inputs, output)};
    // Operators add the shift in a kernel of their own [torchvision, torchvision/ops/misc.py, FrozenBatchNorm2d]. A compiler
    // multiplies and adds at once. Backward passes the gradient of the sum on.
    if (shifts_ && pass == Pass::forward)
      kernels.push_back({.flops = items(output), .activation_items = 2 * items(output), .is_separate = true});
    return kernels;
  }
  double depth(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& output,
               double samples) const override {
    // The gradient of a trained factor is a sum over positions and samples.
    return pass == Pass::backward_weight ? reduction_depth({samples * real(output.positions())}) : 1;
  }
  Divisible divisible() const override { return {.channelwise = true, .spatial = !sequence_, .tokens = sequence_}; }
  Kept kept(std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const override {
    return {.input = !factor_};
  }

 private:
  std::optional<double> factor_;
  bool bias_, shifts_, sequence_;
};

}  // namespace

std::shared_ptr<const Operation> read_scale(const Attributes& attributes) {
  const bool bias = attributes.find_boolean("bias").value_or(false);
  const bool sequence = attributes.input().sequence;
  if (!attributes.has("factor")) attributes.fail_missing("factor");
  const bool shifts = attributes.find_boolean("shift").value_or(false);
  if (attributes.find_text("factor") == "trained") {
    if (shifts) attributes.fail("shift", "a constant shift needs a constant factor");
    return std::make_shared<Scale>(std::nullopt, bias, false, sequence);
  }
  if (bias) attributes.fail("bias", "a trained shift needs a trained factor");
  return std::make_shared<Scale>(attributes.find_number("factor", -1e9, 1e9), false, shifts, sequence);
}

}  // namespace ddl
