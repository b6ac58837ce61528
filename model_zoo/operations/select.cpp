#include <array>

#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

constexpr std::array<std::string_view, 2> tokens{"first", "last"};

/// Selects one token of a sequence, as a flat vector.
class Select final : public Operation {
 public:
  explicit Select(std::string_view token) : token_(token) {}

  std::string_view type() const override { return "select"; }
  AttributeValues attribute_values() const override { return {{"token", token_}}; }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    const TensorShape& input = only_input(inputs, type());
    if (!input.sequence) throw Error(fmt::format("select takes a token of a sequence, not {}", to_string(input)));
    return {.channels = input.channels};
  }
  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    if (pass == Pass::forward) return {.activation_items = 2 * items(output)};
    // Backward also writes the gradient of all other tokens, which is zero.
    if (pass == Pass::backward_data) return {.activation_items = items(inputs.front()) + items(output)};
    return {};
  }
  Divisible divisible() const override { return {.channelwise = true}; }

 private:
  std::string_view token_;
};

}  // namespace

std::shared_ptr<const Operation> read_select(const Attributes& attributes) {
  return std::make_shared<Select>(tokens[attributes.choice("token", tokens)]);
}

}  // namespace ddl
