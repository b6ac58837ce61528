#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Concatenates sequences with the same number of channels along their tokens. An example is an image's tokens and a
/// prompt's tokens, which a multimodal transformer processes as one sequence [Esser et al., "Scaling rectified flow
/// transformers for high-resolution image synthesis", arXiv 2403.03206, section 4].
class Append final : public Operation {
 public:
  std::string_view type() const override { return "append"; }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    if (inputs.size() < 2)
      throw Error(fmt::format("append takes two or more inputs, not {}", inputs.size()),
                  "name them: 'from: [first, second]'");
    TensorShape output = inputs.front();
    for (const TensorShape& input : inputs) {
      if (!input.sequence) throw Error(fmt::format("append needs sequences, not {}", to_string(input)));
    }
    for (const TensorShape& other : inputs.subspan(1)) {
      if (other.channels != output.channels) {
        throw Error(fmt::format("append needs inputs with the same number of channels, not {} and {}",
                                to_string(inputs.front()), to_string(other)),
                    "make the channels equal by a fully_connected on one of the inputs");
      }
      output.extent[0] += other.extent[0];
      static_cast<void>(checked(output));
    }
    return output;
  }
  Work work(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    if (pass == Pass::forward || pass == Pass::backward_data) return {.activation_items = 2 * items(output)};
    return {};
  }
  /// If each rank has a shard of every input, its output is a shard of the joint sequence, with the tokens in another order.
  Divisible divisible() const override { return {.channelwise = true, .tokens = true}; }
};

}  // namespace

std::shared_ptr<const Operation> read_append(const Attributes& /*attributes*/) { return std::make_shared<Append>(); }

}  // namespace ddl
