#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Causal attention without a softmax, between its projections. It reads queries, keys and values of every head as channels
/// of one tensor. The state of a head is a matrix of head_size × head_size numbers, which decays from token to token by a
/// constant of the head. Each token adds the product of its key and value to the state, and its query reads the state. The
/// recurrence is computed in chunks of tokens, with masked products inside a chunk [Qin et al., "Various lengths, constant
/// speed: efficient language modeling with lightning attention", ICML 2024, algorithms 1 and 2; MiniMax, "MiniMax-01", arXiv
/// 2501.08313, section 2.2].
///
/// Forward is one kernel that keeps the state on the chip, and backward is two kernels, one for the queries and one for keys
/// and values, which compute the states again (OpenNLPLab/lightning-attention, lightning_attn2.py).
class LinearAttention final : public Operation {
 public:
  struct Settings {
    std::int64_t heads = 1, head_size = 1, chunk = 256;
    bool norm = false;  ///< whether a root-mean-square norm over all heads follows
  };
  explicit LinearAttention(const Settings& settings) : s_(settings) {}

  std::string_view type() const override { return "linear_attention"; }
  AttributeValues attribute_values() const override {
    AttributeValues values{{"heads", s_.heads}, {"chunk", s_.chunk}};
    if (s_.norm) values.add("norm", true);
    return values;
  }
  AttributeValues lasting_values() const override {
    AttributeValues values{{"head_size", s_.head_size}, {"chunk", s_.chunk}};
    if (s_.norm) values.add("norm", true);
    return values;
  }

  TensorShape infer(std::span<const TensorShape> inputs) const override {
    TensorShape output = only_input(inputs, type());
    if (!output.sequence) throw Error(fmt::format("linear_attention needs a sequence, not {}", to_string(output)));
    if (output.channels != 3 * s_.heads * s_.head_size) {
      throw Error(fmt::format("{} channels are not queries, keys and values of {} heads", output.channels, s_.heads),
                  "linear_attention must read a fully_connected layer with three times its channels");
    }
    output.channels /= 3;
    static_cast<void>(item_count("the states", {output.extent[0], output.channels, s_.head_size}));
    static_cast<void>(item_count("the products of a chunk", {output.extent[0], s_.heads, s_.chunk}));
    return checked(output);
  }
  /// The biases are the scale of the norm.
  std::int64_t biases(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    return s_.norm ? output.channels : 0;
  }
  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return sum_of(kernels(pass, inputs, output));
  }
  std::vector<Work> kernels(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    const double values = items(output);
    const double inside = real(chunk(output)) * values;      // half of the pairs of a chunk, times the values
    const double pairs = 2 * inside;                         // products of queries and keys
    const double through = 2 * real(s_.head_size) * values;  // into or out of states
    const auto kernel = [](double flops, double moved) {
      return Work{.flops = flops, .activation_items = moved, .kind = KernelKind::chunk_scan};
    };
    std::vector<Work> all;
    if (pass == Pass::forward) {
      all = {kernel(pairs + inside + 2 * through, 4 * values)};
      if (s_.norm) all.push_back({.flops = 4 * values, .activation_items = 2 * values, .kind = KernelKind::layer_norm});
    } else if (pass == Pass::backward_data) {
      if (s_.norm) all = {{.flops = 8 * values, .activation_items = 3 * values, .kind = KernelKind::layer_norm}};
      // The gradient of queries needs the states, and the products of output gradients and values. The gradients of keys and
      // values also need the products of queries and keys, and the gradients of the states.
      all.push_back(kernel(pairs + inside + 2 * through, 4 * values));
      all.push_back(kernel(2 * pairs + 2 * inside + 3 * through, 6 * values));
    } else if (pass == Pass::backward_weight && s_.norm) {
      all = {{.flops = 2 * values, .weight_items = real(output.channels), .kind = KernelKind::layer_norm}};
    }
    return all;
  }
  double depth(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& output,
               double samples) const override {
    if (pass == Pass::backward_weight) return reduction_depth({samples, real(output.extent[0])});
    // The recurrence is a prefix sum over the tokens. Then the query reads the state, and a norm sums over the channels.
    const double norm = s_.norm ? reduction_depth({real(output.channels)}) : 0;
    return norm + reduction_depth({real(output.extent[0])}) + reduction_depth({real(s_.head_size)});
  }
  Divisible divisible() const override { return {.channelwise = true, .channel_units = s_.heads}; }
  Kept kept(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    return {.input = true, .extra_items = s_.norm ? items(output) : 0, .statistics = s_.norm ? real(output.extent[0]) : 0};
  }
  /// Unfused operators are not modeled, so there are no intermediate tensors.
  Inner inner(Pass /*pass*/, std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const override {
    return {};
  }
  Local local(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    Settings settings = s_;
    settings.heads = std::max<std::int64_t>(1, output.channels / s_.head_size);
    return {.operation = std::make_shared<LinearAttention>(settings), .inputs = {inputs.begin(), inputs.end()}};
  }
  double macs(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    return items(output) * (1.5 * real(chunk(output)) + 2 * real(s_.head_size));
  }

 private:
  [[nodiscard]] std::int64_t chunk(const TensorShape& output) const { return std::min(s_.chunk, output.extent[0]); }

  Settings s_;
};

}  // namespace

std::shared_ptr<const Operation> read_linear_attention(const Attributes& attributes) {
  LinearAttention::Settings settings;
  settings.heads = attributes.integer("heads");
  settings.head_size = std::max<std::int64_t>(1, attributes.input().channels / 3 / settings.heads);
  settings.chunk = attributes.find_integer("chunk").value_or(256);
  settings.norm = attributes.find_boolean("norm").value_or(false);
  return std::make_shared<LinearAttention>(settings);
}

}  // namespace ddl
