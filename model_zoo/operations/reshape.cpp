#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Returns the same elements in another shape, as a view without a copy.
class Reshape final : public Operation {
 public:
  explicit Reshape(const TensorShape& shape) : shape_(shape) {}

  std::string_view type() const override { return "reshape"; }
  AttributeValues attribute_values() const override {
    AttributeValues values{{"channels", shape_.channels}};
    if (shape_.sequence) {
      values.add("tokens", shape_.extent[0]);
    } else if (shape_.rank > 0) {
      values.add("size", AttributeSizes{shape_.extent, shape_.rank});
    }
    return values;
  }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    const TensorShape& input = only_input(inputs, type());
    static_cast<void>(checked(shape_));
    if (input.items() != shape_.items()) {
      throw Error(
          fmt::format("{} has {} elements, {} has {}", to_string(input), input.items(), to_string(shape_), shape_.items()));
    }
    return shape_;
  }
  Divisible divisible() const override { return {}; }
  bool is_view() const override { return true; }

 private:
  TensorShape shape_;
};

}  // namespace

std::shared_ptr<const Operation> read_reshape(const Attributes& attributes) {
  TensorShape shape{.channels = attributes.integer("channels")};
  if (attributes.has("tokens") && attributes.has("size")) attributes.fail("size", "'size' and 'tokens' exclude each other");
  if (const auto size = attributes.find_size("size")) {
    shape.extent = size->size;
    shape.rank = size->rank;
  }
  if (const auto tokens = attributes.find_integer("tokens")) {
    shape.extent[0] = *tokens;
    shape.rank = 1;
    shape.sequence = true;
  }
  return std::make_shared<Reshape>(shape);
}

}  // namespace ddl
