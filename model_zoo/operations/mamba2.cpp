#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/function_flops.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// The mixer of Mamba-2 between its projections [Dao and Gu, "Transformers are SSMs", ICML 2024, sections 6 and 7]. It reads
/// the concatenation of a gate z and the values x of every head, the vectors B and C of every group, and a step size of each
/// head. A causal convolution per channel is applied to x, B and C. Each head adds its x, times B, to a state of head_size ×
/// state numbers that decays from token to token, and reads the state with C. This recurrence is computed in chunks of
/// tokens, by matrix products inside each chunk and a state from chunk to chunk. The operation ends with a root-mean-square
/// norm of each group, gated by z.
///
/// Kernels, and the tensors that backward keeps and recomputes, are those of the memory-efficient path of state-spaces/mamba
/// (mamba_ssm/ops/triton/ssd_combined.py, MambaSplitConv1dScanCombinedFn). Megatron-LM trains with this path
/// (megatron/core/ssm/mamba_mixer.py). States of chunks and products C·Bᵀ are written in fp32.
class Mamba2 final : public Operation {
 public:
  struct Settings {
    std::int64_t heads = 1, head_size = 1, state = 1;
    std::int64_t groups = 1;  ///< groups of heads that share B and C
    std::int64_t kernel = 4;  ///< number of tokens in the window of the convolution
    std::int64_t chunk = 128;
    bool norm = true;  ///< whether there is a norm at the end; otherwise, only z gates the result
  };
  explicit Mamba2(const Settings& settings) : s_(settings) {}

  std::string_view type() const override { return "mamba2"; }
  AttributeValues attribute_values() const override {
    AttributeValues values{{"heads", s_.heads}, {"head_size", s_.head_size}, {"state", s_.state}};
    if (s_.groups > 1) values.add("groups", s_.groups);
    values.add("kernel", s_.kernel);
    values.add("chunk", s_.chunk);
    if (!s_.norm) values.add("norm", false);
    return values;
  }
  AttributeValues lasting_values() const override {
    AttributeValues values{{"head_size", s_.head_size}, {"state", s_.state}, {"kernel", s_.kernel}, {"chunk", s_.chunk}};
    if (!s_.norm) values.add("norm", false);
    return values;
  }

  TensorShape infer(std::span<const TensorShape> inputs) const override {
    TensorShape output = only_input(inputs, type());
    if (!output.sequence) throw Error(fmt::format("mamba2 needs a sequence, not {}", to_string(output)));
    const std::int64_t values = item_count("the values of a token", {s_.heads, s_.head_size});
    const std::int64_t vectors = item_count("the vectors B and C of a token", {s_.groups, s_.state});
    static_cast<void>(item_count("the convolution", {values + 2 * vectors, s_.kernel}));
    const std::int64_t read = 2 * values + 2 * vectors + s_.heads;
    if (output.channels != read) {
      throw Error(
          fmt::format(
              "the input has {} channels, but gate and values of {} heads of {}, two vectors of {} for each of {} groups, "
              "and {} steps need {}",
              output.channels, s_.heads, s_.head_size, s_.state, s_.groups, s_.heads, read),
          "mamba2 must read a fully_connected layer with this number of features");
    }
    output.channels = values;
    static_cast<void>(item_count("the states", {output.extent[0], s_.heads, s_.head_size, s_.state}));
    return checked(output);
  }

  /// The biases are the parameters of the convolution, the scale of the norm if there is one, and three numbers per head:
  /// the decay of its state, the bias of its step size, and the share of x that bypasses the state.
  std::int64_t biases(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    const std::int64_t convolved = output.channels + 2 * groups_of(output) * s_.state;
    return (s_.kernel + 1) * convolved + (s_.norm ? output.channels : 0) + 3 * (output.channels / s_.head_size);
  }

  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return sum_of(kernels(pass, inputs, output));
  }
  std::vector<Work> kernels(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const Sizes n = sizes(output);
    switch (pass) {
      case Pass::forward: {
        std::vector<Work> all = until_states(n);
        // The products inside a chunk come first; the last tokens of a chunk depend on all of its
        // tokens. Then C reads the state of the previous chunks.
        all.push_back(chunks(n.inside + n.through, n.x + n.b + n.states + n.products + n.decays + n.x));
        all.push_back(s_.norm ? Work{.flops = 10 * n.x, .activation_items = 3 * n.x, .kind = KernelKind::layer_norm}
                              : Work{.flops = (sigmoid_flops + 2) * n.x, .activation_items = 3 * n.x});
        return all;
      }
      case Pass::backward_data: {
        std::vector<Work> all{s_.norm ? Work{.flops = 20 * n.x, .activation_items = 5 * n.x, .kind = KernelKind::layer_norm}
                                      : Work{.flops = (sigmoid_flops + 6) * n.x, .activation_items = 5 * n.x}};
        const std::vector<Work> again = until_states(n);
        all.insert(all.end(), again.begin(), again.end());
        // Backward computes gradients in this order: of the states that C reads; of the states of the previous chunks; of x;
        // of B and C, through the states and inside the chunks; and of the step sizes. For the part of the step sizes inside
        // the chunks, the products are recomputed.
        all.push_back(chunks(n.through, n.x + n.b + 2 * n.states));
        all.push_back({.flops = 4 * n.states, .activation_items = 6 * n.states});
        all.push_back(chunks(n.inside + n.through, 3 * n.x + n.b + n.products + n.states + 2 * n.decays));
        all.push_back(chunks(n.through, n.x + 3 * n.b + n.states + n.decays));
        all.push_back(chunks(n.through, n.x + 3 * n.b + n.states + n.decays));
        all.push_back(chunks(n.inside, 2 * n.x + n.products + n.decays));
        all.push_back(chunks(n.products_flops, n.products + 3 * n.b));
        all.push_back(chunks(n.products_flops, n.products + 3 * n.b));
        all.push_back(chunks(n.inside, 2 * n.x + n.products + 2 * n.decays));
        all.push_back({.flops = transcendental_flops * n.steps, .activation_items = 8 * n.steps});
        // The backward kernel of the convolution reads the convolution's input and its output's
        // gradient. It computes the gradients of the input and of the weights.
        all.push_back({.flops = 2 * n.convolution + (sigmoid_flops + 4) * n.convolved, .activation_items = 3 * n.convolved});
        return all;
      }
      case Pass::backward_weight:
        // The kernels of the other gradients also compute the gradients of the parameters. Partial
        // results are summed over blocks of tokens.
        return {{.flops = n.convolution + (s_.norm ? 2 * n.x : 0),
                 .activation_items = 0,
                 .weight_items = real(biases(inputs, output))}};
      case Pass::update:
        break;
    }
    return {};
  }
  double depth(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& output,
               double samples) const override {
    const double tokens = real(output.extent[0]);
    if (pass == Pass::backward_weight) return reduction_depth({tokens, samples});
    // The recurrence is a prefix sum over the tokens. Then C reads the state, and the norm sums
    // over the channels of a group.
    const double channels = real(output.channels) / real(groups_of(output));
    const double chain = reduction_depth({real(s_.kernel)}) + reduction_depth({tokens}) + reduction_depth({real(s_.state)});
    return chain + reduction_depth({channels});
  }

  Divisible divisible() const override { return {.channelwise = true, .channel_units = s_.groups}; }
  /// Backward needs the output of the projection, the result before its norm, and an inverse
  /// deviation for each token and group.
  Kept kept(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    const double norms = s_.norm ? real(output.extent[0]) * real(groups_of(output)) : 0;
    return {.input = true, .extra_items = items(output), .statistics = norms};
  }
  /// Unfused operators are not modeled, so there are no intermediate tensors.
  Inner inner(Pass /*pass*/, std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const override {
    return {};
  }
  /// Forward creates the convolution's output, and the states and products of the chunks. Backward
  /// also creates the gradients of these tensors.
  double scratch_items(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    const Sizes n = sizes(output);
    const double forward = n.convolved + 3 * n.states + n.products;
    if (pass == Pass::forward) return forward;
    return pass == Pass::backward_data ? 2 * forward : 0;
  }
  /// Returns the operation for the heads and groups of the slice.
  Local local(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    Settings settings = s_;
    settings.heads = std::max<std::int64_t>(1, output.channels / s_.head_size);
    settings.groups = groups_of(output);
    return {.operation = std::make_shared<Mamba2>(settings), .inputs = {inputs.begin(), inputs.end()}};
  }
  double macs(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    const Sizes n = sizes(output);
    return (n.convolution + n.products_flops + n.inside + 2 * n.through) / 2;
  }

 private:
  /// Sizes of one sample: FLOPs, and elements in the precision of activations.
  struct Sizes {
    double x;               ///< elements of the values x; equals the elements of the gate and of the result
    double b;               ///< elements of B; equals the elements of C
    double convolved;       ///< elements of x, B and C together
    double steps;           ///< elements of the step sizes: one for each head and token
    double decays;          ///< fp32 elements of the step sizes and their sums
    double states;          ///< elements of the states of the chunks
    double products;        ///< fp32 elements of C·Bᵀ inside the chunks
    double convolution;     ///< FLOPs of the convolution
    double products_flops;  ///< FLOPs of C·Bᵀ
    double inside;          ///< FLOPs of C·Bᵀ times the values; half of C·Bᵀ is masked
    double through;         ///< FLOPs of values times B, whose results are states; equals the FLOPs of C times states
  };
  [[nodiscard]] Sizes sizes(const TensorShape& output) const {
    const double tokens = real(output.extent[0]);
    const double chunk = std::min(real(s_.chunk), tokens);
    const double groups = real(groups_of(output));
    const double x = items(output);
    const double b = tokens * groups * real(s_.state);
    const double steps = tokens * real(output.channels) / real(s_.head_size);
    const double convolved = x + 2 * b;
    return {.x = x,
            .b = b,
            .convolved = convolved,
            .steps = steps,
            .decays = 4 * steps,
            .states = std::ceil(tokens / chunk) * real(output.channels) * real(s_.state),
            .products = 2 * tokens * chunk * groups,
            .convolution = 2 * real(s_.kernel) * convolved,
            .products_flops = 2 * chunk * b,
            .inside = chunk * x,
            .through = 2 * real(s_.state) * x};
  }
  /// Returns a kernel that computes products in chunks.
  [[nodiscard]] static Work chunks(double flops, double items) {
    return {.flops = flops, .activation_items = items, .kind = KernelKind::chunk_scan};
  }
  /// Returns the kernels that backward recomputes: the convolution, and the states before each chunk.
  [[nodiscard]] static std::vector<Work> until_states(const Sizes& n) {
    return {{.flops = n.convolution + (sigmoid_flops + 1) * n.convolved, .activation_items = 2 * n.convolved},
            {.flops = 2 * transcendental_flops * n.steps, .activation_items = n.steps + n.decays},
            chunks(n.through, n.x + n.b + n.decays + 2 * n.states),
            {.flops = 2 * n.states, .activation_items = 3 * n.states},
            chunks(n.products_flops, 2 * n.b + n.products)};
  }
  /// Returns the number of groups that belong to the heads of `output`.
  [[nodiscard]] std::int64_t groups_of(const TensorShape& output) const {
    return std::max<std::int64_t>(1, s_.groups * (output.channels / s_.head_size) / s_.heads);
  }

  Settings s_;
};

}  // namespace

std::shared_ptr<const Operation> read_mamba2(const Attributes& attributes) {
  Mamba2::Settings settings;
  settings.heads = attributes.integer("heads");
  settings.head_size = attributes.integer("head_size");
  settings.state = attributes.integer("state");
  settings.groups = attributes.find_integer("groups").value_or(1);
  settings.kernel = attributes.find_integer("kernel").value_or(4);
  settings.chunk = attributes.find_integer("chunk").value_or(128);
  settings.norm = attributes.find_boolean("norm").value_or(true);
  if (settings.heads % settings.groups != 0) {
    attributes.fail("groups", fmt::format("{} heads do not divide into {} groups", settings.heads, settings.groups));
  }
  return std::make_shared<Mamba2>(settings);
}

}  // namespace ddl
