#include <fmt/format.h>

#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Another tensor of the sample beside the model's input: the target of a translation, a table's category. It reads nothing
/// and does nothing; like the model's input it is there when the sample has been read.
class Input final : public Operation {
 public:
  explicit Input(const TensorShape& shape) : shape_(shape) {}

  std::string_view type() const override { return "input"; }
  std::string attributes() const override {
    if (shape_.rank == 0) return fmt::format("features={}", shape_.channels);
    if (!shape_.sequence)
      return fmt::format("channels={} size={}", shape_.channels, print_extents(shape_.extent, shape_.rank));
    return shape_.channels == 1 ? fmt::format("tokens={}", shape_.extent[0])
                                : fmt::format("channels={} tokens={}", shape_.channels, shape_.extent[0]);
  }
  TensorShape infer(std::span<const TensorShape> /*inputs*/) const override { return shape_; }
  Work work(Pass /*pass*/, std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const override {
    return {};
  }
  Divisible divisible() const override { return {.spatial = shape_.rank > 0 && !shape_.sequence}; }
  Kept kept(std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const override { return {}; }

 private:
  TensorShape shape_;
};

}  // namespace

std::shared_ptr<const Operation> read_input(const Attributes& attributes) {
  return std::make_shared<Input>(attributes.sample_shape());
}

}  // namespace ddl
