#include <array>

#include <fmt/format.h>

#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

enum class ResizeKind { nearest, linear };
constexpr EnumNames<ResizeKind> resize_kinds{"nearest", "linear"};

/// Returns the same image at another size. Each position is the nearest position of the input, or a
/// mean of the two nearest positions along each dimension, weighted by distance.
class Resize final : public Operation {
 public:
  Resize(ResizeKind kind, const Extents& from, const Extents& size) : kind_(kind), from_(from), size_(size) {}

  std::string_view type() const override { return "resize"; }
  AttributeValues attribute_values() const override {
    AttributeValues values = lasting_values();
    values.add("size", AttributeSizes{size_.size, size_.rank});
    return values;
  }
  AttributeValues lasting_values() const override { return {{"kind", resize_kinds[kind_]}}; }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    TensorShape output = only_input(inputs, type());
    output.extent = size_.size;
    return checked(output);
  }
  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    if (pass != Pass::forward && pass != Pass::backward_data) return {};
    // Forward has a multiply-add for each term of a mean. Backward adds each gradient to the same number of positions.
    const double flops = kind_ == ResizeKind::linear ? 2.0 * real(std::int64_t{1} << static_cast<unsigned>(size_.rank))
                         : pass == Pass::forward     ? 0.0
                                                     : 1.0;
    return {.flops = flops * items(output), .activation_items = items(inputs.front()) + items(output)};
  }
  /// A spatial split requires that every position becomes the same number of positions, so that
  /// borders of tiles stay aligned.
  Divisible divisible() const override { return {.channelwise = true, .spatial = is_multiple()}; }
  Local local(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const Extents from{.size = inputs.front().extent, .rank = size_.rank};
    const Extents size{.size = output.extent, .rank = size_.rank};
    return {.operation = std::make_shared<Resize>(kind_, from, size), .inputs = {inputs.begin(), inputs.end()}};
  }
  Window window() const override {
    Window window;
    if (!is_multiple()) return window;
    for (std::size_t d = 0; d < static_cast<std::size_t>(size_.rank); ++d) {
      const std::int64_t factor = size_.size[d] / from_.size[d];
      window.spread[d] = factor;
      // A position contributes to its own copies and, if the result is a mean, to half of the copies of its neighbors.
      window.padding[d] = kind_ == ResizeKind::linear ? factor / 2 : 0;
      window.size[d] = factor + 2 * window.padding[d];
    }
    return window;
  }

 private:
  [[nodiscard]] bool is_multiple() const {
    for (std::size_t d = 0; d < 3; ++d) {
      if (size_.size[d] % from_.size[d] != 0) return false;
    }
    return true;
  }

  ResizeKind kind_;
  Extents from_, size_;
};

}  // namespace

std::shared_ptr<const Operation> read_resize(const Attributes& attributes) {
  const TensorShape& input = attributes.input();
  if (input.rank == 0 || input.sequence) {
    attributes.fail("", fmt::format("the input {} cannot be resized", to_string(input)), "resize is for images and volumes");
  }
  const auto kind = static_cast<ResizeKind>(attributes.choice("kind", resize_kinds));
  if (attributes.has("size") == attributes.has("factor")) {
    attributes.fail(attributes.has("size") ? "factor" : "", "resize needs either 'size' or 'factor'");
  }
  const Extents from{.size = input.extent, .rank = input.rank};
  if (const auto size = attributes.find_extents("size", input.rank, 1)) return std::make_shared<Resize>(kind, from, *size);
  Extents size = *attributes.find_extents("factor", input.rank, 1);
  for (std::size_t d = 0; d < static_cast<std::size_t>(input.rank); ++d) {
    if (size.size[d] > max_attribute / input.extent[d]) {
      attributes.fail("factor", fmt::format("{} times {} positions are too many", size.size[d], input.extent[d]));
    }
    size.size[d] *= input.extent[d];
  }
  return std::make_shared<Resize>(kind, from, size);
}

}  // namespace ddl
