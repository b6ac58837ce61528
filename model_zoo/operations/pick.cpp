#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Selects a number of tokens of each sequence, at any positions, as a shorter sequence. An example is the masked tokens,
/// which are the only tokens that a masked language model predicts [Devlin et al., "BERT", NAACL 2019, section 3.1].
class Pick final : public Operation {
 public:
  explicit Pick(std::int64_t tokens) : tokens_(tokens) {}

  std::string_view type() const override { return "pick"; }
  AttributeValues attribute_values() const override { return {{"tokens", tokens_}}; }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    TensorShape output = only_input(inputs, type());
    if (!output.sequence) throw Error(fmt::format("pick takes tokens of a sequence, not {}", to_string(output)));
    if (tokens_ > output.extent[0]) {
      throw Error(fmt::format("pick cannot take {} tokens of {}", tokens_, to_string(output)),
                  "use at most as many as the sequence has");
    }
    output.extent[0] = tokens_;
    return checked(output);
  }
  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    if (pass == Pass::forward) return {.activation_items = 2 * items(output), .kind = KernelKind::lookup};
    // Backward also writes the gradient of all other tokens, which is zero.
    if (pass == Pass::backward_data) return {.activation_items = items(inputs.front()) + items(output)};
    return {};
  }
  /// Tokens are not split, because the number of picked tokens in a shard of the sequence is not known.
  Divisible divisible() const override { return {.channelwise = true}; }

 private:
  std::int64_t tokens_;
};

}  // namespace

std::shared_ptr<const Operation> read_pick(const Attributes& attributes) {
  return std::make_shared<Pick>(attributes.integer("tokens"));
}

}  // namespace ddl
