#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Prepends a trained token to a sequence, or to each image of a sequence of images. An example is the class token of a
/// vision transformer [Dosovitskiy et al., "An image is worth 16x16 words", ICLR 2021, section 3.1].
class ClassToken final : public Operation {
 public:
  /// `each`: the number of tokens of each image; 0 if the sequence is one image.
  explicit ClassToken(std::int64_t each) : each_(each) {}

  std::string_view type() const override { return "class_token"; }
  AttributeValues attribute_values() const override {
    if (each_ == 0) return {};
    return {{"each", each_}};
  }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    TensorShape output = only_input(inputs, type());
    if (!output.sequence) throw Error(fmt::format("class_token needs a sequence, not {}", to_string(output)));
    if (each_ > 0 && output.extent[0] % each_ != 0)
      throw Error(fmt::format("{} does not divide into images of {} tokens", to_string(output), each_));
    output.extent[0] += each_ > 0 ? output.extent[0] / each_ : 1;
    return checked(output);
  }
  std::int64_t biases(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    return output.channels;
  }
  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const double token = real(output.channels);
    const double copies = token * real(output.extent[0] - inputs.front().extent[0]);
    if (pass == Pass::forward) return {.activation_items = items(inputs.front()) + items(output), .weight_items = token};
    // The gradient of the tokens is a part of the output's gradient, and is passed on unchanged. The gradient of the class
    // token is summed over the samples and images.
    if (pass == Pass::backward_weight) return {.flops = copies, .activation_items = copies, .weight_items = token};
    return {};
  }
  double depth(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output, double samples) const override {
    const double images = real(output.extent[0] - inputs.front().extent[0]);
    return pass == Pass::backward_weight ? reduction_depth({samples, images}) : 1;
  }
  Divisible divisible() const override { return {.channelwise = true}; }

 private:
  std::int64_t each_;
};

}  // namespace

std::shared_ptr<const Operation> read_class_token(const Attributes& attributes) {
  return std::make_shared<ClassToken>(attributes.find_integer("each").value_or(0));
}

}  // namespace ddl
