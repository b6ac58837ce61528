#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/function_flops.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// The mixer of Mamba between its projections [Gu and Dao, "Mamba: linear-time sequence modeling with selective state
/// spaces", arXiv 2312.00752, section 3 and appendix D]. It reads the concatenation of values x and a gate z. A causal
/// convolution per channel is applied to x. One matrix makes, of each token, a compressed step size and the vectors B and C
/// of each head; a second matrix expands the step size to all channels. Each channel adds its x, times B, to a state of
/// `state` numbers that decays from token to token, and reads the state with C. The result is gated by z.
///
/// Kernels, and the tensors that backward keeps and recomputes, are those of state-spaces/mamba
/// (mamba_ssm/ops/selective_scan_interface.py, MambaInnerFn): backward recomputes the convolution and the step sizes.
/// Trained norms of step size, B and C, as in Jamba, need separate operators, which keep both tensors (SelectiveScanFn;
/// Hugging Face's transformers, models/jamba). The scan does not use matrix units.
class Mamba1 final : public Operation {
 public:
  enum class Norms { none, plain, trained };
  static constexpr std::array<std::string_view, 3> norms_names{"no", "plain", "trained"};
  struct Settings {
    std::int64_t state = 16;
    std::int64_t rank = 1;   ///< channels of the compressed step size
    std::int64_t heads = 1;  ///< heads with their own B and C
    std::int64_t head_size = 1;
    std::int64_t kernel = 4;
    bool bias = true;  ///< whether the convolution has a bias
    Norms norms = Norms::none;
  };
  explicit Mamba1(const Settings& settings) : s_(settings) {}

  std::string_view type() const override { return "mamba1"; }
  AttributeValues attribute_values() const override {
    AttributeValues values = lasting_values();
    if (s_.heads > 1) values.add("heads", s_.heads);
    return values;
  }
  AttributeValues lasting_values() const override {
    AttributeValues values{{"state", s_.state}, {"rank", s_.rank}, {"kernel", s_.kernel}};
    if (!s_.bias) values.add("bias", false);
    if (s_.norms != Norms::none) values.add("norms", norms_names[static_cast<std::size_t>(s_.norms)]);
    return values;
  }

  TensorShape infer(std::span<const TensorShape> inputs) const override {
    TensorShape output = only_input(inputs, type());
    if (!output.sequence) throw Error(fmt::format("mamba1 needs a sequence, not {}", to_string(output)));
    if (output.channels % (2 * s_.heads) != 0 || (s_.heads > 1 && output.channels != 2 * s_.heads * s_.head_size)) {
      throw Error(fmt::format("{} channels are not values and a gate of {} heads", output.channels, s_.heads),
                  "mamba1 must read a fully_connected layer with twice its channels");
    }
    output.channels /= 2;
    static_cast<void>(item_count("the matrix", {output.channels, s_.rank + 2 * s_.state}));
    static_cast<void>(item_count("the convolution", {output.channels, s_.kernel}));
    static_cast<void>(item_count("the states", {output.extent[0], output.channels, s_.state}));
    static_cast<void>(item_count("the vectors", {output.extent[0], s_.heads, s_.rank + 2 * s_.state}));
    return checked(output);
  }

  /// The biases are all parameters: of the convolution, of both matrices, a decay of each number of the states, the share of
  /// x that bypasses the state, the biases of the step sizes, and the scales of the norms.
  std::int64_t biases(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    const std::int64_t of_channel = s_.kernel + (s_.bias ? 1 : 0) + (s_.rank + 2 * s_.state) + s_.rank + s_.state + 2;
    return of_channel * output.channels + (s_.norms == Norms::trained ? s_.rank + 2 * s_.state : 0);
  }

  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return sum_of(kernels(pass, inputs, output));
  }
  std::vector<Work> kernels(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    const Sizes n = sizes(output);
    std::vector<Work> all;
    switch (pass) {
      case Pass::forward:
        all = {convolved(n), product_of(n, n.tokens, numbers(), n.of_head, Work::Batched::m)};
        add_norms(all, n, 2);
        all.push_back(product_of(n, n.tokens, n.of_head, real(s_.rank), Work::Batched::m));
        all.push_back(scan(n));
        break;
      case Pass::backward_data:
        if (!is_separate()) all = {convolved(n), product_of(n, n.tokens, n.of_head, real(s_.rank), Work::Batched::m)};
        // Backward scans the states again, and then from the last token to the first. It reads x, z, step sizes and the
        // output's gradient, and writes the gated result and three gradients. Gradients of B and C are summed in fp32.
        all.push_back({.flops = n.scan_back, .activation_items = 8 * n.x + 6 * n.b});
        all.push_back(product_of(n, n.tokens, real(s_.rank), n.of_head, Work::Batched::m));
        add_norms(all, n, 4);
        all.push_back(product_of(n, n.tokens, n.of_head, numbers(), Work::Batched::m));
        all.push_back({.flops = 2 * n.convolution + (sigmoid_flops + 4) * n.x, .activation_items = 3 * n.x});
        break;
      case Pass::backward_weight:
        all = {product_of(n, n.of_head, real(s_.rank), n.tokens, Work::Batched::k),
               product_of(n, numbers(), n.of_head, n.tokens, Work::Batched::k),
               // The other gradients of parameters are computed by the kernels of backward_data.
               {.flops = n.convolution + 2 * n.states, .weight_items = n.channels * real(s_.state + s_.kernel + 3)}};
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
    // The window, the two matrices, a prefix sum over the tokens, and the sum over a state.
    return reduction_depth({real(s_.kernel)}) + reduction_depth({real(output.channels)}) + reduction_depth({real(s_.rank)}) +
           reduction_depth({tokens}) + reduction_depth({real(s_.state)});
  }

  /// With a split of the channels, step size, B and C are sums over all ranks. This exchange of rank + 2 · state numbers of
  /// a token is left out.
  Divisible divisible() const override { return {.channelwise = true, .channel_units = s_.heads > 1 ? s_.heads : 0}; }
  /// Backward needs the output of the projection, step size, B and C, and a state of every 2,048 tokens in fp32. Fused, it
  /// needs the result before its gate in place of the gated result, which the next layer counts as its input. Separate
  /// operators keep both, the convolution's output and the expanded step sizes.
  Kept kept(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    const Sizes n = sizes(output);
    constexpr double chunk = 2048;  // tokens of a block of the scan (csrc/selective_scan/selective_scan.cpp)
    const double norms = s_.norms == Norms::none ? 0 : 3 * n.tokens * real(heads_of(output));
    return {.input = true,
            .extra_items = (is_separate() ? 3 * n.x + n.vectors : 0) + n.vectors + 2 * n.b,
            .statistics = 2 * std::ceil(n.tokens / chunk) * n.channels * real(s_.state) + norms};
  }
  /// Unfused operators are not modeled, so there are no intermediate tensors.
  Inner inner(Pass /*pass*/, std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const override {
    return {};
  }
  /// Fused forward creates the convolution's output and the step sizes. Backward also creates their gradients.
  double scratch_items(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    const Sizes n = sizes(output);
    if (pass == Pass::forward) return is_separate() ? 0 : 2 * n.x;
    return pass == Pass::backward_data ? (is_separate() ? 2 : 4) * n.x + 4 * n.b : 0;
  }
  Local local(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    if (s_.heads == 1) return {.operation = nullptr, .inputs = {inputs.begin(), inputs.end()}};
    Settings settings = s_;
    settings.heads = heads_of(output);
    return {.operation = std::make_shared<Mamba1>(settings), .inputs = {inputs.begin(), inputs.end()}};
  }
  double macs(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    const Sizes n = sizes(output);
    return n.convolution / 2 + n.x * real(2 * s_.rank + 2 * s_.state) + 2 * n.states;
  }

 private:
  // The scan is limited by the instructions that a multiprocessor issues, few of which are multiply-adds. Each counts as two
  // FLOPs. For a number of a state, forward has about 17 instructions: loads and conversions of B and C, the exponential
  // with its product, the product with B, two passes of the block's scan, and the product with C. Backward has about 47: it
  // scans again, scans the gradients, and sums them to six tensors, those of B and C by atomics (csrc/selective_scan). With
  // these numbers, the step of a Mamba with 1.4 billion parameters, 16,384 tokens and one A100 takes 1.25 s; 1.19 and 1.37 s
  // were measured [fla-org/flash-linear-attention#32].
  static constexpr double forward_flops = 34, backward_flops = 94;
  /// The FLOPs of the softplus of a step and of the gate.
  static constexpr double function_flops = 2 * transcendental_flops + sigmoid_flops + 5;

  /// Sizes of one sample: elements in the precision of activations, and FLOPs.
  struct Sizes {
    double tokens, channels, heads;
    double of_head;      ///< channels of a head
    double x;            ///< elements of x; equals the elements of the gate, the step sizes and the result
    double b;            ///< elements of B; equals the elements of C
    double vectors;      ///< elements of the compressed step sizes, B and C
    double states;       ///< numbers of the states of all tokens, which are never written
    double convolution;  ///< FLOPs of the convolution
    double scan;         ///< FLOPs of the scan in forward
    double scan_back;    ///< FLOPs of the scans in backward
  };
  [[nodiscard]] Sizes sizes(const TensorShape& output) const {
    const double tokens = real(output.extent[0]);
    const double channels = real(output.channels);
    const double heads = real(heads_of(output));
    const double x = tokens * channels;
    const double states = x * real(s_.state);
    return {.tokens = tokens,
            .channels = channels,
            .heads = heads,
            .of_head = channels / heads,
            .x = x,
            .b = tokens * heads * real(s_.state),
            .vectors = tokens * heads * real(s_.rank + 2 * s_.state),
            .states = states,
            .convolution = 2 * real(s_.kernel) * x,
            .scan = forward_flops * states + function_flops * x,
            .scan_back = backward_flops * states + 2 * function_flops * x};
  }
  /// A rank with a slice of the channels of a single head has this head's B and C.
  [[nodiscard]] std::int64_t heads_of(const TensorShape& output) const {
    return s_.heads == 1 ? 1 : std::max<std::int64_t>(1, output.channels / s_.head_size);
  }
  [[nodiscard]] bool is_separate() const { return s_.norms == Norms::trained; }
  [[nodiscard]] static Work convolved(const Sizes& n) {
    return {.flops = n.convolution + (sigmoid_flops + 1) * n.x, .activation_items = 2 * n.x};
  }
  /// The scan reads x, step sizes, gate, B and C, and writes its result with and without the gate.
  [[nodiscard]] static Work scan(const Sizes& n) { return {.flops = n.scan, .activation_items = 5 * n.x + 2 * n.b}; }
  /// Adds the norms of step size, B and C. `passes`: reads and writes of each element.
  void add_norms(std::vector<Work>& all, const Sizes& n, double passes) const {
    if (s_.norms == Norms::none) return;
    for (const double of : {n.vectors - 2 * n.b, n.b, n.b})
      all.push_back({.flops = 2 * passes * of, .activation_items = passes * of, .kind = KernelKind::layer_norm});
  }
  /// Returns a product of m × k by k × n. The weights are the operand without the batched dimension.
  [[nodiscard]] static Work product(double m, double n, double k, Work::Batched batched) {
    const bool of_weights = batched == Work::Batched::k;
    return {.flops = 2 * m * n * k,
            .activation_items = of_weights ? (m + n) * k : m * (n + k),
            .weight_items = of_weights ? m * n : n * k,
            .m = m,
            .n = n,
            .k = k,
            .batched = batched};
  }

  /// Returns the products of all heads, each with matrices of its own. `m`, `columns`, `k`: sizes of one head's product.
  [[nodiscard]] static Work product_of(const Sizes& n, double m, double columns, double k, Work::Batched batched) {
    Work work = product(m, columns, k, batched);
    work.flops *= n.heads;
    work.activation_items *= n.heads;
    work.weight_items *= n.heads;
    work.count = n.heads;
    return work;
  }
  /// The numbers that a head makes of a token: its compressed step size, B and C.
  [[nodiscard]] double numbers() const { return real(s_.rank + 2 * s_.state); }

  Settings s_;
};

}  // namespace

std::shared_ptr<const Operation> read_mamba1(const Attributes& attributes) {
  Mamba1::Settings settings;
  settings.state = attributes.find_integer("state").value_or(16);
  settings.rank = attributes.integer("rank");
  settings.heads = attributes.find_integer("heads").value_or(1);
  settings.head_size = std::max<std::int64_t>(1, attributes.input().channels / 2 / settings.heads);
  settings.kernel = attributes.find_integer("kernel").value_or(4);
  settings.bias = attributes.find_boolean("bias").value_or(true);
  if (attributes.has("norms")) settings.norms = static_cast<Mamba1::Norms>(attributes.choice("norms", Mamba1::norms_names));
  return std::make_shared<Mamba1>(settings);
}

}  // namespace ddl
