#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Prepends a trained token to a sequence. An example is the class token of a vision transformer
/// [Dosovitskiy et al., "An image is worth 16x16 words", ICLR 2021, section 3.1].
class ClassToken final : public Operation {
 public:
  std::string_view type() const override { return "class_token"; }
  AttributeValues attribute_values() const override { return {}; }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    TensorShape output = only_input(inputs, type());
    if (!output.sequence) throw Error(fmt::format("class_token needs a sequence, not {}", to_string(output)));
    ++output.extent[0];
    return checked(output);
  }
  std::int64_t biases(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    return output.channels;
  }
  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const double token = real(output.channels);
    if (pass == Pass::forward) return {.activation_items = items(inputs.front()) + items(output), .weight_items = token};
    // The gradient of the tokens is a part of the output's gradient, and is passed on unchanged. The gradient of the class
    // token is summed over the samples.
    if (pass == Pass::backward_weight) return {.flops = token, .activation_items = token, .weight_items = token};
    return {};
  }
  double depth(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/,
               double samples) const override {
    return pass == Pass::backward_weight ? reduction_depth({samples}) : 1;
  }
  Divisible divisible() const override { return {.channelwise = true}; }
  Kept kept(std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const override { return {}; }
};

}  // namespace

std::shared_ptr<const Operation> read_class_token(const Attributes& /*attributes*/) {
  return std::make_shared<ClassToken>();
}

}  // namespace ddl
