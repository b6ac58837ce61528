#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Turns all elements into one flat vector, channel by channel. The result is a view without a copy.
class Flatten final : public Operation {
 public:
  std::string_view type() const override { return "flatten"; }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    return {.channels = only_input(inputs, type()).items()};
  }
  Divisible divisible() const override { return {.channelwise = true}; }
  bool is_view() const override { return true; }
};

}  // namespace

std::shared_ptr<const Operation> read_flatten(const Attributes& /*attributes*/) { return std::make_shared<Flatten>(); }

}  // namespace ddl
