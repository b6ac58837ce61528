#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Adds one value per channel to all positions of the channel. The second input is a flat vector with these values, such as
/// the embedding of a diffusion's time step [Peebles and Xie, "Scalable diffusion models with transformers", ICCV 2023].
class Shift final : public Operation {
 public:
  explicit Shift(bool sequence) : sequence_(sequence) {}

  std::string_view type() const override { return "shift"; }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    if (inputs.size() != 2) {
      throw Error(fmt::format("shift takes two inputs, not {}", inputs.size()),
                  "name the tensor and its values: 'from: [tensor, values]'");
    }
    if (inputs[1].positions() != 1 || inputs[1].channels != inputs[0].channels) {
      throw Error(
          fmt::format("shift needs a value for each channel of {}, not {}", to_string(inputs[0]), to_string(inputs[1])));
    }
    return inputs.front();
  }
  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const double values = items(inputs.back());
    if (pass == Pass::forward) return {.flops = items(output), .activation_items = 2 * items(output) + values};
    // The tensor's gradient is the output's gradient. The gradient of the values is the sum of the output's gradient over
    // positions.
    if (pass == Pass::backward_data) return {.flops = items(output), .activation_items = items(output) + values};
    return {};
  }
  double depth(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& output,
               double /*samples*/) const override {
    return pass == Pass::backward_data ? reduction_depth({real(output.positions())}) : 1;
  }
  Divisible divisible() const override { return {.channelwise = true, .spatial = !sequence_, .tokens = sequence_}; }

 private:
  bool sequence_;
};

}  // namespace

std::shared_ptr<const Operation> read_shift(const Attributes& attributes) {
  return std::make_shared<Shift>(attributes.input().sequence);
}

}  // namespace ddl
