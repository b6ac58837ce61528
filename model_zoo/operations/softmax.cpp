#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Computes the exponentials of the channels of each position, divided by their sum.
class Softmax final : public Operation {
 public:
  std::string_view type() const override { return "softmax"; }
  TensorShape infer(std::span<const TensorShape> inputs) const override { return only_input(inputs, type()); }
  Work work(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    if (pass == Pass::forward)
      return {.flops = 5 * items(output), .activation_items = 2 * items(output), .kind = KernelKind::softmax};
    if (pass == Pass::backward_data)
      return {.flops = 4 * items(output), .activation_items = 3 * items(output), .kind = KernelKind::softmax};
    return {};
  }
  double depth(Pass /*pass*/, std::span<const TensorShape> /*inputs*/, const TensorShape& output,
               double /*samples*/) const override {
    return reduction_depth({real(output.channels)});
  }
  Divisible divisible() const override { return {.tokens = true}; }
  Kept kept(std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const override {
    return {.output = true};
  }
};

}  // namespace

std::shared_ptr<const Operation> read_softmax(const Attributes& /*attributes*/) { return std::make_shared<Softmax>(); }

}  // namespace ddl
