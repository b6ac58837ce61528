#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Selects a range of the channels. In forward, the result is a view.
class Slice final : public Operation {
 public:
  Slice(std::int64_t first, std::int64_t channels, bool sequence)
      : first_(first), channels_(channels), sequence_(sequence) {}

  std::string_view type() const override { return "slice"; }
  AttributeValues attribute_values() const override { return {{"first", first_}, {"channels", channels_}}; }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    TensorShape output = only_input(inputs, type());
    if (first_ + channels_ > output.channels) {
      throw Error(fmt::format("no channels {} to {} in {}, which has {}", first_, first_ + channels_ - 1, to_string(output),
                              output.channels),
                  "the first channel is number 0");
    }
    output.channels = channels_;
    return output;
  }
  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    // Backward also writes the gradient of all other channels, which is zero until the gradients of other slices are added.
    if (pass == Pass::backward_data) return {.activation_items = items(inputs.front()) + items(output)};
    return {};
  }
  /// Channels are not split, because a rank with a slice of the input's channels could lack the
  /// output channels that it needs.
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
