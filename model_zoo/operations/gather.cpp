#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Reads a token of the input for each token of the output, in any order and with repetitions: the vector of a node for each
/// edge of a graph that starts or ends at the node [Battaglia et al., "Relational inductive biases, deep learning, and graph
/// networks", arXiv 1806.01261, section 3.2].
class Gather final : public Operation {
 public:
  explicit Gather(std::int64_t tokens) : tokens_(tokens) {}

  std::string_view type() const override { return "gather"; }
  AttributeValues attribute_values() const override { return {{"tokens", tokens_}}; }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    TensorShape output = only_input(inputs, type());
    if (!output.sequence) throw Error(fmt::format("gather takes tokens of a sequence, not {}", to_string(output)));
    output.extent[0] = tokens_;
    return checked(output);
  }
  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    if (pass == Pass::forward) return {.activation_items = 2 * items(output), .kind = KernelKind::lookup};
    // The gradient is set to zero, and then each token of the output adds to the token that it read.
    if (pass == Pass::backward_data) {
      return {
          .flops = items(output), .activation_items = items(inputs.front()) + 3 * items(output), .kind = KernelKind::lookup};
    }
    return {};
  }
  double depth(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& output,
               double /*samples*/) const override {
    // All tokens may have read one token.
    return pass == Pass::backward_data ? reduction_depth({real(output.positions())}) : 1;
  }
  /// Tokens are not split, because it is not known which tokens a shard reads.
  Divisible divisible() const override { return {.channelwise = true}; }

 private:
  std::int64_t tokens_;
};

/// Adds each token of the input to a token of the output: the messages of the edges that end at a node of a graph.
class Scatter final : public Operation {
 public:
  explicit Scatter(std::int64_t tokens) : tokens_(tokens) {}

  std::string_view type() const override { return "scatter"; }
  AttributeValues attribute_values() const override { return {{"tokens", tokens_}}; }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    TensorShape output = only_input(inputs, type());
    if (!output.sequence) throw Error(fmt::format("scatter adds tokens of a sequence, not {}", to_string(output)));
    output.extent[0] = tokens_;
    return checked(output);
  }
  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    if (pass == Pass::forward) {
      return {.flops = items(inputs.front()),
              .activation_items = 3 * items(inputs.front()) + items(output),
              .kind = KernelKind::lookup};
    }
    if (pass == Pass::backward_data) return {.activation_items = 2 * items(inputs.front()), .kind = KernelKind::lookup};
    return {};
  }
  double depth(Pass pass, std::span<const TensorShape> inputs, const TensorShape& /*output*/,
               double /*samples*/) const override {
    // All tokens may be added to one token.
    return pass == Pass::forward ? reduction_depth({real(inputs.front().positions())}) : 1;
  }
  Divisible divisible() const override { return {.channelwise = true}; }

 private:
  std::int64_t tokens_;
};

}  // namespace

std::shared_ptr<const Operation> read_gather(const Attributes& attributes) {
  return std::make_shared<Gather>(attributes.integer("tokens"));
}

std::shared_ptr<const Operation> read_scatter(const Attributes& attributes) {
  return std::make_shared<Scatter>(attributes.integer("tokens"));
}

}  // namespace ddl
