#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Combines the copies that `dispatch` makes into tokens. Each token is the weighted sum of the
/// outputs of its experts. The inputs are the experts' outputs, and the router's weights.
class Combine final : public Operation {
 public:
  std::string_view type() const override { return "combine"; }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    if (inputs.size() != 2) {
      throw Error(fmt::format("combine takes the output of experts and the router's weights, not {} inputs", inputs.size()),
                  "name both: 'from: [experts, router]'");
    }
    TensorShape output = inputs.front();
    if (!output.sequence || !inputs[1].sequence)
      throw Error("combine needs a sequence from the experts and from the router");
    if (output.extent[0] % inputs[1].extent[0] != 0) {
      throw Error(fmt::format("{} tokens do not match top-k × {} routed tokens", output.extent[0], inputs[1].extent[0]));
    }
    output.extent[0] = inputs[1].extent[0];
    return checked(output);
  }
  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const double copies = items(inputs.front());
    // Forward sets each token to zero, reads each copy, and adds the copy to its token.
    if (pass == Pass::forward) return {.flops = 2 * copies, .activation_items = 3 * copies + items(output)};
    // The gradient of a copy is the token's gradient multiplied by the weight. The gradient of the
    // weight is the sum of the products of the token's gradient and the copy.
    if (pass == Pass::backward_data) return {.flops = 3 * copies, .activation_items = 3 * copies};
    return {};
  }
  double depth(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output,
               double /*samples*/) const override {
    // Forward sums the copies of a token. The gradient of a weight is a sum over the channels.
    const double copies = real(inputs.front().extent[0]) / real(output.extent[0]);
    return reduction_depth({pass == Pass::forward ? copies : real(output.channels)});
  }
  Divisible divisible() const override { return {.tokens = true}; }
  Kept kept(std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const override {
    return {.input = true};
  }
};

}  // namespace

std::shared_ptr<const Operation> read_combine(const Attributes& /*attributes*/) { return std::make_shared<Combine>(); }

}  // namespace ddl
