#include <array>

#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

enum class DropoutOf { items, samples };
constexpr EnumNames<DropoutOf> dropout_of{"items", "samples"};

/// Sets a random share of the elements to zero, or a random share of the samples (stochastic depth, Huang et al. 2016). At
/// rate 0, dropout computes nothing and keeps nothing.
class Dropout final : public Operation {
 public:
  Dropout(double rate, DropoutOf of, bool sequence) : rate_(rate), of_(of), sequence_(sequence) {}

  std::string_view type() const override { return "dropout"; }
  AttributeValues attribute_values() const override {
    AttributeValues values{{"rate", rate_}};
    if (whole_samples()) values.add("of", "samples");
    return values;
  }
  TensorShape infer(std::span<const TensorShape> inputs) const override { return only_input(inputs, type()); }
  Work work(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    if (rate_ == 0 || (pass != Pass::forward && pass != Pass::backward_data)) return {};
    if (whole_samples()) return {.flops = items(output), .activation_items = 2 * items(output)};
    // Dropout reads and writes each element, and writes a mask of one byte per element. The byte counts as half an element
    // of 2 bytes, even if elements are wider.
    return {.flops = 2 * items(output), .activation_items = 2.5 * items(output), .kind = KernelKind::dropout};
  }
  Divisible divisible() const override { return {.channelwise = true, .spatial = !sequence_, .tokens = sequence_}; }
  bool is_view() const override { return rate_ == 0; }
  Kept kept(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    if (rate_ == 0) return {};
    // Dropout of samples has one factor per sample.
    return whole_samples() ? Kept{.extra_items = 1} : Kept{.mask_items = items(output), .noise_items = items(output)};
  }

 private:
  [[nodiscard]] bool whole_samples() const { return of_ == DropoutOf::samples; }

  double rate_;
  DropoutOf of_;
  bool sequence_;
};

}  // namespace

std::shared_ptr<const Operation> read_dropout(const Attributes& attributes) {
  const std::optional<double> rate = attributes.find_number("rate", 0, 1);
  if (!rate) attributes.fail_missing("rate");
  const auto of = attributes.has("of") ? static_cast<DropoutOf>(attributes.choice("of", dropout_of)) : DropoutOf::items;
  return std::make_shared<Dropout>(*rate, of, attributes.input().sequence);
}

}  // namespace ddl
