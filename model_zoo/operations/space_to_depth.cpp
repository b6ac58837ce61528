#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Concatenates the positions of each block as channels of one position. This is the first part of
/// patch merging, and is followed by a matrix product.
class SpaceToDepth final : public Operation {
 public:
  explicit SpaceToDepth(const Extents& block) : block_(block) {}

  std::string_view type() const override { return "space_to_depth"; }
  AttributeValues attribute_values() const override { return {{"block", AttributeSizes{block_.size, block_.rank}}}; }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    TensorShape output = only_input(inputs, type());
    for (std::size_t d = 0; d < static_cast<std::size_t>(block_.rank); ++d) {
      if (output.extent[d] % block_.size[d] != 0) {
        throw Error(fmt::format("{} does not divide into blocks of {}", to_string(inputs.front()),
                                print_extents(block_.size, block_.rank)));
      }
      output.extent[d] /= block_.size[d];
    }
    output.channels = item_count("the output", {output.channels, block_.size[0], block_.size[1], block_.size[2]});
    return checked(output);
  }
  Work work(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    // Forward copies elements in another order. Backward does the inverse.
    if (pass == Pass::forward || pass == Pass::backward_data) return {.activation_items = 2 * items(output)};
    return {};
  }
  Divisible divisible() const override { return {.channelwise = true, .spatial = true}; }
  Window window() const override { return {.size = block_.size, .stride = block_.size}; }

 private:
  Extents block_;
};

}  // namespace

std::shared_ptr<const Operation> read_space_to_depth(const Attributes& attributes) {
  const TensorShape& input = attributes.input();
  if (input.rank == 0 || input.sequence) {
    attributes.fail("block", fmt::format("space_to_depth needs an image, not {}", to_string(input)));
  }
  const auto block = attributes.find_extents("block", input.rank, 1);
  if (!block) attributes.fail_missing("block");
  return std::make_shared<SpaceToDepth>(*block);
}

}  // namespace ddl
