#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// A matrix product with the channels of a flat vector, or of each token of a sequence. With experts, the tokens lie grouped
/// by expert, as `dispatch` leaves them: each group, taken to be of equal length, is multiplied by a matrix of its own.
class FullyConnected final : public Operation {
 public:
  FullyConnected(std::int64_t features, std::int64_t experts, bool bias, std::string tied)
      : features_(features), experts_(experts), bias_(bias), tied_(std::move(tied)) {}

  std::string_view type() const override { return "fully_connected"; }
  std::string_view short_name() const override { return "fc"; }
  AttributeValues attribute_values() const override {
    AttributeValues values{{"features", features_}};
    if (experts_ > 1) values.add("experts", experts_);
    if (!bias_) values.add("bias", false);
    if (!tied_.empty()) values.add("tied", tied_);
    return values;
  }
  AttributeValues lasting_values() const override { return {{"experts", experts_}, {"bias", bias_}}; }

  TensorShape infer(std::span<const TensorShape> inputs) const override {
    TensorShape output = only_input(inputs, type());
    if (output.rank > 0 && !output.sequence) {
      throw Error(fmt::format("fully_connected needs a flat vector or a sequence, not {}", to_string(output)),
                  "put '- flatten' before it");
    }
    static_cast<void>(item_count("the matrix", {output.channels, features_, experts_}));
    output.channels = features_;
    return checked(output);
  }

  std::int64_t weights(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return tied_.empty() ? experts_ * inputs.front().channels * output.channels : 0;
  }
  std::int64_t biases(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    return bias_ ? experts_ * output.channels : 0;
  }
  SharedTable shared_table(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return {.owner = "embedding", .rows = output.channels, .columns = inputs.front().channels};
  }

  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    if (pass == Pass::update) return {};
    const double from = real(inputs.front().channels);
    const double to = real(output.channels);
    const double positions = real(output.positions()) / real(experts_);
    Work work{.flops = 2 * macs(inputs, output),
              .activation_items = items(inputs.front()) + items(output),
              .weight_items = real(experts_) * from * to + real(biases(inputs, output))};
    if (pass == Pass::forward) {
      work.m = positions;
      work.n = to;
      work.k = from;
    } else if (pass == Pass::backward_data) {
      work.m = positions;
      work.n = from;
      work.k = to;
    } else {
      work.m = to;
      work.n = from;
      work.k = positions;
      work.batched = Work::Batched::k;
    }
    work.count = real(experts_);
    return work;
  }
  double depth(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output, double samples) const override {
    // [BH18, Table 4]: log Cin, log Cout, log N, where each token of a sequence is one of N, each that an expert has.
    if (pass == Pass::forward) return reduction_depth({real(inputs.front().channels)});
    if (pass == Pass::backward_data) return reduction_depth({real(output.channels)});
    return reduction_depth({real(output.positions()) / real(experts_), samples});
  }

  Divisible divisible() const override { return {.matrix = true}; }
  std::int64_t experts() const override { return experts_; }
  std::shared_ptr<const Operation> with_experts(std::int64_t experts) const override {
    return std::make_shared<FullyConnected>(features_, experts, bias_, tied_);
  }
  Kept kept(std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const override {
    return {.input = true};
  }
  /// By itself it has weights of its own.
  Local local(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return {.operation = std::make_shared<FullyConnected>(output.channels, experts_, bias_, ""),
            .inputs = {inputs.begin(), inputs.end()}};
  }
  double macs(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return real(inputs.front().channels) * items(output);
  }

 private:
  std::int64_t features_, experts_;
  bool bias_;
  std::string tied_;
};

}  // namespace

std::shared_ptr<const Operation> read_fully_connected(const Attributes& attributes) {
  const std::int64_t experts = attributes.find_integer("experts").value_or(1);
  if (experts > 1 && !attributes.input().sequence) {
    attributes.fail("experts", fmt::format("experts share the tokens of a sequence, not {}", to_string(attributes.input())));
  }
  if (experts > 1 && attributes.has("tied")) attributes.fail("tied", "experts cannot share the weights of an embedding");
  return std::make_shared<FullyConnected>(attributes.integer("features"), experts,
                                          attributes.find_boolean("bias").value_or(true),
                                          attributes.find_text("tied").value_or(""));
}

}  // namespace ddl
