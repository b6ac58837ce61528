#include <fmt/format.h>

#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Sets a random share of the items to zero. At rate 0 it does nothing and keeps nothing.
class Dropout final : public Operation {
 public:
  Dropout(double rate, bool sequence) : rate_(rate), sequence_(sequence) {}

  std::string_view type() const override { return "dropout"; }
  std::string attributes() const override { return fmt::format("rate={}", rate_); }
  TensorShape infer(std::span<const TensorShape> inputs) const override { return only_input(inputs, type()); }
  Work work(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    if (rate_ == 0 || (pass != Pass::forward && pass != Pass::backward_data)) return {};
    // One read, one write, and a mask of a byte: half an item of 2 bytes, rounded up for wider ones.
    return {.flops = 2 * items(output), .activation_items = 2.5 * items(output)};
  }
  double depth(Pass /*pass*/, std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/,
               double /*samples*/) const override {
    return 1;
  }
  Divisible divisible() const override { return {.channelwise = true, .spatial = !sequence_}; }
  Kept kept(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    return {.mask_items = rate_ == 0 ? 0 : items(output)};
  }

 private:
  double rate_;
  bool sequence_;
};

}  // namespace

std::shared_ptr<const Operation> read_dropout(const Attributes& attributes) {
  const std::optional<double> rate = attributes.find_number("rate", 0, 1);
  if (!rate) attributes.fail_missing("rate");
  return std::make_shared<Dropout>(*rate, attributes.input().sequence);
}

}  // namespace ddl
