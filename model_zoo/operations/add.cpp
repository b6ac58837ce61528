#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Adds tensors of equal shape, as at the end of a residual branch.
class Add final : public Operation {
 public:
  explicit Add(bool sequence) : sequence_(sequence) {}

  std::string_view type() const override { return "add"; }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    require_equal_inputs(inputs, type());
    return inputs.front();
  }
  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const double more = real(static_cast<std::int64_t>(inputs.size())) - 1;
    if (pass == Pass::forward) return {.flops = more * items(output), .activation_items = (more + 2) * items(output)};
    // Each input gets the output's gradient unchanged. Where branches fork, the gradients of the
    // branches are added, with two reads and a write.
    if (pass == Pass::backward_data) return {.flops = more * items(output), .activation_items = 3 * more * items(output)};
    return {};
  }
  double depth(Pass /*pass*/, std::span<const TensorShape> inputs, const TensorShape& /*output*/,
               double /*samples*/) const override {
    return reduction_depth({real(static_cast<std::int64_t>(inputs.size()))});
  }
  bool passes_gradient() const override { return true; }
  Divisible divisible() const override { return {.channelwise = true, .spatial = !sequence_, .tokens = sequence_}; }

 private:
  bool sequence_;
};

}  // namespace

std::shared_ptr<const Operation> read_add(const Attributes& attributes) {
  return std::make_shared<Add>(attributes.input().sequence);
}

}  // namespace ddl
