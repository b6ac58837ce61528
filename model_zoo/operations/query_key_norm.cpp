#include <algorithm>

#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Divides each head of the queries and the keys by its root mean square, with one scale shared by all heads of the queries
/// and one shared by those of the keys [Henry et al., "Query-key normalization for transformers", EMNLP findings 2020; with
/// trained scales as in Yang et al., "Qwen3 technical report", arXiv 2505.09388, section 2]. Values are unchanged. Reads
/// concatenated queries, keys and values, like attention.
class QueryKeyNorm final : public Operation {
 public:
  QueryKeyNorm(std::int64_t heads, std::int64_t kv_heads, std::int64_t head_size, bool scale)
      : heads_(heads), kv_heads_(kv_heads), head_size_(head_size), scale_(scale) {}

  std::string_view type() const override { return "query_key_norm"; }
  AttributeValues attribute_values() const override {
    AttributeValues values{{"heads", heads_}};
    if (kv_heads_ != heads_) values.add("kv_heads", kv_heads_);
    if (!scale_) values.add("scale", false);
    return values;
  }
  AttributeValues lasting_values() const override {
    AttributeValues values{{"head_size", head_size_}};
    if (!scale_) values.add("scale", false);
    return values;
  }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    const TensorShape& input = only_input(inputs, type());
    if (!input.sequence) throw Error(fmt::format("query_key_norm needs a sequence, not {}", to_string(input)));
    return input;
  }
  std::int64_t biases(std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const override {
    return scale_ ? 2 * head_size_ : 0;
  }
  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    // Like a norm over the channels of a position; here a head.
    const double count = normed(output);
    const double parameters = real(biases(inputs, output));
    const auto kind = KernelKind::layer_norm;
    if (pass == Pass::forward) {
      return {.flops = 7 * count, .activation_items = 2 * count, .weight_items = parameters, .kind = kind};
    }
    if (pass == Pass::backward_data) {
      return {.flops = 11 * count, .activation_items = 3 * count, .weight_items = parameters, .kind = kind};
    }
    if (pass != Pass::backward_weight || !scale_) return {};
    return {.flops = 3 * count, .activation_items = 2 * count, .weight_items = parameters, .kind = kind};
  }
  double depth(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& output,
               double samples) const override {
    // A head's mean; the scale of the queries sums over samples, tokens and heads.
    if (pass == Pass::backward_weight) return reduction_depth({samples, real(output.positions()) * real(heads_)});
    return reduction_depth({real(head_size_)});
  }
  Divisible divisible() const override { return {.channelwise = true, .tokens = true, .channel_units = kv_heads_}; }
  /// A slice has the same share of both kinds of heads.
  Local local(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const auto part = [&](std::int64_t heads) {
      return std::max<std::int64_t>(1, heads * output.channels / ((heads_ + 2 * kv_heads_) * head_size_));
    };
    return {.operation = std::make_shared<QueryKeyNorm>(part(heads_), part(kv_heads_), head_size_, scale_),
            .inputs = {inputs.begin(), inputs.end()}};
  }
  /// The inverse root mean square of each head in addition to the input.
  Kept kept(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    return {.input = true, .statistics = normed(output) / real(head_size_)};
  }

 private:
  /// Items of queries and keys.
  [[nodiscard]] double normed(const TensorShape& output) const {
    return items(output) * real(heads_ + kv_heads_) / real(heads_ + 2 * kv_heads_);
  }

  std::int64_t heads_, kv_heads_, head_size_;
  bool scale_;
};

}  // namespace

std::shared_ptr<const Operation> read_query_key_norm(const Attributes& attributes) {
  const std::int64_t heads = attributes.integer("heads");
  const std::int64_t kv_heads = attributes.find_integer("kv_heads").value_or(heads);
  const std::int64_t channels = attributes.input().channels;
  if (channels % (heads + 2 * kv_heads) != 0) {
    attributes.fail("heads",
                    fmt::format("the {} channels of the input do not divide into {} query and 2 × {} key and value heads",
                                channels, heads, kv_heads));
  }
  return std::make_shared<QueryKeyNorm>(heads, kv_heads, channels / (heads + 2 * kv_heads),
                                        attributes.find_boolean("scale").value_or(true));
}

}  // namespace ddl
