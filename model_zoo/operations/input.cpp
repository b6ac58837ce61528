#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// A tensor of the sample in addition to the model's input, such as the target of a translation, or a table's category. The
/// operation has no inputs and no work. Like the model's input, the tensor exists when the sample has been read.
class Input final : public Operation {
 public:
  explicit Input(const TensorShape& shape) : shape_(shape) {}

  std::string_view type() const override { return "input"; }
  AttributeValues attribute_values() const override {
    if (shape_.rank == 0) return {{"features", shape_.channels}};
    if (shape_.sequence && shape_.channels == 1) return {{"tokens", shape_.extent[0]}};
    AttributeValues values{{"channels", shape_.channels}};
    if (shape_.sequence) {
      values.add("tokens", shape_.extent[0]);
    } else {
      values.add("size", AttributeSizes{shape_.extent, shape_.rank});
    }
    return values;
  }
  TensorShape infer(std::span<const TensorShape> /*inputs*/) const override { return shape_; }
  Divisible divisible() const override { return {.spatial = shape_.rank > 0 && !shape_.sequence}; }

 private:
  TensorShape shape_;
};

}  // namespace

std::shared_ptr<const Operation> read_input(const Attributes& attributes) {
  return std::make_shared<Input>(attributes.sample_shape());
}

}  // namespace ddl
