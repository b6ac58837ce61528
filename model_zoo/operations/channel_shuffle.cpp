#include <fmt/format.h>

#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Distributes the channels of each group over all groups, as in ShuffleNet between grouped convolutions. This is a
/// transposition of groups and the channels inside the groups, which copies the tensor.
class ChannelShuffle final : public Operation {
 public:
  ChannelShuffle(std::int64_t groups, bool sequence) : groups_(groups), sequence_(sequence) {}

  std::string_view type() const override { return "channel_shuffle"; }
  std::string_view short_name() const override { return "shuffle"; }
  AttributeValues attribute_values() const override { return {{"groups", groups_}}; }
  TensorShape infer(std::span<const TensorShape> inputs) const override { return only_input(inputs, type()); }
  Work work(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    if (pass == Pass::forward || pass == Pass::backward_data) return {.activation_items = 2 * items(output)};
    return {};
  }
  /// Channels move across the whole tensor, so a slice of them is not sufficient.
  Divisible divisible() const override { return {.spatial = !sequence_}; }

 private:
  std::int64_t groups_;
  bool sequence_;
};

}  // namespace

std::shared_ptr<const Operation> read_channel_shuffle(const Attributes& attributes) {
  const TensorShape& input = attributes.input();
  const std::int64_t groups = attributes.integer("groups");
  if (input.channels % groups != 0) {
    attributes.fail("groups",
                    fmt::format("the {} channels of the input do not divide into {} groups", input.channels, groups));
  }
  return std::make_shared<ChannelShuffle>(groups, input.sequence);
}

}  // namespace ddl
