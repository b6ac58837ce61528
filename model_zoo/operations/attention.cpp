#include <algorithm>

#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Attention between the projections: reads queries, keys and values side by side in one tensor, or queries in one and keys
/// and values in another, writes the heads. Its kernels write the scores to memory, and a causal mask saves no work, as
/// [Nar21] counts; those of fused attention [Dao22] keep the scores on the chip and leave out what the mask hides.
class Attention final : public Operation {
 public:
  struct Settings {
    std::int64_t heads = 1, kv_heads = 1, head_size = 1;
    bool causal = false;
    double dropout = 0;
    std::int64_t window = 0;   ///< each token sees itself and those before it, so many in all; 0: all
    bool fused = false;        ///< scores are never written, backward computes them again
    bool alibi = false;        ///< adds to each score a multiple of the distance
    std::int64_t buckets = 0;  ///< distances with a trained number of their own for each head; 0: none
    std::string tied{};        ///< the layer whose numbers these are
  };
  explicit Attention(const Settings& settings) : s_(settings) {}

  std::string_view type() const override { return "attention"; }
  AttributeValues attribute_values() const override {
    AttributeValues values{{"heads", s_.heads}};
    if (s_.kv_heads != s_.heads) values.add("kv_heads", s_.kv_heads);
    if (s_.causal) values.add("causal", true);
    if (s_.window > 0) values.add("window", s_.window);
    if (s_.fused) values.add("fused", true);
    if (s_.alibi) values.add("alibi", true);
    if (s_.buckets > 0) values.add("buckets", s_.buckets);
    if (!s_.tied.empty()) values.add("tied", s_.tied);
    if (s_.dropout > 0) values.add("dropout", s_.dropout);
    return values;
  }
  AttributeValues lasting_values() const override {
    AttributeValues values{{"head_size", s_.head_size}, {"window", s_.window}, {"dropout", s_.dropout}};
    if (s_.causal) values.add("causal", true);
    if (s_.fused) values.add("fused", true);
    if (s_.alibi) values.add("alibi", true);
    if (s_.buckets > 0) values.add("buckets", s_.buckets);
    return values;
  }

  TensorShape infer(std::span<const TensorShape> inputs) const override {
    if (inputs.size() > 2) throw Error(fmt::format("attention takes one or two inputs, not {}", inputs.size()));
    for (const TensorShape& input : inputs) {
      if (!input.sequence) throw Error(fmt::format("attention needs a sequence, not {}", to_string(input)));
    }
    TensorShape output = inputs.front();
    const std::int64_t queries = s_.heads * s_.head_size;
    const std::int64_t keys_and_values = 2 * s_.kv_heads * s_.head_size;
    if (inputs.size() == 1 && output.channels != queries + keys_and_values) {
      throw Error(fmt::format("{} channels are not {} query and 2 × {} key and value heads of {}", output.channels, s_.heads,
                              s_.kv_heads, s_.head_size));
    }
    if (inputs.size() == 2 && inputs[1].channels != keys_and_values) {
      throw Error(fmt::format("{} channels are not 2 × {} key and value heads of {}, the size of the {} query heads",
                              inputs[1].channels, s_.kv_heads, s_.head_size, s_.heads));
    }
    output.channels = queries;
    static_cast<void>(item_count("the scores", {s_.heads, output.extent[0], inputs.back().extent[0]}));
    return checked(output);
  }

  std::int64_t biases(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    return s_.tied.empty() ? s_.buckets * (output.channels / s_.head_size) : 0;
  }
  SharedTable shared_table(std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const override {
    return {.owner = "attention", .rows = s_.buckets, .columns = s_.heads};
  }

  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    if (pass == Pass::update) return {};
    const double scores = score_items(inputs, output);
    // The biases are the same for all samples.
    const double biases = s_.buckets > 0 ? scores : 0;
    if (pass == Pass::backward_weight) {
      // The gradients of the scores, summed over the samples, then over each bucket.
      return {.flops = biases, .activation_items = biases, .weight_items = biases};
    }
    const bool drops = s_.dropout > 0;
    const double dropped = drops && !s_.fused ? 2.5 : 0;  // read, write, and a mask of a byte
    const double added = biases + (s_.alibi ? scores : 0);
    Work work{.m = real(output.extent[0]),
              .n = pairs(inputs, output) / real(output.extent[0]),
              .k = real(s_.head_size),
              .batched = Work::Batched::count,
              .count = heads_of(output)};
    if (s_.fused) work.kind = KernelKind::fused_attention;
    if (pass == Pass::forward) {
      // QKᵀ and AV, and about 5 for each score's softmax. Scores are written, read and written by the softmax, and read; a
      // trained bias is a kernel of its own, which reads and writes them once more.
      work.flops = 2 * macs(inputs, output) + 5 * scores + added;
      work.activation_items = items(inputs) + items(output) + (s_.fused ? 0 : 4 + dropped) * scores + 2 * biases;
      work.weight_items = biases;
    } else {
      // Two products for each of the two; the softmax reads its output and a gradient and writes one. Fused attention
      // computes QKᵀ and its softmax again [Dao22, algorithm 4].
      work.flops = 2 * (2 * macs(inputs, output) + 5 * scores);
      if (s_.fused) work.flops += macs(inputs, output) + 5 * scores;
      work.activation_items = 2 * items(inputs) + 2 * items(output) + (s_.fused ? 0 : 7 + dropped) * scores;
    }
    return work;
  }
  std::vector<Work> kernels(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    if (s_.fused || (pass != Pass::forward && pass != Pass::backward_data)) return {work(pass, inputs, output)};
    const double scores = score_items(inputs, output);
    const double biases = s_.buckets > 0 ? scores : 0;
    const double queries = items(output);
    const double keys = (items(inputs) - (inputs.size() == 1 ? queries : items(inputs.front()))) / 2;
    const double tokens = real(output.extent[0]);
    const double others = real(inputs.back().extent[0]);
    const double head = real(s_.head_size);
    const auto product = [&](double m, double n, double k, double read_and_written) {
      return Work{.flops = macs(inputs, output),
                  .activation_items = scores + read_and_written,
                  .m = m,
                  .n = n,
                  .k = k,
                  .batched = Work::Batched::count,
                  .count = heads_of(output)};
    };
    const Work dropout{.activation_items = 2.5 * scores, .kind = KernelKind::dropout};
    std::vector<Work> kernels;
    if (pass == Pass::forward) {
      const double added = biases + (s_.alibi ? scores : 0);
      kernels.push_back(product(tokens, others, head, queries + keys));
      if (biases > 0) kernels.push_back({.flops = added, .activation_items = 2 * biases, .weight_items = biases});
      kernels.push_back({.flops = 5 * scores + added - biases, .activation_items = 2 * scores, .kind = KernelKind::softmax});
      if (s_.dropout > 0) kernels.push_back(dropout);
      kernels.push_back(product(tokens, head, others, queries + keys));
      return kernels;
    }
    // The gradients of values and scores, then of the softmax, then of queries and keys.
    kernels.push_back(product(others, head, tokens, queries + keys));
    kernels.push_back(product(tokens, others, head, queries + keys));
    if (s_.dropout > 0) kernels.push_back(dropout);
    kernels.push_back({.flops = 10 * scores, .activation_items = 3 * scores, .kind = KernelKind::softmax});
    kernels.push_back(product(tokens, head, others, queries + keys));
    kernels.push_back(product(others, head, tokens, queries + keys));
    return kernels;
  }
  double depth(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output, double samples) const override {
    // A trained bias sums the scores' gradients over samples and pairs.
    const double keys = real(inputs.back().extent[0]);
    if (pass == Pass::backward_weight)
      return reduction_depth({s_.buckets > 0 ? samples * real(output.extent[0]) * keys : 1});
    // One after the other: the scores sum over a head, their softmax and the values over the keys. Backward takes the same
    // three in the other order.
    return reduction_depth({real(s_.head_size), keys, keys});
  }

  Divisible divisible() const override { return {.channelwise = true, .channel_units = s_.kv_heads}; }
  Kept kept(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    if (s_.fused) {
      // The output, and for each head and token the logarithm of its sum of exponentials in fp32 [Dao22, theorem 2].
      return {.input = true, .output = true, .mask_items = 4 * heads_of(output) * real(output.extent[0])};
    }
    // [Kort22], section 4.1: the output of the softmax, the mask of its dropout, and the dropout's output.
    const double scores = score_items(inputs, output);
    const bool drops = s_.dropout > 0;
    const double masks = drops ? scores : 0;
    return {.input = true, .mask_items = masks, .extra_items = (drops ? 2 : 1) * scores, .noise_items = masks};
  }
  /// QKᵀ, its scaling, its mask, the softmax and its dropout, and their gradients.
  Inner inner(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    if (s_.fused || (pass != Pass::forward && pass != Pass::backward_data)) return {};
    return {score_items(inputs, output), 3 + (s_.causal ? 1 : 0) + (s_.dropout > 0 ? 1 : 0)};
  }
  /// Forward: the scores beside their softmax. Backward: the softmax's gradient and that of the scores; fused, neither is
  /// written.
  double scratch_items(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    if (s_.fused) return 0;
    if (pass == Pass::forward) return score_items(inputs, output);
    return pass == Pass::backward_data ? 2 * score_items(inputs, output) : 0;
  }
  /// With the heads that the slice has, and biases of its own.
  Local local(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    Settings settings = s_;
    settings.heads = output.channels / s_.head_size;
    const std::int64_t both = inputs.back().channels - (inputs.size() == 1 ? output.channels : 0);
    settings.kv_heads = both / (2 * s_.head_size);
    settings.tied = {};
    return {.operation = std::make_shared<Attention>(settings), .inputs = {inputs.begin(), inputs.end()}};
  }
  double macs(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return 2 * pairs(inputs, output) * real(output.channels);
  }

 private:
  [[nodiscard]] double heads_of(const TensorShape& output) const { return real(output.channels) / real(s_.head_size); }

  /// Pairs of a query and a key that are computed.
  [[nodiscard]] double pairs(std::span<const TensorShape> inputs, const TensorShape& output) const {
    const double queries = real(output.extent[0]);
    const double keys = real(inputs.back().extent[0]);
    if (s_.fused && s_.causal) {
      // Query i sees min(i, window) keys: a triangle, then a band.
      const double seen = s_.window > 0 ? std::min(real(s_.window), keys) : keys;
      return seen * (seen + 1) / 2 + (keys - seen) * seen;
    }
    return queries * keys;
  }
  /// One score for each head and pair.
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
                    fmt::format("{} heads do not divide among {} key and value heads", settings.heads, settings.kv_heads));
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
  settings.causal = attributes.find_boolean("causal").value_or(false);
  settings.dropout = attributes.find_number("dropout", 0, 1).value_or(0);
  settings.window = attributes.find_integer("window", 0).value_or(0);
  settings.fused = attributes.find_boolean("fused").value_or(false);
  settings.alibi = attributes.find_boolean("alibi").value_or(false);
  settings.buckets = attributes.find_integer("buckets", 0).value_or(0);
  settings.tied = attributes.find_text("tied").value_or("");
  if (settings.causal && attributes.input_count() == 2) {
    attributes.fail("causal", "attention to another sequence cannot be causal: its tokens have no order with this one's");
  }
  if (settings.window > 0 && !settings.causal) {
    attributes.fail("window", "a window looks back from each token: it needs 'causal: yes'");
  }
  if (settings.fused && settings.buckets > 0) {
    attributes.fail("buckets", "fused attention has no biases that are trained", "leave 'fused' out");
  }
  if (!settings.tied.empty() && settings.buckets == 0) {
    attributes.fail("tied", "attention shares biases of distances, and this one has none", "say how many: 'buckets: 32'");
  }
  return std::make_shared<Attention>(settings);
}

}  // namespace ddl
