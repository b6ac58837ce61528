#include <algorithm>

#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/function_flops.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Attention between the projections. It reads concatenated queries, keys and values from one tensor, or queries from one
/// tensor and keys and values from another tensor. It writes the outputs of the heads. Unfused kernels write the scores to
/// memory, and a causal mask saves no work, as in [Nar21]. Fused attention [Dao22] keeps the scores on the chip, and skips
/// pairs that the mask hides.
///
/// Values may have another size than queries and keys, as in multi-head latent attention [DeepSeek-AI, "DeepSeek-V2", arXiv
/// 2405.04434, section 2.1]. Queries are then in one tensor, and keys and values of the same tokens are in another tensor.
class Attention final : public Operation {
 public:
  struct Settings {
    std::int64_t heads = 1, kv_heads = 1, head_size = 1;
    std::int64_t value_size = 1;  ///< channels of the values of one head
    bool apart = false;           ///< whether keys and values have separate sizes, in a separate tensor
    bool causal = false;
    double dropout = 0;
    std::int64_t window = 0;    ///< number of tokens to which each token attends, including itself; 0: all tokens
    bool fused = false;         ///< whether scores are never written, so that backward recomputes them
    bool alibi = false;         ///< whether a multiple of the distance is added to each score
    std::int64_t buckets = 0;   ///< number of distances with a trained bias per head; 0: none
    std::string tied{};         ///< the layer that owns the trained biases
    bool sinks = false;         ///< whether the softmax of each head includes a trained logit that has no value
    bool soft_cap = false;      ///< whether a hyperbolic tangent limits each score
    bool padded = false;        ///< whether samples are padded to one length, and a mask hides the padding
    bool masked = false;        ///< whether the fused kernel reads a mask, so that it computes hidden scores as well
    std::int64_t document = 0;  ///< tokens of each document that is packed into a sequence; 0: not packed
    std::int64_t contexts = 1;  ///< number of context shards of the tokens; this rank has one shard
  };
  explicit Attention(const Settings& settings) : s_(settings) {}

  std::string_view type() const override { return "attention"; }
  AttributeValues attribute_values() const override {
    AttributeValues values{{"heads", s_.heads}};
    if (s_.kv_heads != s_.heads) values.add("kv_heads", s_.kv_heads);
    if (s_.apart) values.add("value_size", s_.value_size);
    if (s_.causal) values.add("causal", true);
    if (s_.window > 0) values.add("window", s_.window);
    if (s_.sinks) values.add("sinks", true);
    if (s_.soft_cap) values.add("soft_cap", true);
    if (s_.padded && !s_.fused) values.add("padded", true);
    if (s_.fused) values.add("fused", true);
    if (s_.fused && s_.masked) values.add("masked", true);
    if (s_.fused && s_.document > 0) values.add("document", s_.document);
    if (s_.alibi) values.add("alibi", true);
    if (s_.buckets > 0) values.add("buckets", s_.buckets);
    if (!s_.tied.empty()) values.add("tied", s_.tied);
    if (s_.dropout > 0) values.add("dropout", s_.dropout);
    if (s_.contexts > 1) values.add("contexts", s_.contexts);
    return values;
  }
  AttributeValues lasting_values() const override {
    AttributeValues values{{"head_size", s_.head_size}, {"window", s_.window}, {"dropout", s_.dropout}};
    if (s_.apart) values.add("value_size", s_.value_size);
    if (s_.sinks) values.add("sinks", true);
    if (s_.soft_cap) values.add("soft_cap", true);
    if (s_.padded && !s_.fused) values.add("padded", true);
    if (s_.causal) values.add("causal", true);
    if (s_.fused) values.add("fused", true);
    if (s_.fused && s_.masked) values.add("masked", true);
    if (s_.fused && s_.document > 0) values.add("document", s_.document);
    if (s_.alibi) values.add("alibi", true);
    if (s_.buckets > 0) values.add("buckets", s_.buckets);
    if (s_.contexts > 1) values.add("contexts", s_.contexts);
    return values;
  }

  TensorShape infer(std::span<const TensorShape> inputs) const override {
    if (inputs.size() > 2) throw Error(fmt::format("attention takes one or two inputs, not {}", inputs.size()));
    for (const TensorShape& input : inputs) {
      if (!input.sequence) throw Error(fmt::format("attention needs a sequence, not {}", to_string(input)));
    }
    TensorShape output = inputs.front();
    const std::int64_t queries = s_.heads * s_.head_size;
    const std::int64_t keys_and_values = s_.kv_heads * (s_.head_size + s_.value_size);
    if (inputs.size() == 1 && output.channels != queries + keys_and_values) {
      throw Error(fmt::format("the input has {} channels, but {} query heads and 2 × {} key and value heads of {} need {}",
                              output.channels, s_.heads, s_.kv_heads, s_.head_size, queries + keys_and_values));
    }
    if (s_.apart && inputs.size() == 2 && inputs[1].channels != keys_and_values) {
      throw Error(fmt::format(
          "the second input has {} channels, but {} keys of {}, the size of the {} query heads, and values of {} need {}",
          inputs[1].channels, s_.kv_heads, s_.head_size, s_.heads, s_.value_size, keys_and_values));
    }
    if (s_.apart && inputs.size() == 2 && inputs[1].extent[0] != output.extent[0]) {
      throw Error(fmt::format("{} tokens of keys and values differ from {} tokens of queries", inputs[1].extent[0],
                              output.extent[0]),
                  "'value_size' is supported in self-attention only");
    }
    if (inputs.size() == 2 && inputs[1].channels != keys_and_values) {
      throw Error(fmt::format(
          "the second input has {} channels, but 2 × {} key and value heads of {}, the size of the {} query heads, need {}",
          inputs[1].channels, s_.kv_heads, s_.head_size, s_.heads, keys_and_values));
    }
    output.channels = s_.heads * s_.value_size;
    static_cast<void>(item_count("the scores", {s_.heads, output.extent[0], inputs.back().extent[0]}));
    return checked(output);
  }

  std::int64_t biases(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    const std::int64_t heads = output.channels / s_.value_size;
    return (s_.tied.empty() ? s_.buckets * heads : 0) + (s_.sinks ? heads : 0);
  }
  SharedTable shared_table(std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const override {
    return {.owner = "attention", .rows = s_.buckets, .columns = s_.heads};
  }

  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    if (pass == Pass::update) return {};
    const double scores = score_items(inputs, output);
    // The trained biases are equal for all samples.
    const double biases = s_.buckets > 0 ? scores : 0;
    if (pass == Pass::backward_weight) {
      // For trained biases, the gradients of the scores are summed over the samples, and then over the scores of each
      // bucket. A sink's gradient is a sum over the queries of its head. Each query contributes the sink's share of the
      // softmax, multiplied by a number that the softmax's gradient already contains.
      const double sinks = s_.sinks ? heads_of(output) * real(output.extent[0]) : 0;
      return {.flops = biases + 2 * sinks,
              .activation_items = biases + 2 * sinks,
              .weight_items = biases + (s_.sinks ? heads_of(output) : 0)};
    }
    const bool drops = s_.dropout > 0;
    const double dropped = drops && !s_.fused ? 2.5 : 0;  // elements of dropout: a read, a write, and a mask of one byte
    // A cap divides each score, computes its hyperbolic tangent, and multiplies. If the scores are
    // written, the cap is a separate pass.
    const double capped = s_.soft_cap ? (tanh_flops + 2) * scores : 0;
    const double cap_items = s_.soft_cap && !s_.fused ? scores : 0;
    const double added = biases + (s_.alibi ? scores : 0) + capped;
    // A variable-length kernel processes each document as a separate sample.
    const double tokens = real(output.extent[0]);
    const double together = skips() ? seen_at_most(tokens) : tokens;
    Work work{.m = together,
              .n = pairs(inputs, output) / tokens,
              .k = real(s_.head_size + s_.value_size) / 2,  // mean of the sums in the two products
              .batched = Work::Batched::count,
              .count = heads_of(output) * (tokens / together)};
    if (s_.fused) work.kind = KernelKind::fused_attention;
    if (pass == Pass::forward) {
      // There are two products, QKᵀ and AV, and a softmax of about 5 FLOPs per score. QKᵀ writes
      // the scores, the softmax reads and writes them, and AV reads them. A trained bias needs a
      // separate kernel, which reads and writes the scores once more.
      work.flops = 2 * macs(inputs, output) + 5 * scores + added;
      work.activation_items =
          items(inputs) + items(output) + (s_.fused ? 0 : 4 + dropped) * scores + 2 * biases + 2 * cap_items;
      work.weight_items = biases;
    } else {
      // Each of the two products has two gradients. The softmax reads its output and a gradient,
      // and writes a gradient. Fused attention recomputes QKᵀ and the softmax [Dao22, algorithm 4].
      work.flops = 2 * (2 * macs(inputs, output) + 5 * scores);
      if (s_.fused) work.flops += 2 * score_macs(inputs, output) + 5 * scores + capped;
      if (s_.soft_cap) work.flops += 3 * scores;
      work.activation_items = 2 * items(inputs) + 2 * items(output) + (s_.fused ? 0 : 7 + dropped) * scores + 3 * cap_items;
    }
    return work;
  }
  std::vector<Work> kernels(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    if (s_.contexts > 1 && (pass == Pass::forward || pass == Pass::backward_data)) return in_steps(pass, inputs, output);
    if (s_.fused || (pass != Pass::forward && pass != Pass::backward_data)) return {work(pass, inputs, output)};
    const double scores = score_items(inputs, output);
    const double biases = s_.buckets > 0 ? scores : 0;
    const double heads_out = items(output);
    const double tokens = real(output.extent[0]);
    const double others = real(inputs.back().extent[0]) * real(s_.contexts);
    const double head = real(s_.head_size);
    const double value_head = real(s_.value_size);
    const double queries = heads_of(output) * tokens * head;
    const double keys_and_values = items(inputs) - queries;
    const double keys = keys_and_values * head / (head + value_head);
    const double values = keys_and_values - keys;
    const auto product = [&](double m, double n, double k, double read_and_written) {
      return Work{.flops = 2 * m * n * k * heads_of(output),
                  .activation_items = scores + read_and_written,
                  .m = m,
                  .n = n,
                  .k = k,
                  .batched = Work::Batched::count,
                  .count = heads_of(output)};
    };
    // The shape of a softmax kernel includes the length of its rows, because long rows are read more than once.
    const Work dropout{.activation_items = 2.5 * scores, .kind = KernelKind::dropout};
    // One kernel divides the scores by the root of the head's size. Another kernel sets masked scores to the lowest number.
    // Both kernels read and write the scores. The mask, which all heads share, stays in the cache.
    const Work separate{.flops = scores, .activation_items = 2 * scores, .is_separate = true};
    const std::size_t scaled_and_masked = s_.causal || s_.padded ? 2 : 1;
    // The result of each head is copied to tokens with all heads, and backward copies its gradient. Libraries that also copy
    // queries, keys and values move up to 6 elements more for each element of the result.
    const Work copied{.activation_items = 2 * heads_out, .is_separate = true};
    std::vector<Work> kernels;
    if (pass == Pass::forward) {
      const double added = biases + (s_.alibi ? scores : 0);
      const double capped = s_.soft_cap ? (tanh_flops + 2) * scores : 0;
      kernels.push_back(product(tokens, others, head, queries + keys));
      if (biases > 0) kernels.push_back({.flops = added, .activation_items = 2 * biases, .weight_items = biases});
      if (s_.soft_cap) kernels.push_back({.flops = capped, .activation_items = 2 * scores});
      kernels.insert(kernels.end(), scaled_and_masked, separate);
      kernels.push_back(
          {.flops = 5 * scores + added - biases, .activation_items = 2 * scores, .n = others, .kind = KernelKind::softmax});
      if (s_.dropout > 0) kernels.push_back(dropout);
      kernels.push_back(product(tokens, value_head, others, heads_out + values));
      kernels.push_back(copied);
      return kernels;
    }
    // Backward computes the gradients of values and scores, then of the softmax, then of queries and keys.
    kernels.push_back(copied);
    kernels.push_back(product(others, value_head, tokens, heads_out + values));
    kernels.push_back(product(tokens, others, value_head, heads_out + values));
    if (s_.dropout > 0) kernels.push_back(dropout);
    kernels.push_back({.flops = 10 * scores, .activation_items = 3 * scores, .n = others, .kind = KernelKind::softmax});
    kernels.insert(kernels.end(), scaled_and_masked, separate);
    if (s_.soft_cap) kernels.push_back({.flops = 3 * scores, .activation_items = 3 * scores});
    kernels.push_back(product(tokens, head, others, queries + keys));
    kernels.push_back(product(others, head, tokens, queries + keys));
    return kernels;
  }
  double depth(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output, double samples) const override {
    // The gradient of a trained bias is a sum over samples and pairs of tokens.
    const double keys = real(inputs.back().extent[0]);
    if (pass == Pass::backward_weight) {
      const double queries = s_.buckets > 0 || s_.sinks ? samples * real(output.extent[0]) : 1;
      return reduction_depth({s_.buckets > 0 ? queries * keys : queries});
    }
    // Three sums follow one another: each score is a sum over the channels of a head, the softmax is a sum over the keys,
    // and the weighted value is a sum over the keys. Backward has these three sums in reverse order.
    return reduction_depth({real(s_.head_size), keys, keys});
  }

  bool is_attention() const override { return true; }
  std::shared_ptr<const Operation> with_written_sinks() const override {
    if (!s_.fused || !s_.sinks) return nullptr;
    Settings settings = s_;
    settings.fused = false;
    return std::make_shared<Attention>(settings);
  }
  std::shared_ptr<const Operation> with_mask() const override {
    Settings settings = s_;
    (s_.fused ? settings.masked : settings.padded) = true;
    return std::make_shared<Attention>(settings);
  }
  std::shared_ptr<const Operation> with_documents(std::int64_t tokens) const override {
    Settings settings = s_;
    settings.document = tokens;
    return std::make_shared<Attention>(settings);
  }
  Divisible divisible() const override { return {.channelwise = true, .channel_units = s_.kv_heads}; }
  Kept kept(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    if (s_.fused) {
      // Backward needs the output, and for each head and token the logarithm of its sum of
      // exponentials in fp32 [Dao22, theorem 2]. A mask is converted to the precision of the queries, for all heads
      // together [PyTorch, aten/src/ATen/native/transformers/attention.cpp, convert_boolean_attn_mask].
      return {.input = true,
              .output = true,
              .mask_items = 4 * heads_of(output) * real(output.extent[0]),
              .extra_items = s_.masked ? pairs(inputs, output) : 0};
    }
    // Backward needs the output of the softmax, the mask of its dropout, and the dropout's output [Kort22, section 4.1].
    const double scores = score_items(inputs, output);
    const bool drops = s_.dropout > 0;
    const double masks = drops ? scores : 0;
    // If scores are capped, backward also needs the hyperbolic tangents.
    const double tensors = 1 + (drops ? 1 : 0) + (s_.soft_cap ? 1 : 0);
    return {
        .input = true, .mask_items = masks, .extra_items = tensors * scores, .softmax_items = scores, .noise_items = masks};
  }
  /// The unfused operators are QKᵀ, its scaling, its mask, the softmax and the softmax's dropout,
  /// and the gradients of all of these.
  Inner inner(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    if (s_.fused || (pass != Pass::forward && pass != Pass::backward_data)) return {};
    return {score_items(inputs, output), 3 + (s_.causal ? 1 : 0) + (s_.dropout > 0 ? 1 : 0) + (s_.soft_cap ? 3 : 0)};
  }
  /// Forward writes the scores in addition to their softmax. Backward writes the gradients of the
  /// softmax and of the scores. Fused attention writes neither scores nor their gradients.
  double scratch_items(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    if (s_.fused) return 0;
    if (pass == Pass::forward) return score_items(inputs, output);
    return pass == Pass::backward_data ? 2 * score_items(inputs, output) : 0;
  }
  /// Returns the operation for the heads of the slice, with the biases of these heads.
  Local local(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    Settings settings = s_;
    settings.heads = output.channels / s_.value_size;
    const std::int64_t both = inputs.back().channels - (inputs.size() == 1 ? output.channels : 0);
    settings.kv_heads = both / (s_.head_size + s_.value_size);
    settings.tied = {};
    return {.operation = std::make_shared<Attention>(settings), .inputs = {inputs.begin(), inputs.end()}};
  }
  std::int64_t contexts() const override { return s_.contexts; }
  std::shared_ptr<const Operation> in_contexts(std::int64_t parts) const override {
    Settings settings = s_;
    settings.contexts *= parts;
    return std::make_shared<Attention>(settings);
  }
  double context_items(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return items(inputs) - heads_of(output) * real(output.extent[0]) * real(s_.head_size);
  }
  double macs(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return score_macs(inputs, output) + pairs(inputs, output) * real(output.channels);
  }
  double unmasked_macs(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return unmasked_pairs(inputs, output) * (heads_of(output) * real(s_.head_size) + real(output.channels));
  }

 private:
  /// Returns the kernels of attention in a context split. The keys and values of each rank are a separate kernel, or the
  /// kernels of written scores. Further kernels add up the results in fp32: outputs, weighted by the sums of their
  /// softmaxes, and gradients [NVIDIA, Transformer Engine, transformer_engine/pytorch/attention.py, AttnFuncWithCPAndKVP2P].
  /// work() does not include the further kernels.
  [[nodiscard]] std::vector<Work> in_steps(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const {
    const double steps = real(s_.contexts);
    std::vector<Work> step;
    if (s_.fused) {
      Work one = work(pass, inputs, output);
      one.flops /= steps;
      one.activation_items /= steps;
      one.n /= steps;
      step.push_back(one);
    } else {
      // A step has all kernels of written scores, for the keys of one rank.
      Settings single = s_;
      single.contexts = 1;
      step = Attention(single).kernels(pass, inputs, output);
    }
    const double added = pass == Pass::forward ? items(output) : items(inputs);
    // A sum has two reads and one write of 4 bytes each.
    const Work sum{.flops = 2 * added, .activation_items = 6 * added};
    std::vector<Work> kernels;
    for (std::int64_t i = 0; i < s_.contexts; ++i) {
      kernels.insert(kernels.end(), step.begin(), step.end());
      if (i > 0) kernels.push_back(sum);
    }
    return kernels;
  }
  /// Returns whether the kernel skips pairs that are hidden by their positions.
  [[nodiscard]] bool skips() const { return s_.fused && !s_.masked; }
  [[nodiscard]] double heads_of(const TensorShape& output) const { return real(output.channels) / real(s_.value_size); }

  /// Returns the number of multiply-adds of QKᵀ.
  [[nodiscard]] double score_macs(std::span<const TensorShape> inputs, const TensorShape& output) const {
    return pairs(inputs, output) * heads_of(output) * real(s_.head_size);
  }

  /// Returns the number of computed pairs of a query and a key.
  [[nodiscard]] double pairs(std::span<const TensorShape> inputs, const TensorShape& output) const {
    const double queries = real(output.extent[0]);
    const double keys = real(inputs.back().extent[0]) * real(s_.contexts);
    // If scores are written, or the kernel reads a mask, the mask hides scores between documents, which saves no work.
    const double document = skips() ? seen_at_most(keys) : keys;
    if (skips() && s_.causal) {
      // Query i attends to min(i, window) keys, so the pairs form a triangle, and then a band. All
      // ranks of a context split have the same number of pairs.
      const double seen = s_.window > 0 ? std::min(real(s_.window), document) : document;
      return (seen * (seen + 1) / 2 + (document - seen) * seen) * (keys / document) / real(s_.contexts);
    }
    if (skips() && s_.window > 0) {
      // Each query attends to as many keys before as after it, except near both ends of a document.
      const double side = std::min((real(s_.window) - 1) / 2, document - 1);
      return queries * (2 * side + 1 - side * (side + 1) / document);
    }
    return queries * document;
  }
  /// Returns the number of tokens of the sequence, or of a document if documents are packed.
  [[nodiscard]] double seen_at_most(double tokens) const {
    return s_.document > 0 ? std::min(real(s_.document), tokens) : tokens;
  }
  /// Returns the number of pairs without a causal mask. Each query attends to all keys of its
  /// document, or to the keys of its window.
  [[nodiscard]] double unmasked_pairs(std::span<const TensorShape> inputs, const TensorShape& output) const {
    const double keys = seen_at_most(real(inputs.back().extent[0]) * real(s_.contexts));
    return real(output.extent[0]) * (s_.window > 0 ? std::min(real(s_.window), keys) : keys);
  }
  /// Returns the number of scores: one for each head and pair.
  [[nodiscard]] double score_items(std::span<const TensorShape> inputs, const TensorShape& output) const {
    return heads_of(output) * pairs(inputs, output);
  }

  Settings s_;
};

}  // namespace

std::shared_ptr<const Operation> read_attention(const Attributes& attributes) {
  Attention::Settings settings;
  settings.heads = attributes.integer("heads");
  settings.kv_heads = attributes.find_integer("kv_heads").value_or(settings.heads);
  if (settings.heads % settings.kv_heads != 0) {
    attributes.fail("kv_heads",
                    fmt::format("{} heads are not divisible by {} key-value heads", settings.heads, settings.kv_heads));
  }
  const std::int64_t channels = attributes.input().channels;
  if (attributes.input_count() == 2) {
    if (channels % settings.heads != 0) {
      attributes.fail("heads",
                      fmt::format("the {} channels of the queries do not divide into {} heads", channels, settings.heads));
    }
    settings.head_size = channels / settings.heads;
  } else {
    const std::int64_t parts = settings.heads + 2 * settings.kv_heads;
    if (channels % parts != 0) {
      attributes.fail("heads",
                      fmt::format("the {} channels of the input do not divide into {} query and 2 × {} key and value heads",
                                  channels, settings.heads, settings.kv_heads),
                      "attention reads queries, keys and values of one fully_connected layer");
    }
    settings.head_size = channels / parts;
  }
  settings.value_size = attributes.find_integer("value_size").value_or(settings.head_size);
  settings.apart = attributes.has("value_size");
  if (settings.apart && attributes.input_count() != 2) {
    attributes.fail("value_size", "values of another size than queries and keys need a separate tensor",
                    "'from: [queries, keys_and_values]'");
  }
  settings.sinks = attributes.find_boolean("sinks").value_or(false);
  settings.soft_cap = attributes.find_boolean("soft_cap").value_or(false);
  settings.padded = attributes.find_boolean("padded").value_or(false);
  settings.causal = attributes.find_boolean("causal").value_or(false);
  settings.dropout = attributes.find_number("dropout", 0, 1).value_or(0);
  settings.window = attributes.find_integer("window", 0).value_or(0);
  settings.fused = attributes.find_boolean("fused").value_or(false);
  settings.document = attributes.find_integer("document").value_or(0);
  settings.alibi = attributes.find_boolean("alibi").value_or(false);
  settings.buckets = attributes.find_integer("buckets", 0).value_or(0);
  settings.tied = attributes.find_text("tied").value_or("");
  settings.contexts = attributes.find_integer("contexts").value_or(1);
  if (settings.causal && attributes.input_count() == 2 && !settings.apart) {
    attributes.fail("causal", "cross-attention cannot be causal");
  }
  if (settings.window > 0 && !settings.causal && attributes.input_count() == 2 && !settings.apart) {
    attributes.fail("window", "cross-attention has no window");
  }
  if (settings.fused && settings.buckets > 0) {
    attributes.fail("buckets", "fused attention does not support trained biases", "leave 'fused' out");
  }
  if (!settings.tied.empty() && settings.buckets == 0) {
    attributes.fail("tied", "this attention has no relative position biases to share",
                    "set the number of buckets: 'buckets: 32'");
  }
  return std::make_shared<Attention>(settings);
}

}  // namespace ddl
