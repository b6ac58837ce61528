#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Passes its input on, which gives a name to a place in the network.
class Identity final : public Operation {
 public:
  explicit Identity(bool sequence) : sequence_(sequence) {}

  std::string_view type() const override { return "identity"; }
  TensorShape infer(std::span<const TensorShape> inputs) const override { return only_input(inputs, type()); }
  Divisible divisible() const override { return {.channelwise = true, .spatial = !sequence_, .tokens = sequence_}; }
  bool is_view() const override { return true; }

 private:
  bool sequence_;
};

}  // namespace

std::shared_ptr<const Operation> read_identity(const Attributes& attributes) {
  return std::make_shared<Identity>(attributes.input().sequence);
}

}  // namespace ddl
