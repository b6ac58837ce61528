#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Concatenates the channels of several tensors with the same positions.
class Concat final : public Operation {
 public:
  explicit Concat(bool sequence) : sequence_(sequence) {}

  std::string_view type() const override { return "concat"; }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    if (inputs.size() < 2)
      throw Error(fmt::format("concat takes two or more inputs, not {}", inputs.size()),
                  "name them: 'from: [first, second]'");
    TensorShape output = inputs.front();
    for (const TensorShape& other : inputs.subspan(1)) {
      if (other.extent != output.extent || other.rank != output.rank || other.sequence != output.sequence) {
        throw Error(fmt::format("concat needs inputs with the same positions, not {} and {}", to_string(inputs.front()),
                                to_string(other)));
      }
      output.channels += other.channels;
      static_cast<void>(checked(output));
    }
    return output;
  }
  Work work(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    if (pass == Pass::forward || pass == Pass::backward_data) return {.activation_items = 2 * items(output)};
    return {};
  }
  Divisible divisible() const override { return {.channelwise = true, .spatial = !sequence_, .tokens = sequence_}; }

 private:
  bool sequence_;
};

}  // namespace

std::shared_ptr<const Operation> read_concat(const Attributes& attributes) {
  return std::make_shared<Concat>(attributes.input().sequence);
}

}  // namespace ddl
