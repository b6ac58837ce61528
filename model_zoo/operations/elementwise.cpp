#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// An unknown elementwise operation. Importers use it for an unsupported operator that preserves
/// the shape. Of its cost, only the memory traffic is known.
class Elementwise final : public Operation {
 public:
  explicit Elementwise(bool sequence) : sequence_(sequence) {}

  std::string_view type() const override { return "elementwise"; }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    if (inputs.size() > 1) require_equal_inputs(inputs, type());
    return inputs.front();
  }
  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const double read = items(inputs);
    if (pass == Pass::forward) return {.flops = items(output), .activation_items = read + items(output)};
    // Backward reads the inputs and the gradient of the output, and writes the gradients of the inputs.
    if (pass == Pass::backward_data) return {.flops = read, .activation_items = 2 * read + items(output)};
    return {};
  }
  Divisible divisible() const override { return {.channelwise = true, .spatial = !sequence_, .tokens = sequence_}; }
  Kept kept(std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const override {
    return {.input = true};
  }

 private:
  bool sequence_;
};

}  // namespace

std::shared_ptr<const Operation> read_elementwise(const Attributes& attributes) {
  return std::make_shared<Elementwise>(attributes.input().sequence);
}

}  // namespace ddl
