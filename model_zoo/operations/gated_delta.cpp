#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/function_flops.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Linear attention by a gated delta rule, between its projections [Yang, Kautz and Hatamizadeh, "Gated delta networks:
/// improving Mamba2 with delta rule", ICLR 2025, sections 3 and 4]. It reads the concatenation of queries and keys of each
/// key head, of values and a gate z of each head, and of a decay and a strength of each head. A causal convolution per
/// channel is applied to queries, keys and values. Each head has a state of key_size × head_size numbers, which decays from
/// token to token. For each token, the value that the state has for the token's key is moved towards the token's value, and
/// the query reads the state. The recurrence is computed in chunks of tokens. The inverse of a triangular matrix of products
/// of keys makes the changes of a chunk independent of each other (equations 8 to 10 of the paper). The operation ends with
/// a root-mean-square norm of each head, gated by z.
///
/// Kernels, and the tensors that backward keeps and recomputes, are those of fla-org/flash-linear-attention
/// (fla/ops/gated_delta_rule/chunk.py), which Hugging Face's transformers call in Qwen3-Next. In Kimi Linear, each channel
/// of a key has a decay of its own [Kimi Team, "Kimi Linear: an expressive, efficient attention architecture", arXiv
/// 2510.26692, section 3].
class GatedDelta final : public Operation {
 public:
  struct Settings {
    std::int64_t heads = 1, head_size = 1;     ///< number and size of the heads of values
    std::int64_t key_heads = 1, key_size = 1;  ///< number and size of key heads; several value heads share a key head
    std::int64_t kernel = 4;                   ///< number of tokens in the window of the convolution
    std::int64_t chunk = 64;
    bool channel_decay = false;  ///< whether each channel of a key decays by its own factor
  };
  explicit GatedDelta(const Settings& settings) : s_(settings) {}

  std::string_view type() const override { return "gated_delta"; }
  AttributeValues attribute_values() const override {
    AttributeValues values{{"heads", s_.heads}, {"head_size", s_.head_size}};
    if (s_.key_heads != s_.heads) values.add("key_heads", s_.key_heads);
    if (s_.key_size != s_.head_size) values.add("key_size", s_.key_size);
    values.add("kernel", s_.kernel);
    values.add("chunk", s_.chunk);
    if (s_.channel_decay) values.add("channel_decay", true);
    return values;
  }
  AttributeValues lasting_values() const override {
    AttributeValues values{
        {"head_size", s_.head_size}, {"key_size", s_.key_size}, {"kernel", s_.kernel}, {"chunk", s_.chunk}};
    if (s_.channel_decay) values.add("channel_decay", true);
    return values;
  }

  TensorShape infer(std::span<const TensorShape> inputs) const override {
    TensorShape output = only_input(inputs, type());
    if (!output.sequence) throw Error(fmt::format("gated_delta needs a sequence, not {}", to_string(output)));
    const std::int64_t values = item_count("the values of a token", {s_.heads, s_.head_size});
    const std::int64_t keys = item_count("the keys of a token", {s_.key_heads, s_.key_size});
    static_cast<void>(item_count("the convolution", {values + 2 * keys, s_.kernel}));
    const std::int64_t read = 2 * values + 2 * keys + s_.heads * (1 + decays_of_head());
    if (output.channels != read) {
      throw Error(
          fmt::format(
              "the input has {} channels, but queries and keys of {} heads of {}, values and a gate of {} heads of {}, "
              "and {} numbers of each head need {}",
              output.channels, s_.key_heads, s_.key_size, s_.heads, s_.head_size,
              s_.channel_decay ? fmt::to_string(1 + decays_of_head()) : "two", read),
          "gated_delta must read a fully_connected layer with this number of features");
    }
    output.channels = values;
    static_cast<void>(item_count("the states", {output.extent[0], s_.heads, s_.head_size, s_.key_size}));
    static_cast<void>(item_count("the products of a chunk", {output.extent[0], s_.heads, s_.chunk}));
    return checked(output);
  }

  /// The biases are the parameters of the convolution, the scale of the norm, which all heads
  /// share, a decay of each head, and the biases of the decays.
  std::int64_t biases(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    const std::int64_t convolved = output.channels + 2 * key_heads_of(output) * s_.key_size;
    return s_.kernel * convolved + s_.head_size + (1 + decays_of_head()) * (output.channels / s_.head_size);
  }

  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return sum_of(kernels(pass, inputs, output));
  }
  std::vector<Work> kernels(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const Sizes n = sizes(output);
    switch (pass) {
      case Pass::forward: {
        std::vector<Work> all{
            {.flops = n.convolution + (sigmoid_flops + 1) * n.convolved, .activation_items = 2 * n.convolved},
            {.flops = 3 * transcendental_flops * n.steps, .activation_items = 6 * n.steps},
            // The queries and keys of each head are divided by their lengths.
            {.flops = 2 * 5 * n.k, .activation_items = 4 * n.k, .kind = KernelKind::layer_norm},
            chunks(n.pairs, n.k + 2 * n.matrix),
            chunks(n.inverse, 3 * n.matrix)};
        const std::vector<Work> states = until_states(n);
        all.insert(all.end(), states.begin(), states.end());
        // Queries read the states. Products of queries and keys are multiplied by the changes of the chunk.
        all.push_back(chunks(n.through + n.pairs + n.inside, 2 * n.k + 2 * n.v + n.states));
        all.push_back({.flops = 10 * n.v, .activation_items = 3 * n.v, .kind = KernelKind::layer_norm});
        return all;
      }
      case Pass::backward_data: {
        std::vector<Work> all{{.flops = 20 * n.v, .activation_items = 5 * n.v, .kind = KernelKind::layer_norm}};
        const std::vector<Work> again = until_states(n);
        all.insert(all.end(), again.begin(), again.end());
        // Backward computes gradients in this order: of the changes inside the chunks; of the
        // states of the previous chunks; of queries, keys and the products of the matrix with keys;
        // of keys, values and strengths through the matrix; of lengths; of the convolution.
        all.push_back(chunks(n.pairs + n.inside, 2 * n.k + 2 * n.v));
        all.push_back(chunks(3 * n.through, 3 * n.k + 3 * n.v + n.states));
        all.push_back(chunks(3 * n.through + n.pairs + 2 * n.inside + 2 * n.inside_keys, 5 * n.k + 3 * n.v + 2 * n.states));
        all.push_back(
            chunks(n.pairs + 2 * n.inside + n.inside + 3 * n.inside_keys + 6 * n.inverse, 4 * n.k + 3 * n.v + n.matrix));
        all.push_back({.flops = 2 * 8 * n.k, .activation_items = 6 * n.k, .kind = KernelKind::layer_norm});
        all.push_back({.flops = 3 * transcendental_flops * n.steps, .activation_items = 10 * n.steps});
        all.push_back({.flops = 2 * n.convolution + (sigmoid_flops + 4) * n.convolved, .activation_items = 3 * n.convolved});
        return all;
      }
      case Pass::backward_weight:
        // The kernels of the other gradients also compute the gradients of the parameters. Partial
        // results are summed over blocks of tokens.
        return {{.flops = n.convolution + 2 * n.v, .activation_items = 0, .weight_items = real(biases(inputs, output))}};
      case Pass::update:
        break;
    }
    return {};
  }
  double depth(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& output,
               double samples) const override {
    const double tokens = real(output.extent[0]);
    if (pass == Pass::backward_weight) return reduction_depth({tokens, samples});
    // The recurrence is a product of one matrix per token. Each of these products sums over a key. Then the query reads the
    // state, and the norm sums over a head.
    const double key = reduction_depth({real(s_.key_size)});
    const double chain = reduction_depth({real(s_.kernel)}) + reduction_depth({tokens}) * key + key;
    return chain + reduction_depth({real(s_.head_size)});
  }

  Divisible divisible() const override { return {.channelwise = true, .channel_units = s_.key_heads}; }
  /// Backward needs the outputs of the projection and of the convolution; queries and keys of all
  /// heads, divided by their lengths; the matrices of the chunks; and the result before its norm.
  /// In fp32, it needs decays and strengths, inverse deviations, and lengths.
  Kept kept(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    const Sizes n = sizes(output);
    return {.input = true, .extra_items = n.convolved + 2 * n.k + n.matrix + n.v, .statistics = 5 * n.steps};
  }
  /// Unfused operators are not modeled, so there are no intermediate tensors.
  Inner inner(Pass /*pass*/, std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const override {
    return {};
  }
  /// The temporary tensors are the changes, their keys, and the states of the chunks; in backward, also their gradients.
  double scratch_items(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    const Sizes n = sizes(output);
    const double forward = n.k + 2 * n.v + n.states + 2 * n.matrix;
    if (pass == Pass::forward) return forward;
    return pass == Pass::backward_data ? 2 * forward : 0;
  }
  /// Returns the operation with the heads of the slice.
  Local local(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    Settings settings = s_;
    settings.heads = std::max<std::int64_t>(1, output.channels / s_.head_size);
    settings.key_heads = key_heads_of(output);
    return {.operation = std::make_shared<GatedDelta>(settings), .inputs = {inputs.begin(), inputs.end()}};
  }
  double macs(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    const Sizes n = sizes(output);
    return (n.convolution + 2 * n.pairs + n.inverse + n.inside_keys + 2 * n.inside + 3 * n.through) / 2;
  }

 private:
  /// The FLOPs of one sample, and its elements in the precision of activations.
  struct Sizes {
    double v;            ///< elements of the values; equals the elements of the gate and of the result
    double k;            ///< elements of the queries of all heads; equals the elements of the keys
    double convolved;    ///< elements of queries, keys and values before heads share them
    double steps;        ///< half of the number of decays and strengths: with a decay per head, heads times tokens
    double states;       ///< elements of the states of the chunks
    double matrix;       ///< elements of the matrices of the chunks, from products of keys
    double convolution;  ///< FLOPs of the convolution
    double pairs;        ///< FLOPs of products of keys with keys; equals the FLOPs of queries with keys
    double inverse;      ///< FLOPs of inverting the triangular matrices
    double inside_keys;  ///< FLOPs of products of a triangular matrix with the keys
    double inside;       ///< FLOPs of products of a triangular matrix with the values
    double through;      ///< FLOPs of keys times values, whose results are states; equals states times keys or queries
  };
  [[nodiscard]] Sizes sizes(const TensorShape& output) const {
    const double tokens = real(output.extent[0]);
    const double chunk = std::min(real(s_.chunk), tokens);
    const double heads = real(output.channels) / real(s_.head_size);
    const double v = items(output);
    const double k = tokens * heads * real(s_.key_size);
    const double convolved = v + 2 * tokens * real(key_heads_of(output)) * real(s_.key_size);
    return {.v = v,
            .k = k,
            .convolved = convolved,
            .steps = tokens * heads * real(1 + decays_of_head()) / 2,
            .states = std::ceil(tokens / chunk) * real(output.channels) * real(s_.key_size),
            .matrix = tokens * heads * chunk,
            .convolution = 2 * real(s_.kernel) * convolved,
            .pairs = 2 * chunk * k,
            .inverse = 2 * tokens * heads * chunk * chunk / 3,
            .inside_keys = chunk * k,
            .inside = chunk * v,
            .through = 2 * real(s_.key_size) * v};
  }
  /// Returns a kernel that computes products in chunks.
  [[nodiscard]] static Work chunks(double flops, double items) {
    return {.flops = flops, .activation_items = items, .kind = KernelKind::chunk_scan};
  }
  /// Returns the kernels that backward recomputes: the products of the matrices with keys and
  /// values, and the states before each chunk.
  [[nodiscard]] static std::vector<Work> until_states(const Sizes& n) {
    return {chunks(n.inside_keys + n.inside, 2 * n.k + 2 * n.v + n.matrix),
            chunks(2 * n.through, 2 * n.k + 2 * n.v + n.states)};
  }
  [[nodiscard]] std::int64_t decays_of_head() const { return s_.channel_decay ? s_.key_size : 1; }
  /// Returns the number of key heads that belong to the value heads of `output`.
  [[nodiscard]] std::int64_t key_heads_of(const TensorShape& output) const {
    return std::max<std::int64_t>(1, s_.key_heads * (output.channels / s_.head_size) / s_.heads);
  }

  Settings s_;
};

}  // namespace

std::shared_ptr<const Operation> read_gated_delta(const Attributes& attributes) {
  GatedDelta::Settings settings;
  settings.heads = attributes.integer("heads");
  settings.head_size = attributes.integer("head_size");
  settings.key_heads = attributes.find_integer("key_heads").value_or(settings.heads);
  settings.key_size = attributes.find_integer("key_size").value_or(settings.head_size);
  settings.kernel = attributes.find_integer("kernel").value_or(4);
  settings.chunk = attributes.find_integer("chunk").value_or(64);
  settings.channel_decay = attributes.find_boolean("channel_decay").value_or(false);
  if (settings.heads % settings.key_heads != 0) {
    attributes.fail("key_heads",
                    fmt::format("{} heads do not divide into {} heads of keys", settings.heads, settings.key_heads));
  }
  return std::make_shared<GatedDelta>(settings);
}

}  // namespace ddl
