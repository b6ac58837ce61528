#include "model_zoo/operations/cast.hpp"

#include <array>

#include "model_zoo/operations/shape_rules.hpp"

namespace ddl {
namespace {

constexpr std::array<Precision, 3> formats{Precision::fp32, Precision::fp16, Precision::bf16};

class Cast final : public Operation {
 public:
  explicit Cast(Precision to) : to_(to) {}

  [[nodiscard]] Precision to() const { return to_; }
  std::string_view type() const override { return "cast"; }
  AttributeValues attribute_values() const override { return {{"to", to_string(to_)}}; }
  TensorShape infer(std::span<const TensorShape> inputs) const override { return only_input(inputs, type()); }
  // Work is counted in elements of forward's input. The output has half or twice as many bytes.
  Work work(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    if (pass != Pass::forward && pass != Pass::backward_data) return {};
    return {.activation_items = items(output) * (1 + (is_mixed(to_) ? 0.5 : 2.0))};
  }
  Divisible divisible() const override { return {.tokens = true}; }

 private:
  Precision to_;
};

std::shared_ptr<const Operation> read_cast(const Attributes& attributes) {
  constexpr std::array<std::string_view, formats.size()> names{"fp32", "fp16", "bf16"};
  return cast_to(formats[attributes.choice("to", names)]);
}

}  // namespace

const OperationKind& cast_kind() {
  static const OperationKind kind{"cast", "to", {"to"}, read_cast};
  return kind;
}

std::shared_ptr<const Operation> cast_to(Precision precision) {
  static const std::array<std::shared_ptr<const Operation>, formats.size()> casts{std::make_shared<Cast>(Precision::fp32),
                                                                                  std::make_shared<Cast>(Precision::fp16),
                                                                                  std::make_shared<Cast>(Precision::bf16)};
  return casts[precision == Precision::fp16 ? 1 : (precision == Precision::bf16 ? 2 : 0)];
}

std::optional<Precision> cast_format(const Operation& operation) {
  if (operation.type() != "cast") return std::nullopt;
  return static_cast<const Cast&>(operation).to();
}

}  // namespace ddl
