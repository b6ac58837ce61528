#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Interpolates between a token and the previous token with a trained weight per channel [Peng et al., "RWKV-7 'Goose' with
/// expressive dynamic state evolution", arXiv 2503.14456, equation 3].
class TokenShift final : public Operation {
 public:
  explicit TokenShift(bool keeps) : keeps_(keeps) {}

  std::string_view type() const override { return "token_shift"; }
  AttributeValues attribute_values() const override { return lasting_values(); }
  AttributeValues lasting_values() const override { return keeps_ ? AttributeValues{{"keeps", true}} : AttributeValues{}; }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    const TensorShape& input = only_input(inputs, type());
    if (!input.sequence) throw Error(fmt::format("token_shift needs a sequence, not {}", to_string(input)));
    return input;
  }
  std::int64_t biases(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    return output.channels;
  }
  Work work(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    const double count = items(output), weights = real(output.channels);
    // The previous token is in the cache. The gradient of a token has a part of the next token.
    if (pass == Pass::forward || pass == Pass::backward_data)
      return {.flops = 3 * count, .activation_items = 2 * count, .weight_items = weights};
    // The gradient of a weight sums the products of the output's gradient and the difference of the tokens.
    if (pass == Pass::backward_weight) return {.flops = 3 * count, .activation_items = 2 * count, .weight_items = weights};
    return {};
  }
  double depth(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& output,
               double samples) const override {
    return pass == Pass::backward_weight ? reduction_depth({samples * real(output.positions())}) : 1;
  }
  Divisible divisible() const override { return {.channelwise = true}; }
  /// Shifts of one tensor share its difference from the previous tokens, which one of them keeps in addition to the tensor
  /// [fla-org/flash-linear-attention, fla/layers/rwkv7.py; fla/ops/rwkv7/fused_addcmul.py].
  Kept kept(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    return {.input = true, .extra_items = keeps_ ? items(output) : 0};
  }

 private:
  bool keeps_;  ///< whether this layer keeps the difference
};

}  // namespace

std::shared_ptr<const Operation> read_token_shift(const Attributes& attributes) {
  return std::make_shared<TokenShift>(attributes.find_boolean("keeps").value_or(false));
}

}  // namespace ddl
