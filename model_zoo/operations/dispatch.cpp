#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Makes a copy of each token for each of its experts. The copies are grouped by expert. The result is a sequence that is
/// `active` times as long. The inputs are the tokens, and the choice of the router. Experts neither drop nor pad tokens.
class Dispatch final : public Operation {
 public:
  explicit Dispatch(std::int64_t active) : active_(active) {}

  std::string_view type() const override { return "dispatch"; }
  AttributeValues attribute_values() const override { return {{"active", active_}}; }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    if (inputs.size() != 2) {
      throw Error(fmt::format("dispatch takes tokens and a router's choice, not {} inputs", inputs.size()),
                  "name them: 'from: [tokens, router]'");
    }
    TensorShape output = inputs.front();
    if (!output.sequence) throw Error(fmt::format("dispatch needs a sequence, not {}", to_string(output)));
    if (!inputs[1].sequence || inputs[1].extent[0] != output.extent[0]) {
      throw Error(fmt::format("{} does not match the tokens {}", to_string(inputs[1]), to_string(output)),
                  "the router must read the same tokens");
    }
    if (active_ > inputs[1].channels) {
      throw Error(fmt::format("there are {} experts, so {} cannot be active", inputs[1].channels, active_));
    }
    static_cast<void>(item_count("the output", {output.channels, output.extent[0], active_}));
    output.extent[0] *= active_;
    return checked(output);
  }
  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    // For each copy, the token is read, and the copy is written.
    if (pass == Pass::forward) return {.activation_items = 2 * items(output)};
    // The gradients of the copies are added up. The gradient of each token is first set to zero. For each copy, the copy's
    // gradient is read, and the token's gradient is read and written. The choice of experts has no gradient. The operation
    // `combine` computes the gradient of the router's weights.
    if (pass == Pass::backward_data) {
      return {.flops = items(output), .activation_items = 3 * items(output) + items(inputs.front())};
    }
    return {};
  }
  double depth(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/,
               double /*samples*/) const override {
    return reduction_depth({pass == Pass::backward_data ? real(active_) : 1});
  }
  Divisible divisible() const override { return {.tokens = true}; }
  Kept kept(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    return {.mask_items = 8 * real(output.extent[0])};  // for each copy, the index of its token
  }

 private:
  std::int64_t active_;
};

}  // namespace

std::shared_ptr<const Operation> read_dispatch(const Attributes& attributes) {
  return std::make_shared<Dispatch>(attributes.integer("active"));
}

}  // namespace ddl
