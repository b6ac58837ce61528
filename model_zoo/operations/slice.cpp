#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// A range of the channels: a view in forward.
class Slice final : public Operation {
 public:
  Slice(std::int64_t first, std::int64_t channels, bool sequence)
      : first_(first), channels_(channels), sequence_(sequence) {}

  std::string_view type() const override { return "slice"; }
  AttributeValues attribute_values() const override { return {{"first", first_}, {"channels", channels_}}; }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    TensorShape output = only_input(inputs, type());
    if (first_ + channels_ > output.channels) {
      throw Error(fmt::format("channels {} to {} of {}, which has {}", first_, first_ + channels_ - 1, to_string(output),
                              output.channels),
                  "the first channel is number 0");
    }
    output.channels = channels_;
    return output;
  }
  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    // The gradient of all other channels is written too. It is zero until the gradients of other slices are added.
    if (pass == Pass::backward_data) return {.activation_items = items(inputs.front()) + items(output)};
    return {};
  }
  /// Ranks with a slice of the input's channels would not have the output channels that they need.
  Divisible divisible() const override { return {.spatial = !sequence_, .tokens = sequence_}; }
  Kept kept(std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const override { return {}; }

 private:
  std::int64_t first_, channels_;
  bool sequence_;
};

}  // namespace

std::shared_ptr<const Operation> read_slice(const Attributes& attributes) {
  return std::make_shared<Slice>(attributes.find_integer("first", 0).value_or(0), attributes.integer("channels"),
                                 attributes.input().sequence);
}

}  // namespace ddl
