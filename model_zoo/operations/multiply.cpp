#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Elementwise product of two tensors. The second may have one value per channel, which then scales all of its positions
/// (squeeze and excitation).
class Multiply final : public Operation {
 public:
  explicit Multiply(bool sequence) : sequence_(sequence) {}

  std::string_view type() const override { return "multiply"; }
  AttributeValues attribute_values() const override { return {}; }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    if (inputs.size() == 2 && inputs[1].positions() == 1 && inputs[1].channels == inputs[0].channels) return inputs.front();
    require_equal_inputs(inputs, type());
    return inputs.front();
  }
  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const double read = items(inputs);
    const double count = real(static_cast<std::int64_t>(inputs.size())) * items(output);
    if (pass == Pass::forward) return {.flops = count - items(output), .activation_items = read + items(output)};
    // Reads the gradient and all inputs, writes as many gradients.
    if (pass == Pass::backward_data) return {.flops = count, .activation_items = 2 * read + items(output)};
    return {};
  }
  double depth(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output,
               double /*samples*/) const override {
    // The gradient of one value for each channel sums over the positions that it scaled.
    const double factors = real(static_cast<std::int64_t>(inputs.size()));
    const bool scales = inputs.back().positions() < output.positions();
    return reduction_depth({factors, pass == Pass::backward_data && scales ? real(output.positions()) : 1});
  }
  Divisible divisible() const override { return {.channelwise = true, .spatial = !sequence_, .tokens = sequence_}; }
  Kept kept(std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const override {
    return {.input = true};
  }

 private:
  bool sequence_;
};

}  // namespace

std::shared_ptr<const Operation> read_multiply(const Attributes& attributes) {
  return std::make_shared<Multiply>(attributes.input().sequence);
}

}  // namespace ddl
