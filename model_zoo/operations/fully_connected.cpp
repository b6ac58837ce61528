#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// The names of the matrices of queries, keys and values [Hugging Face, transformers, modeling_llama.py, LlamaAttention].
constexpr std::array<std::string_view, 3> module_names{"q_proj", "k_proj", "v_proj"};
constexpr unsigned every_module = (1U << module_names.size()) - 1;
constexpr std::int64_t all_modules = module_names.size();

/// Returns the two factors of a side of a matrix that are closest to each other, the smaller first, as LoKr divides sides
/// [huggingface/peft, src/peft/tuners/lokr/layer.py, factorization].
std::pair<std::int64_t, std::int64_t> near_factors(std::int64_t side) {
  auto small = static_cast<std::int64_t>(std::sqrt(static_cast<double>(side)));
  while (small > 1 && side % small != 0) --small;
  return {small, side / small};
}

/// Returns the trained elements of adapters of one matrix. LoKr replaces a factor of the Kronecker product by two matrices
/// of the rank, if this has fewer elements [huggingface/peft, src/peft/tuners/lokr/layer.py, create_adapter_parameters].
std::int64_t adapter_items(AdapterKind kind, std::int64_t rank, std::int64_t from, std::int64_t to) {
  switch (kind) {
    case AdapterKind::lora:
      return rank * (from + to);
    case AdapterKind::dora:
      return rank * (from + to) + to;
    case AdapterKind::loha:
      return 2 * rank * (from + to);
    case AdapterKind::lokr: {
      const auto [few_rows, rows] = near_factors(to);
      const auto [few_columns, columns] = near_factors(from);
      const bool is_divided = 2 * rank < std::max(rows, columns);
      return few_rows * few_columns + (is_divided ? rank * (rows + columns) : rows * columns);
    }
  }
  return 0;
}

/// A matrix product with the channels of a flat vector, or of each token of a sequence. With experts, the tokens are grouped
/// by expert, as `dispatch` arranges them. Groups are assumed to have equal lengths, and each group is multiplied by its own
/// matrix. With an adapter of rank r, the layer computes W·x + B·(A·x). W is frozen. A, with r rows, and B, with r columns,
/// are trained [Hu et al., "LoRA: low-rank adaptation of large language models", ICLR 2022, section 4.1]. A layer that joins
/// the matrices of queries, keys and values has an adapter for each of them, as the models of Hugging Face's transformers
/// have a module for each of them [Hugging Face, PEFT, peft/tuners/lora/layer.py].
class FullyConnected final : public Operation {
 public:
  struct Sizes {
    std::int64_t features = 0, experts = 1;
    std::int64_t keys = 0;     ///< channels of keys, and of values, that follow the queries; 0: a single matrix
    std::int64_t adapter = 0;  ///< the rank of adapters; 0: no adapter
    unsigned adapted = 0;      ///< bits of the modules with adapters; 0: one adapter for the whole matrix
    bool drops = false;        ///< each adapter has a dropout before its first matrix
    AdapterKind kind = AdapterKind::lora;
  };
  FullyConnected(const Sizes& sizes, bool bias, std::string tied)
      : features_(sizes.features),
        experts_(sizes.experts),
        adapter_(sizes.adapter),
        sizes_(sizes),
        bias_(bias),
        tied_(std::move(tied)) {}

  std::string_view type() const override { return "fully_connected"; }
  std::string_view short_name() const override { return "fc"; }
  AttributeValues attribute_values() const override {
    AttributeValues values{{"features", features_}};
    if (experts_ > 1) values.add("experts", experts_);
    if (!bias_) values.add("bias", false);
    if (!tied_.empty()) values.add("tied", tied_);
    values.add(adapter_values());
    return values;
  }
  AttributeValues lasting_values() const override {
    AttributeValues values{{"experts", experts_}, {"bias", bias_}};
    values.add(adapter_values());
    return values;
  }

  TensorShape infer(std::span<const TensorShape> inputs) const override {
    TensorShape output = only_input(inputs, type());
    if (output.rank > 0 && !output.sequence) {
      throw Error(fmt::format("fully_connected needs a flat vector or a sequence, not {}", to_string(output)),
                  "put '- flatten' before it");
    }
    static_cast<void>(item_count("the matrix", {output.channels, features_, experts_}));
    static_cast<void>(
        item_count("the adapter", {std::max(output.channels, features_), 2 * adapter_ * all_modules, experts_}));
    output.channels = features_;
    return checked(output);
  }

  std::int64_t weights(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const std::int64_t own = tied_.empty() ? experts_ * inputs.front().channels * output.channels : 0;
    std::int64_t of_adapters = 0;
    for (const std::int64_t each : adapted(output.channels))
      of_adapters += adapter_items(sizes_.kind, adapter_, inputs.front().channels, each);
    return own + experts_ * of_adapters;
  }
  std::int64_t frozen(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const bool own = adapter_ > 0 && tied_.empty();
    return (own ? experts_ * inputs.front().channels * output.channels : 0) + (adapter_ > 0 ? biases(inputs, output) : 0);
  }
  std::int64_t biases(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    return bias_ ? experts_ * output.channels : 0;
  }
  SharedTable shared_table(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return {.owner = "embedding", .rows = output.channels, .columns = inputs.front().channels};
  }

  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    std::vector<Work> all = kernels(pass, inputs, output);
    Work work = all.front();
    for (std::size_t i = 1; i < all.size(); ++i) {
      if (all[i].is_separate) continue;
      work.flops += all[i].flops;
      work.activation_items += all[i].activation_items;
      work.weight_items += all[i].weight_items;
    }
    return work;
  }
  std::vector<Work> kernels(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    if (adapter_ == 0 || pass == Pass::update) {
      std::vector<Work> kernels{matrix(pass, inputs, output)};
      const Work bias = bias_ ? bias_work(pass, items(output), Work::Bias::linear) : Work{};
      if (bias.is_any()) kernels.push_back(bias);
      return kernels;
    }
    std::vector<Work> all;
    if (pass != Pass::backward_weight) all.push_back(matrix(pass, inputs, output));
    for (const std::int64_t channels : adapted(output.channels)) {
      const double out = real(channels);
      if (multiplies_whole(sizes_.kind)) {
        add_whole(pass, inputs, output, out, all);
      } else {
        add_low_rank(pass, inputs, output, out, all);
      }
    }
    return all;
  }

  double depth(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output, double samples) const override {
    // The depths are log Cin, log Cout and log N [BH18, Table 4]. N is the number of tokens of a
    // sequence (with experts, the number of tokens of an expert).
    if (pass == Pass::forward) return reduction_depth({real(inputs.front().channels)});
    if (pass == Pass::backward_data) return reduction_depth({real(output.channels)});
    return reduction_depth({real(output.positions()) / real(experts_), samples});
  }

  Divisible divisible() const override { return {.matrix = true}; }
  std::int64_t experts() const override { return experts_; }
  std::shared_ptr<const Operation> with_experts(std::int64_t experts) const override {
    Sizes sizes = sizes_;
    sizes.experts = experts;
    return std::make_shared<FullyConnected>(sizes, bias_, tied_);
  }
  std::span<const std::string_view> modules() const override {
    return sizes_.keys > 0 ? std::span<const std::string_view>(module_names) : std::span<const std::string_view>();
  }
  double key_share() const override { return real(sizes_.keys) / real(features_); }
  std::shared_ptr<const Operation> with_adapter(const AdapterForm& form) const override {
    Sizes sizes = sizes_;
    sizes.adapter = form.rank;
    sizes.adapted = sizes.keys > 0 ? form.adapted : 0;
    sizes.kind = form.kind;
    sizes.drops = form.drops && !multiplies_whole(form.kind);
    return std::make_shared<FullyConnected>(sizes, bias_, tied_);
  }
  int adapters() const override { return static_cast<int>(adapted(features_).size()); }
  AdapterKind adapter_kind() const override { return sizes_.kind; }
  WholeMatrices whole_matrices(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    if (adapter_ == 0 || sizes_.kind == AdapterKind::lora) return {};
    WholeMatrices whole{.columns = real(inputs.front().channels)};
    for (const std::int64_t each : adapted(output.channels)) {
      const double items = real(experts_) * whole.columns * real(each);
      whole.all += items;
      whole.largest = std::max(whole.largest, items);
      whole.outputs += real(output.positions()) * real(each);
    }
    return whole;
  }
  bool drops_adapter_inputs() const override { return adapter_ > 0 && sizes_.drops; }
  /// With dropout, each adapter keeps a mask and its own input, which the framework adds in its precision [Hugging Face,
  /// PEFT, peft/tuners/lora/layer.py: `lora_B(lora_A(dropout(x)))`]. The frozen matrix does not need the input. DoRA keeps
  /// the results of the matrix and of the adapter, which it scales [peft/tuners/lora/dora.py, forward].
  Kept kept(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const double masks = drops_adapter_inputs() ? real(inputs.front().items()) * adapters() : 0;
    const double of_rank = multiplies_whole(sizes_.kind) ? 0 : real(output.positions()) * real(adapter_) * adapters();
    const double scaled = sizes_.kind == AdapterKind::dora ? 2 * whole_matrices(inputs, output).outputs : 0;
    return {.input = !drops_adapter_inputs(), .mask_items = masks, .extra_items = of_rank + scaled, .noise_items = masks};
  }
  /// Returns an operation outside of a model, which has weights of its own.
  Local local(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    Sizes sizes = sizes_;
    sizes.features = output.channels;
    sizes.keys = share_of(sizes_.keys, output.channels);
    return {.operation = std::make_shared<FullyConnected>(sizes, bias_, ""), .inputs = {inputs.begin(), inputs.end()}};
  }
  double macs(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const double from = real(inputs.front().channels);
    double of_adapters = 0;
    for (const std::int64_t each : adapted(output.channels))
      of_adapters += multiplies_whole(sizes_.kind) ? from * real(each) : real(adapter_) * (from + real(each));
    return from * items(output) + real(output.positions()) * of_adapters;
  }

 private:
  /// Whether the input is multiplied by a matrix that adapters compute first.
  static bool multiplies_whole(AdapterKind kind) { return kind == AdapterKind::loha || kind == AdapterKind::lokr; }
  /// A kernel that moves `channels` elements of each position `tensors` times.
  static Work moved(const TensorShape& output, double channels, double tensors) {
    const double items = real(output.positions()) * channels;
    return {.flops = items, .activation_items = tensors * items};
  }
  /// The kernels that compute matrices from the weights of adapters, and move their elements `tensors` times.
  [[nodiscard]] Work moved_matrix(double from, double out, double tensors) const {
    return {.weight_items = tensors * real(experts_) * from * out, .kind = KernelKind::elementwise};
  }

  /// Adds the kernels of an adapter with two matrices of low rank. Every addition and scaling is a separate kernel, as in
  /// frameworks [Hugging Face, PEFT, peft/tuners/lora/layer.py; NVIDIA, Megatron-Bridge, peft/lora_layers.py].
  void add_low_rank(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output, double out,
                    std::vector<Work>& all) const {
    const double from = real(inputs.front().channels), rank = real(adapter_);
    const double positions = real(output.positions());
    const bool has_norm = sizes_.kind == AdapterKind::dora;
    // The products of an adapter are the input times A, the result times B, and the gradients of both.
    const Work down = product(positions, rank, from, Pass::forward), up = product(positions, out, rank, Pass::forward);
    if (pass == Pass::forward) {
      all.insert(all.end(), {down, up, moved(output, out, 2), moved(output, out, 3)});
      if (!has_norm) return;
      // BA is computed as the adapter's result for a unit matrix, scaled, and added to W, whose norm is taken. Both results
      // are scaled and added.
      constexpr double of_matrix = 7, of_unit = 2, of_results = 7;
      all.push_back(moved_matrix(from, out, of_matrix));
      all.push_back(moved_matrix(from, from, of_unit));
      all.push_back(moved(output, out, of_results));
    } else if (pass == Pass::backward_data) {
      all.insert(all.end(), {product(positions, from, rank, Pass::backward_data), moved(output, from, 3)});
    } else {
      all.insert(all.end(), {product(positions, out, rank, Pass::backward_weight), moved(output, out, 2),
                             product(positions, rank, out, Pass::backward_data),
                             product(positions, rank, from, Pass::backward_weight)});
      constexpr double of_gradients = 8;
      if (has_norm) all.push_back(moved(output, out, of_gradients));
    }
  }

  /// Adds the kernels of an adapter that first computes a matrix of the size of W: LoHa two products and their product, LoKr
  /// a Kronecker product, each scaled [huggingface/peft, tuners/lycoris_utils.py, loha/layer.py and lokr/layer.py].
  void add_whole(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output, double out,
                 std::vector<Work>& all) const {
    const double from = real(inputs.front().channels), positions = real(output.positions());
    const bool is_product = sizes_.kind == AdapterKind::loha;
    if (pass == Pass::forward) {
      all.insert(all.end(), {moved_matrix(from, out, is_product ? 7 : 3), product(positions, out, from, Pass::forward),
                             moved(output, out, 3)});
    } else if (pass == Pass::backward_data) {
      all.insert(all.end(), {product(positions, from, out, Pass::backward_data), moved(output, from, 3)});
    } else {
      all.insert(all.end(),
                 {product(positions, out, from, Pass::backward_weight), moved_matrix(from, out, is_product ? 12 : 5)});
    }
  }

  /// The attributes of a layer with adapters. Without adapters, it does not matter whether a matrix joins others.
  [[nodiscard]] AttributeValues adapter_values() const {
    AttributeValues values;
    if (adapter_ == 0) return values;
    values.add("adapter", adapter_);
    if (sizes_.kind != AdapterKind::lora) values.add("kind", std::string(to_string(sizes_.kind)));
    if (sizes_.drops) values.add("drops", true);
    if (sizes_.adapted == 0) return values;
    values.add("keys", sizes_.keys);
    if (sizes_.adapted != every_module) values.add("adapted", std::int64_t{sizes_.adapted});
    return values;
  }
  /// Scales a number `part` of the layer's output channels to a slice that has `channels` output channels.
  [[nodiscard]] std::int64_t share_of(std::int64_t part, std::int64_t channels) const {
    return channels == features_ ? part : std::llround(real(part) * (real(channels) / real(features_)));
  }
  /// Returns the output channels of each matrix with an adapter, in a slice with `channels` output channels.
  [[nodiscard]] std::vector<std::int64_t> adapted(std::int64_t channels) const {
    if (adapter_ == 0) return {};
    if (sizes_.adapted == 0) return {channels};
    const std::int64_t keys = share_of(sizes_.keys, channels);
    const std::array<std::int64_t, module_names.size()> all{channels - 2 * keys, keys, keys};
    std::vector<std::int64_t> of_adapters;
    for (std::size_t module = 0; module < all.size(); ++module) {
      if ((sizes_.adapted & (1U << module)) != 0) of_adapters.push_back(all[module]);
    }
    return of_adapters;
  }

  /// Returns the product of all positions with a matrix of k×n weights. The pass is forward, the gradient of the input, or
  /// the gradient of the weights.
  [[nodiscard]] Work product(double positions, double n, double k, Pass pass) const {
    const double own = positions / real(experts_);
    Work work{.flops = 2 * positions * n * k,
              .activation_items = positions * (n + k),
              .weight_items = real(experts_) * n * k,
              .m = own,
              .n = n,
              .k = k,
              .count = real(experts_)};
    if (pass != Pass::backward_weight) return work;
    work.m = n;
    work.n = k;
    work.k = own;
    work.batched = Work::Batched::k;
    return work;
  }
  /// Returns the product with the layer's own matrix.
  [[nodiscard]] Work matrix(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const {
    if (pass == Pass::update) return {};
    const double from = real(inputs.front().channels);
    const double to = real(output.channels);
    const double positions = real(output.positions()) / real(experts_);
    Work work{.flops = 2 * from * items(output),
              .activation_items = items(inputs.front()) + items(output),
              .weight_items = real(experts_) * from * to + real(biases(inputs, output))};
    if (pass == Pass::forward) {
      work.m = positions;
      work.n = to;
      work.k = from;
    } else if (pass == Pass::backward_data) {
      work.m = positions;
      work.n = from;
      work.k = to;
    } else {
      work.m = to;
      work.n = from;
      work.k = positions;
      work.batched = Work::Batched::k;
    }
    work.count = real(experts_);
    return work;
  }

  std::int64_t features_, experts_, adapter_;
  Sizes sizes_;
  bool bias_;
  std::string tied_;
};

}  // namespace

std::shared_ptr<const Operation> read_fully_connected(const Attributes& attributes) {
  const std::int64_t experts = attributes.find_integer("experts").value_or(1);
  if (experts > 1 && !attributes.input().sequence) {
    attributes.fail("experts", fmt::format("experts need the tokens of a sequence, not {}", to_string(attributes.input())));
  }
  if (experts > 1 && attributes.has("tied")) attributes.fail("tied", "experts cannot share the weights of an embedding");
  FullyConnected::Sizes sizes{.features = attributes.integer("features"),
                              .experts = experts,
                              .keys = attributes.find_integer("keys", 0).value_or(0),
                              .adapter = attributes.find_integer("adapter").value_or(0)};
  if (sizes.keys >= sizes.features - sizes.keys) {
    attributes.fail("keys", fmt::format("{} features leave no queries before {} of keys and as many of values",
                                        sizes.features, sizes.keys));
  }
  sizes.drops = attributes.find_boolean("drops").value_or(false);
  if (const auto kind = attributes.find_text("kind")) {
    const auto known = parse_enum<AdapterKind>(*kind);
    if (!known) attributes.fail("kind", "the kinds of adapters are lora, dora, loha and lokr");
    sizes.kind = *known;
  }
  const std::int64_t adapted = attributes.find_integer("adapted", 0, every_module).value_or(every_module);
  if (sizes.keys > 0) sizes.adapted = static_cast<unsigned>(adapted);
  return std::make_shared<FullyConnected>(sizes, attributes.find_boolean("bias").value_or(true),
                                          attributes.find_text("tied").value_or(""));
}

}  // namespace ddl
