#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Multiplies two tensors elementwise. The second tensor may have one value per channel, which
/// scales all positions of the channel (squeeze and excitation), or one value per token, which
/// scales all channels of the token (a gate of shared experts).
class Multiply final : public Operation {
 public:
  explicit Multiply(bool sequence) : sequence_(sequence) {}

  std::string_view type() const override { return "multiply"; }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    if (inputs.size() == 2 && inputs[1].positions() == 1 && inputs[1].channels == inputs[0].channels) return inputs.front();
    if (inputs.size() == 2 && scales_tokens(inputs)) return inputs.front();
    require_equal_inputs(inputs, type());
    return inputs.front();
  }
  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const double read = items(inputs);
    const double count = real(static_cast<std::int64_t>(inputs.size())) * items(output);
    if (pass == Pass::forward) return {.flops = count - items(output), .activation_items = read + items(output)};
    if (pass != Pass::backward_data) return {};
    if (scales_tokens(inputs)) {
      // The gradient is multiplied by the factors. It is also multiplied by the scaled tensor, and
      // this product is summed over each token's channels.
      return {.flops = 3 * items(output), .activation_items = 3 * items(output) + 2 * items(inputs.back())};
    }
    if (scales(inputs, output)) {
      // The gradient times the factors takes 2 passes over the elements. The gradient times the scaled tensor, which is
      // written, takes 3 passes, and the sum of this product over positions takes 1 pass. The factors are computed from the
      // scaled tensor, so the tensor has two gradients, which are added with two reads and a write.
      return {.flops = 4 * items(output), .activation_items = 9 * items(output) + 2 * items(inputs.back())};
    }
    // Backward reads the gradient and all inputs, and writes a gradient for each input.
    return {.flops = count, .activation_items = 2 * read + items(output)};
  }
  double depth(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output,
               double /*samples*/) const override {
    // The gradient of one value per channel is a sum over the positions of the channel.
    const double factors = real(static_cast<std::int64_t>(inputs.size()));
    double summed = 1;
    if (pass == Pass::backward_data && scales_tokens(inputs)) summed = real(output.channels);
    if (pass == Pass::backward_data && scales(inputs, output)) summed = real(output.positions());
    return reduction_depth({factors, summed});
  }
  Divisible divisible() const override { return {.channelwise = true, .spatial = !sequence_, .tokens = sequence_}; }
  Kept kept(std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const override {
    return {.input = true};
  }

 private:
  /// Returns whether the second input has one value per channel.
  static bool scales(std::span<const TensorShape> inputs, const TensorShape& output) {
    return inputs.back().positions() < output.positions();
  }
  /// Returns whether the second input has one value per token.
  static bool scales_tokens(std::span<const TensorShape> inputs) {
    return inputs.size() == 2 && inputs[0].sequence && inputs[1].sequence && inputs[1].channels == 1 &&
           inputs[0].channels > 1 && inputs[1].extent[0] == inputs[0].extent[0];
  }

  bool sequence_;
};

}  // namespace

std::shared_ptr<const Operation> read_multiply(const Attributes& attributes) {
  return std::make_shared<Multiply>(attributes.input().sequence);
}

}  // namespace ddl
