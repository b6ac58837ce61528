#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Cuts out the middle of an image or volume. In forward, the result is a view.
class Crop final : public Operation {
 public:
  Crop(const Extents& from, const Extents& size) : from_(from), size_(size) {}

  std::string_view type() const override { return "crop"; }
  AttributeValues attribute_values() const override { return {{"size", AttributeSizes{size_.size, size_.rank}}}; }
  AttributeValues lasting_values() const override { return {}; }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    TensorShape output = only_input(inputs, type());
    for (std::size_t d = 0; d < static_cast<std::size_t>(size_.rank); ++d) {
      if (size_.size[d] > output.extent[d]) {
        throw Error(fmt::format("{} cannot be cropped from {}", print_extents(size_.size, size_.rank), to_string(output)));
      }
    }
    output.extent = size_.size;
    return output;
  }
  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    // Backward also writes the gradient of the border, which is zero.
    if (pass == Pass::backward_data) return {.activation_items = items(inputs.front()) + items(output)};
    return {};
  }
  Divisible divisible() const override { return {.channelwise = true, .spatial = true}; }
  Local local(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const Extents from{.size = inputs.front().extent, .rank = size_.rank};
    const Extents size{.size = output.extent, .rank = size_.rank};
    return {.operation = std::make_shared<Crop>(from, size), .inputs = {inputs.begin(), inputs.end()}};
  }
  /// Returns a window that gives tiles a sufficient halo. The borders between tiles of the cropped image differ from those
  /// of the whole image by at most the width of the cropped border. A window as wide as both cropped borders plus one
  /// position gives a halo that covers this difference.
  Window window() const override {
    Window window;
    for (std::size_t d = 0; d < static_cast<std::size_t>(size_.rank); ++d)
      window.size[d] = from_.size[d] - size_.size[d] + 1;
    return window;
  }

 private:
  Extents from_, size_;
};

}  // namespace

std::shared_ptr<const Operation> read_crop(const Attributes& attributes) {
  const TensorShape& input = attributes.input();
  if (input.rank == 0 || input.sequence) {
    attributes.fail("", fmt::format("the input {} has no positions to crop", to_string(input)),
                    "crop is for images and volumes");
  }
  const auto size = attributes.find_extents("size", input.rank, 1);
  if (!size) attributes.fail_missing("size");
  return std::make_shared<Crop>(Extents{.size = input.extent, .rank = input.rank}, *size);
}

}  // namespace ddl
