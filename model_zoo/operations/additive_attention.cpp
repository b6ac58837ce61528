#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/function_flops.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Attention with the scores v·tanh(W₁q + W₂k) [Bahdanau, Cho and Bengio, "Neural machine translation by jointly learning to
/// align and translate", ICLR 2015]. It reads two sequences, queries and keys, and returns the weighted mean of the keys for
/// each query. If normalized, v has a trained length, and the sum has a bias [Salimans and Kingma, "Weight normalization",
/// 2016]. All queries are known at once, as in training. The sums of all pairs are stored in memory, as in the reference of
/// MLPerf's GNMT.
class AdditiveAttention final : public Operation {
 public:
  AdditiveAttention(std::int64_t features, bool normalized) : features_(features), normalized_(normalized) {}

  std::string_view type() const override { return "additive_attention"; }
  AttributeValues attribute_values() const override {
    AttributeValues values{{"features", features_}};
    if (normalized_) values.add("normalized", true);
    return values;
  }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    if (inputs.size() != 2) {
      throw Error(fmt::format("additive_attention takes two inputs, not {}", inputs.size()),
                  "name queries and keys: 'from: [decoder, encoder]'");
    }
    for (const TensorShape& input : inputs) {
      if (!input.sequence) {
        throw Error(fmt::format("additive_attention needs two sequences, not {}", to_string(input)));
      }
      static_cast<void>(item_count("the matrix", {input.channels, features_}));
    }
    static_cast<void>(item_count("the sums", {inputs[0].extent[0], inputs[1].extent[0], features_}));
    TensorShape output = inputs[0];
    output.channels = inputs[1].channels;
    return checked(output);
  }
  std::int64_t weights(std::span<const TensorShape> inputs, const TensorShape& /*output*/) const override {
    return (inputs[0].channels + inputs[1].channels) * features_;
  }
  std::int64_t biases(std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const override {
    return features_ + (normalized_ ? features_ + 1 : 0);
  }

  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const double projections = 2 * projection_macs(inputs);
    const double pairs = real(inputs[0].extent[0]) * real(inputs[1].extent[0]);
    const double sums = pairs * real(features_);
    const double means = 2 * pairs * real(inputs[1].channels);
    const double projected = (real(inputs[0].extent[0]) + real(inputs[1].extent[0])) * real(features_);
    const double added = normalized_ ? 2 : 1;
    const double parameters = real(weights(inputs, output)) + real(biases(inputs, output));
    Work work{.weight_items = parameters};
    switch (pass) {
      case Pass::forward:
        // Forward adds each query to each key, applies tanh, multiplies by v, and computes the softmax (5 FLOPs) and the
        // means. The sums are written, and are read for the bias, the tanh and the product with v.
        work.flops = projections + (added + tanh_flops + 2) * sums + 5 * pairs + means;
        work.activation_items =
            items(inputs) + 2 * projected + (2 * added + 2) * sums + 5 * pairs + items(inputs[1]) + items(output);
        work.m = real(inputs[0].extent[0]);
        work.n = real(features_);
        work.k = real(inputs[0].channels);
        return work;
      case Pass::backward_data:
        // Backward has two products for the means, and the gradient of the softmax. The gradient of
        // the scores is multiplied by v and by the derivative of tanh, and is summed over queries
        // and over keys. Each projection has one more product.
        work.flops = projections + 2 * means + 4 * pairs + (1 + 3 + 2) * sums;
        work.activation_items =
            2 * items(inputs) + 2 * projected + (1 + 3 + 2) * sums + 7 * pairs + items(inputs[1]) + items(output);
        work.m = real(inputs[0].extent[0]);
        work.n = real(inputs[0].channels);
        work.k = real(features_);
        return work;
      case Pass::backward_weight:
        work.flops = projections + 2 * sums;
        work.activation_items = items(inputs) + projected + sums + pairs;
        work.m = real(features_);
        work.n = real(inputs[0].channels);
        work.k = real(inputs[0].extent[0]);
        work.batched = Work::Batched::k;
        return work;
      case Pass::update:
        break;
    }
    return {};
  }

  double depth(Pass pass, std::span<const TensorShape> inputs, const TensorShape& /*output*/,
               double samples) const override {
    // The projections, the product with v, the softmax and the mean over the keys run one after the
    // other. The gradients of weights are sums over all queries.
    const double keys = real(inputs[1].extent[0]);
    if (pass == Pass::backward_weight) return reduction_depth({samples * real(inputs[0].extent[0])});
    return reduction_depth({real(inputs[0].channels), real(features_), keys, keys});
  }

  // The estimator does not split this operation. If features were split, ranks would have to sum scores before the softmax.
  bool is_attention() const override { return true; }
  Divisible divisible() const override { return {}; }
  Kept kept(std::span<const TensorShape> inputs, const TensorShape& /*output*/) const override {
    // Backward needs the tanh of all sums, and the softmax.
    const double pairs = real(inputs[0].extent[0]) * real(inputs[1].extent[0]);
    return {.input = true, .extra_items = pairs * (real(features_) + 1)};
  }
  double macs(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const double keys = real(inputs[1].extent[0]);
    return projection_macs(inputs) + real(inputs[0].extent[0]) * keys * real(features_) + keys * items(output);
  }

 private:
  [[nodiscard]] double projection_macs(std::span<const TensorShape> inputs) const { return items(inputs) * real(features_); }

  std::int64_t features_;
  bool normalized_;
};

}  // namespace

std::shared_ptr<const Operation> read_additive_attention(const Attributes& attributes) {
  return std::make_shared<AdditiveAttention>(attributes.integer("features"),
                                             attributes.find_boolean("normalized").value_or(false));
}

}  // namespace ddl
