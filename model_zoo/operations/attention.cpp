#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Self-attention between the projections: reads queries, keys and values side by side in one tensor, writes the heads.
/// Its kernels write the scores to memory; a causal mask saves no work, as [Nar21] counts.
class Attention final : public Operation {
 public:
  Attention(std::int64_t heads, std::int64_t kv_heads, std::int64_t head_size, bool causal, double dropout)
      : heads_(heads), kv_heads_(kv_heads), head_size_(head_size), causal_(causal), dropout_(dropout) {}

  std::string_view type() const override { return "attention"; }
  std::string attributes() const override {
    std::string text = fmt::format("heads={}", heads_);
    if (kv_heads_ != heads_) text += fmt::format(" kv_heads={}", kv_heads_);
    if (causal_) text += " causal=yes";
    if (dropout_ > 0) text += fmt::format(" dropout={}", dropout_);
    return text;
  }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    TensorShape output = only_input(inputs, type());
    if (!output.sequence) throw Error(fmt::format("attention needs a sequence, and {} is none", to_string(output)));
    if (output.channels != (heads_ + 2 * kv_heads_) * head_size_) {
      throw Error(fmt::format("{} channels are not {} query and 2 × {} key and value heads of {}", output.channels, heads_,
                              kv_heads_, head_size_));
    }
    output.channels = heads_ * head_size_;
    static_cast<void>(item_count("the scores", {heads_, output.extent[0], output.extent[0]}));
    return checked(output);
  }

  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    if (pass != Pass::forward && pass != Pass::backward_data) return {};
    const double tokens = real(output.extent[0]);
    const double scores = score_items(output);
    const double dropped = dropout_ > 0 ? 2.5 : 0;  // read, write, and a mask of a byte
    Work work{.m = tokens, .n = tokens, .k = real(head_size_), .batched = Work::Batched::count};
    if (pass == Pass::forward) {
      // QKᵀ and AV, and about 5 for each score's softmax. Scores are written, read and written by the softmax, and read.
      work.flops = 2 * macs(inputs, output) + 5 * scores;
      work.activation_items = items(inputs.front()) + items(output) + (4 + dropped) * scores;
    } else {
      // Two products for each of the two; the softmax reads its output and a gradient and writes one.
      work.flops = 2 * (2 * macs(inputs, output) + 5 * scores);
      work.activation_items = 2 * items(inputs.front()) + 2 * items(output) + (7 + dropped) * scores;
    }
    return work;
  }
  double depth(Pass /*pass*/, std::span<const TensorShape> /*inputs*/, const TensorShape& output,
               double /*samples*/) const override {
    // One after the other: the scores sum over a head, their softmax and the values over the tokens. Backward takes the same
    // three in the other order.
    const double tokens = real(output.extent[0]);
    return reduction_depth({real(head_size_), tokens, tokens});
  }

  Divisible divisible() const override { return {.channelwise = true, .channel_units = kv_heads_}; }
  Kept kept(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    // [Kort22], section 4.1: the output of the softmax, the mask of its dropout, and the dropout's output.
    const double scores = score_items(output);
    const bool drops = dropout_ > 0;
    return {.input = true, .mask_items = drops ? scores : 0, .extra_items = (drops ? 2 : 1) * scores};
  }
  double macs(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    return 2 * real(output.extent[0]) * items(output);
  }

 private:
  /// One score for each head and pair of tokens.
  [[nodiscard]] double score_items(const TensorShape& output) const {
    return real(output.channels) / real(head_size_) * real(output.extent[0]) * real(output.extent[0]);
  }

  std::int64_t heads_, kv_heads_, head_size_;
  bool causal_;
  double dropout_;
};

}  // namespace

std::shared_ptr<const Operation> read_attention(const Attributes& attributes) {
  const std::int64_t heads = attributes.integer("heads");
  const std::int64_t kv_heads = attributes.find_integer("kv_heads").value_or(heads);
  if (heads % kv_heads != 0) {
    attributes.fail("kv_heads", fmt::format("{} heads do not divide among {} key and value heads", heads, kv_heads));
  }
  const std::int64_t channels = attributes.input().channels;
  if (channels % (heads + 2 * kv_heads) != 0) {
    attributes.fail("heads",
                    fmt::format("the {} channels of the input do not divide into {} query and 2 × {} key and value heads",
                                channels, heads, kv_heads),
                    "attention reads queries, keys and values of one fully_connected layer");
  }
  return std::make_shared<Attention>(heads, kv_heads, channels / (heads + 2 * kv_heads),
                                     attributes.find_boolean("causal").value_or(false),
                                     attributes.find_number("dropout", 0, 1).value_or(0));
}

}  // namespace ddl
