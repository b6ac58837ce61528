#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// The heads that one norm covers, and the norm's scales. `head`: each head, with one scale for all
/// heads. `each_head`: each head, with its own scale. `all_heads`: all heads together.
enum class Span { head, each_head, all_heads };
constexpr EnumNames<Span> spans{"head", "each_head", "all_heads"};

/// Divides each head of the queries and the keys by its root mean square, with one scale shared by all query heads, and one
/// scale shared by all key heads [Henry et al., "Query-key normalization for transformers", EMNLP findings 2020; with
/// trained scales as in Yang et al., "Qwen3 technical report", arXiv 2505.09388, section 2]. Each head may have a scale of
/// its own [Dehghani et al., "Scaling vision transformers to 22 billion parameters", ICML 2023, section 2], or one norm may
/// span all heads [OLMo Team, "2 OLMo 2 Furious", arXiv 2501.00656, section 3.3]. With `bias`, a norm also subtracts the
/// mean and adds trained numbers [Yang et al., "CogVideoX", ICLR 2025]. Values are unchanged. The operation reads
/// concatenated queries, keys and values, like attention, or, without key and value heads, queries or keys alone.
class QueryKeyNorm final : public Operation {
 public:
  QueryKeyNorm(std::int64_t heads, std::int64_t kv_heads, std::int64_t head_size, Span span, bool scale, bool bias)
      : heads_(heads), kv_heads_(kv_heads), head_size_(head_size), span_(span), scale_(scale), bias_(bias) {}

  std::string_view type() const override { return "query_key_norm"; }
  AttributeValues attribute_values() const override {
    AttributeValues values{{"heads", heads_}};
    if (kv_heads_ != heads_) values.add("kv_heads", kv_heads_);
    add_span(values);
    return values;
  }
  AttributeValues lasting_values() const override {
    AttributeValues values{{"head_size", head_size_}};
    add_span(values);
    return values;
  }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    const TensorShape& input = only_input(inputs, type());
    if (!input.sequence) throw Error(fmt::format("query_key_norm needs a sequence, not {}", to_string(input)));
    return input;
  }
  std::int64_t biases(std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const override {
    if (!scale_) return 0;
    return (bias_ ? 2 : 1) * (span_ == Span::head ? kinds() : heads_ + kv_heads_) * head_size_;
  }
  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    // The work is that of a norm over the channels of a position, where a head takes the place of the position.
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
    // The mean is a sum over a head. The gradient of the queries' scale is a sum over samples, tokens and heads.
    if (pass == Pass::backward_weight) return reduction_depth({samples, real(output.positions()) * real(heads_)});
    return reduction_depth({real(span_ == Span::all_heads ? heads_ * head_size_ : head_size_)});
  }
  Divisible divisible() const override {
    return {.channelwise = span_ != Span::all_heads, .tokens = true, .channel_units = kv_heads_ > 0 ? kv_heads_ : heads_};
  }
  /// Returns the operation for the heads of a slice. The slice's share of the query heads equals
  /// its share of the key and value heads.
  Local local(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const auto part = [&](std::int64_t heads) {
      return std::max<std::int64_t>(std::min<std::int64_t>(1, heads),
                                    heads * output.channels / ((heads_ + 2 * kv_heads_) * head_size_));
    };
    return {.operation = std::make_shared<QueryKeyNorm>(part(heads_), part(kv_heads_), head_size_, span_, scale_, bias_),
            .inputs = {inputs.begin(), inputs.end()}};
  }
  /// Backward needs the inverse root mean square of each norm, and the input.
  Kept kept(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    const double norms = span_ == Span::all_heads ? real(kinds() * output.extent[0]) : normed(output) / real(head_size_);
    return {.input = true, .statistics = norms, .operator_items = normed(output)};
  }

 private:
  void add_span(AttributeValues& values) const {
    if (span_ != Span::head) values.add("of", spans[span_]);
    if (!scale_) values.add("scale", false);
    if (bias_) values.add("bias", true);
  }
  /// Returns 2 for queries and keys, and 1 for queries or keys alone, which have no key and value heads.
  [[nodiscard]] std::int64_t kinds() const { return kv_heads_ > 0 ? 2 : 1; }
  /// Returns the number of elements of queries and keys.
  [[nodiscard]] double normed(const TensorShape& output) const {
    return items(output) * real(heads_ + kv_heads_) / real(heads_ + 2 * kv_heads_);
  }

  std::int64_t heads_, kv_heads_, head_size_;
  Span span_;
  bool scale_, bias_;
};

}  // namespace

std::shared_ptr<const Operation> read_query_key_norm(const Attributes& attributes) {
  const std::int64_t heads = attributes.integer("heads");
  const std::int64_t kv_heads = attributes.find_integer("kv_heads", 0).value_or(heads);
  const std::int64_t channels = attributes.input().channels;
  if (channels % (heads + 2 * kv_heads) != 0) {
    attributes.fail("heads",
                    fmt::format("the {} channels of the input do not divide into {} query and 2 × {} key and value heads",
                                channels, heads, kv_heads));
  }
  const auto span = attributes.has("of") ? static_cast<Span>(attributes.choice("of", spans)) : Span::head;
  const bool scale = attributes.find_boolean("scale").value_or(true), bias = attributes.find_boolean("bias").value_or(false);
  if (bias && !scale) attributes.fail("bias", "a norm without scales has no bias");
  return std::make_shared<QueryKeyNorm>(heads, kv_heads, channels / (heads + 2 * kv_heads), span, scale, bias);
}

}  // namespace ddl
