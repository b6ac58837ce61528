#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Adds a trained vector for each position of a sequence. If the sequence consists of several images, each image has the
/// same vectors.
class PositionEmbedding final : public Operation {
 public:
  PositionEmbedding(std::int64_t positions, bool repeated) : positions_(positions), repeated_(repeated) {}

  std::string_view type() const override { return "position_embedding"; }
  std::string_view short_name() const override { return "positions"; }
  AttributeValues attribute_values() const override {
    AttributeValues values{{"positions", positions_}};
    if (repeated_) values.add("repeated", true);
    return values;
  }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    const TensorShape& input = only_input(inputs, type());
    if (!input.sequence) throw Error(fmt::format("position_embedding needs a sequence, not {}", to_string(input)));
    if (repeated_ ? input.extent[0] % positions_ != 0 : input.extent[0] > positions_) {
      throw Error(fmt::format("the sequence has {} tokens, but the table has {} positions", input.extent[0], positions_));
    }
    static_cast<void>(item_count("the table", {positions_, input.channels}));
    return input;
  }
  std::int64_t weights(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    return positions_ * output.channels;
  }
  Work work(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    const double count = items(output);
    if (pass == Pass::forward) return {.flops = count, .activation_items = 2 * count, .weight_items = count};
    // The gradient is passed on unchanged. The gradient of each position's vector is summed over the samples.
    if (pass == Pass::backward_weight) return {.flops = count, .activation_items = count, .weight_items = count};
    return {};
  }
  double depth(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/,
               double samples) const override {
    return pass == Pass::backward_weight ? reduction_depth({samples}) : 1;
  }
  Divisible divisible() const override { return {.channelwise = true, .tokens = true}; }

 private:
  std::int64_t positions_;
  bool repeated_;
};

}  // namespace

std::shared_ptr<const Operation> read_position_embedding(const Attributes& attributes) {
  return std::make_shared<PositionEmbedding>(attributes.integer("positions"),
                                             attributes.find_boolean("repeated").value_or(false));
}

}  // namespace ddl
