#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/function_flops.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// The time mixing of RWKV-7 between its projections [Peng et al., "RWKV-7 'Goose' with expressive dynamic state evolution",
/// arXiv 2503.14456, sections 3 and 4]. It reads six tensors of one shape: receptances, keys, values, decays, learning rates
/// and gates, and, in all layers but the first, also a share of each value and the values of the first layer, which the
/// share mixes in. Each head has a state of head_size × head_size numbers, which follows a generalized delta rule: each
/// channel decays by its own factor, the value of the token's normalized key is removed in part, and the product of key and
/// value is added. The receptance reads the state. Each head is normalized, gets its values times the product of receptance
/// and key, and is gated.
///
/// The recurrence is computed in chunks of 16 tokens with the kernels of fla-org/flash-linear-attention
/// (fla/ops/generalized_delta_rule/dplr/chunk.py, called by fla/layers/rwkv7.py), whose backward recomputes the states. The
/// other operators are those of fla/layers/rwkv7.py.
class Rwkv7 final : public Operation {
 public:
  struct Settings {
    std::int64_t heads = 1, head_size = 1, chunk = 16;
  };
  explicit Rwkv7(const Settings& settings) : s_(settings) {}

  std::string_view type() const override { return "rwkv7"; }
  AttributeValues attribute_values() const override { return {{"heads", s_.heads}, {"chunk", s_.chunk}}; }
  AttributeValues lasting_values() const override { return {{"head_size", s_.head_size}, {"chunk", s_.chunk}}; }

  TensorShape infer(std::span<const TensorShape> inputs) const override {
    if (inputs.size() != 6 && inputs.size() != 8) {
      throw Error(fmt::format("rwkv7 takes six or eight inputs, not {}", inputs.size()),
                  "name receptances, keys, values, decays, rates and gates, and then the shares and the first values");
    }
    require_equal_inputs(inputs, type());
    const TensorShape& output = inputs.front();
    if (!output.sequence) throw Error(fmt::format("rwkv7 needs sequences, not {}", to_string(output)));
    if (output.channels != s_.heads * s_.head_size)
      throw Error(fmt::format("{} channels do not divide into {} heads", output.channels, s_.heads));
    static_cast<void>(item_count("the states", {output.extent[0], output.channels, s_.head_size}));
    static_cast<void>(item_count("the products of a chunk", {output.extent[0], s_.heads, s_.chunk}));
    return output;
  }

  /// The biases are a factor of the removed key, of the added key and of the bonus per channel, and scale and shift of the
  /// norm.
  std::int64_t biases(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    return 5 * output.channels;
  }
  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return sum_of(kernels(pass, inputs, output));
  }
  std::vector<Work> kernels(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const Sizes n = sizes(output);
    const bool mixes = inputs.size() == 8;
    const auto moved = [&n](double flops, double tensors) {
      return Work{.flops = flops * n.x, .activation_items = tensors * n.x};
    };
    std::vector<Work> all;
    switch (pass) {
      case Pass::forward:
        all = {moved(sigmoid_flops + 1, 4), moved(sigmoid_flops, 2)};  // decays, with their scale, and rates
        if (mixes) all.insert(all.end(), {moved(sigmoid_flops, 2), moved(3, 4)});
        // The removed key is scaled, and divided by its length. The added key is scaled by the rate.
        all.insert(all.end(),
                   {moved(1, 2), {.flops = 5 * n.x, .activation_items = 2 * n.x, .kind = KernelKind::layer_norm}});
        all.insert(all.end(), {moved(4, 3), moved(1, 3), moved(1, 2)});
        add(all, until_states(n));
        all.push_back(chunks(n.through + 2 * n.inside, 4 * n.x + n.states + 2 * n.matrix));
        all.push_back({.flops = 8 * n.x, .activation_items = 2 * n.x, .kind = KernelKind::layer_norm});
        all.push_back(moved(6, 6));  // bonus and gate
        break;
      case Pass::backward_data:
        all.push_back(moved(14, 11));
        all.push_back({.flops = 16 * n.x, .activation_items = 3 * n.x, .kind = KernelKind::layer_norm});
        add(all, until_states(n));
        // Gradients of products inside a chunk, of states, of the new values, of all six inputs, and through the inverse.
        all.push_back(chunks(4 * n.inside, 4 * n.x + 4 * n.matrix));
        all.push_back(chunks(3 * n.through, 5 * n.x + 2 * n.states));
        all.push_back(chunks(5 * n.through, 8 * n.x + 2 * n.states));
        all.push_back(chunks(4 * n.inside + 6 * n.inverse, 4 * n.x + 4 * n.matrix));
        all.push_back(chunks(8 * n.pairs, 12 * n.x + 4 * n.matrix));
        all.insert(all.end(), {moved(1, 2), moved(2, 5), moved(6, 5)});
        all.push_back({.flops = 8 * n.x, .activation_items = 3 * n.x, .kind = KernelKind::layer_norm});
        all.push_back(moved(1, 2));
        if (mixes) all.insert(all.end(), {moved(6, 7), moved(3, 3)});
        all.insert(all.end(), {moved(3, 3), moved(4, 4)});
        break;
      case Pass::backward_weight:
        all = {moved(2, 2), moved(2, 2), moved(4, 2)};
        all.front().weight_items = real(biases(inputs, output));
        break;
      case Pass::update:
        break;
    }
    return all;
  }
  double depth(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& output,
               double samples) const override {
    const double tokens = real(output.extent[0]);
    if (pass == Pass::backward_weight) return reduction_depth({tokens, samples});
    // The recurrence is a product of one matrix per token, each of which sums over a key. Then the receptance reads the
    // state, and the norm sums over a head.
    const double head = reduction_depth({real(s_.head_size)});
    return reduction_depth({tokens}) * head + 2 * head;
  }
  Divisible divisible() const override { return {.channelwise = true, .channel_units = s_.heads}; }
  /// Backward needs the inputs, the decays, rates and, if mixed, shares and values after their functions; the scaled key,
  /// the removed key, its product with the rate, and the added key; and the result before its norm. In fp32, it needs the
  /// lengths of keys, and a mean and deviation of each head.
  Kept kept(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const Sizes n = sizes(output);
    return {.input = true, .extra_items = (inputs.size() == 8 ? 9 : 7) * n.x, .statistics = 3 * n.x / real(s_.head_size)};
  }
  /// Unfused operators are not modeled, so there are no intermediate tensors.
  Inner inner(Pass /*pass*/, std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const override {
    return {};
  }
  /// The temporary tensors are the scaled operands of the products, the matrices, the new values and the states of the
  /// chunks; in backward, also their gradients.
  double scratch_items(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    const Sizes n = sizes(output);
    const double forward = 8 * n.x + 5 * n.matrix + n.states;
    if (pass == Pass::forward) return forward;
    return pass == Pass::backward_data ? 2 * forward : 0;
  }
  Local local(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    Settings settings = s_;
    settings.heads = std::max<std::int64_t>(1, output.channels / s_.head_size);
    return {.operation = std::make_shared<Rwkv7>(settings), .inputs = {inputs.begin(), inputs.end()}};
  }
  double macs(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    const Sizes n = sizes(output);
    return (4 * n.pairs + n.inverse + 4 * n.inside + 4 * n.through) / 2;
  }

 private:
  /// The FLOPs of one sample, and its elements in the precision of activations.
  struct Sizes {
    double x;        ///< elements of one input
    double states;   ///< elements of the states of the chunks, in fp32
    double matrix;   ///< elements of the products of a chunk
    double pairs;    ///< FLOPs of the products of each two tokens of a chunk
    double inverse;  ///< FLOPs of inverting the triangular matrices
    double inside;   ///< FLOPs of a triangular matrix times values or keys
    double through;  ///< FLOPs of products into or out of states
  };
  [[nodiscard]] Sizes sizes(const TensorShape& output) const {
    const double tokens = real(output.extent[0]);
    const double chunk = std::min(real(s_.chunk), tokens);
    const double x = items(output);
    const double heads = x / real(s_.head_size);
    return {.x = x,
            .states = 2 * std::ceil(tokens / chunk) * real(output.channels) * real(s_.head_size),
            .matrix = heads * chunk,
            .pairs = 2 * chunk * x,
            .inverse = 2 * heads * (chunk * chunk - 1) / 3,
            .inside = chunk * x,
            .through = 2 * real(s_.head_size) * x};
  }
  [[nodiscard]] static Work chunks(double flops, double items) {
    return {.flops = flops, .activation_items = items, .kind = KernelKind::chunk_scan};
  }
  static void add(std::vector<Work>& all, const std::vector<Work>& more) { all.insert(all.end(), more.begin(), more.end()); }
  /// Returns the kernels that backward recomputes: sums of the decays, four products of two tokens, the inverse times keys
  /// and values, and the states with the new values.
  [[nodiscard]] static std::vector<Work> until_states(const Sizes& n) {
    return {{.flops = n.x, .activation_items = 3 * n.x},
            chunks(4 * n.pairs, 9 * n.x + 4 * n.matrix),
            chunks(n.inverse + 2 * n.inside, 4 * n.x + 3 * n.matrix),
            chunks(3 * n.through, 6 * n.x + n.states)};
  }

  Settings s_;
};

}  // namespace

std::shared_ptr<const Operation> read_rwkv7(const Attributes& attributes) {
  Rwkv7::Settings settings;
  settings.heads = attributes.integer("heads");
  settings.head_size = std::max<std::int64_t>(1, attributes.input().channels / settings.heads);
  settings.chunk = attributes.find_integer("chunk").value_or(16);
  return std::make_shared<Rwkv7>(settings);
}

}  // namespace ddl
