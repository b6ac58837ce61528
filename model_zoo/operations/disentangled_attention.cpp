#include <algorithm>

#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {

OperationReader read_attention;

namespace {

/// Attention with separate vectors of content and of relative position [He et al., "DeBERTa: decoding-enhanced BERT with
/// disentangled attention", ICLR 2021, section 3.1; He, Gao and Chen, "DeBERTaV3", ICLR 2023]. In addition to the products
/// of queries and keys, each score has one or two terms: the product of the query with the key of the relative position, and
/// of the key with the query of the relative position. Keys and queries of `positions` relative positions are made from a
/// table that all layers share, by matrices of the layer's own or by the matrices of its keys and queries.
///
/// Kernels are those of Hugging Face's transformers 5.24 (models/deberta_v2, models/deberta), which write all scores. A term
/// multiplies each token with all positions, and then gathers the position of each pair. The products of the table run once
/// for a batch. Their traffic is included, and their FLOPs are left out.
class DisentangledAttention final : public Operation {
 public:
  struct Settings {
    std::int64_t heads = 1, head_size = 1, positions = 1;
    std::int64_t terms = 2;                        ///< terms of a score in addition to the product of query and key
    std::int64_t features = 1;                     ///< channels of the table
    std::int64_t matrices = 0, matrix_biases = 0;  ///< the layer's own matrices for positions, and how many have a bias
    std::int64_t biases = 0;                       ///< biases per channel that are added to queries and values
    bool table = false, norm = false;              ///< whether the layer owns the table, and the norm of its rows
    bool nearest = false;  ///< whether it uses only the positions that two tokens of a sample can have [models/deberta]
  };
  DisentangledAttention(const Settings& settings, std::shared_ptr<const Operation> content)
      : s_(settings), content_(std::move(content)) {}

  std::string_view type() const override { return "disentangled_attention"; }
  AttributeValues attribute_values() const override {
    AttributeValues values = content_->attribute_values();
    values.add("positions", s_.positions);
    values.add("terms", s_.terms);
    values.add("features", s_.features);
    if (s_.matrices > 0) values.add("matrices", s_.matrices);
    if (s_.matrix_biases > 0) values.add("matrix_biases", s_.matrix_biases);
    if (s_.biases > 0) values.add("biases", s_.biases);
    if (s_.table) values.add("table", true);
    if (s_.norm) values.add("norm", true);
    if (s_.nearest) values.add("nearest", true);
    return values;
  }
  AttributeValues lasting_values() const override {
    AttributeValues values = content_->lasting_values();
    values.add("positions", s_.positions);
    values.add("terms", s_.terms);
    if (s_.nearest) values.add("nearest", true);
    return values;
  }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    const TensorShape output = content_->infer(inputs);
    static_cast<void>(item_count("the products with positions", {output.extent[0], s_.heads, s_.positions}));
    static_cast<void>(item_count("the table", {s_.positions, s_.features}));
    static_cast<void>(item_count("the matrices of positions", {output.channels, s_.features, s_.matrices}));
    return output;
  }
  std::int64_t biases(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const std::int64_t of_channel = s_.matrices * s_.features + s_.matrix_biases + s_.biases;
    const std::int64_t of_table = (s_.table ? s_.positions : 0) + (s_.norm ? 2 : 0);
    return content_->biases(inputs, output) + of_channel * output.channels + of_table * s_.features;
  }
  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    Work work = content_->work(pass, inputs, output);
    for (const Work& term : terms(pass, output)) {
      work.flops += term.flops;
      work.activation_items += term.activation_items;
      work.weight_items += term.weight_items;
    }
    return work;
  }
  std::vector<Work> kernels(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    std::vector<Work> all = content_->kernels(pass, inputs, output);
    const std::vector<Work> more = terms(pass, output);
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  double depth(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output, double samples) const override {
    // A term is a sum over the channels of a head, like the product of queries and keys. The gradient of a position is a sum
    // over samples and tokens, and over the channels of its matrix.
    if (pass == Pass::backward_weight) return reduction_depth({samples, real(output.extent[0]), real(output.channels)});
    return content_->depth(pass, inputs, output, samples) + reduction_depth({1.0 + real(s_.terms)});
  }
  bool is_attention() const override { return true; }
  Divisible divisible() const override { return content_->divisible(); }
  /// In addition to what attention keeps, backward needs the keys and queries of all positions for each sample.
  Kept kept(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    Kept kept = content_->kept(inputs, output);
    kept.extra_items += real(s_.terms) * used(output) * real(output.channels);
    return kept;
  }
  Inner inner(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    Inner inner = content_->inner(pass, inputs, output);
    // Of each term, the gathered products and their scaled copy are intermediate tensors.
    if (inner.tensors > 0) inner.tensors += static_cast<int>(2 * s_.terms);
    return inner;
  }
  double scratch_items(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const double own = content_->scratch_items(pass, inputs, output);
    return own > 0 ? own + products(output) + scores(output) : 0;
  }
  Local local(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    Local local = content_->local(inputs, output);
    Settings settings = s_;
    settings.heads = std::max<std::int64_t>(1, output.channels / s_.head_size);
    local.operation = std::make_shared<DisentangledAttention>(settings, local.operation ? local.operation : content_);
    return local;
  }
  double macs(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return content_->macs(inputs, output) + real(s_.terms) * used(output) * items(output);
  }

 private:
  [[nodiscard]] double heads_of(const TensorShape& output) const {
    return std::max(1.0, real(output.channels) / real(s_.head_size));
  }
  /// Returns the number of relative positions with which each token is multiplied.
  [[nodiscard]] double used(const TensorShape& output) const {
    return s_.nearest ? std::min(real(s_.positions), 2 * real(output.extent[0])) : real(s_.positions);
  }
  /// Returns the products of each token with these positions.
  [[nodiscard]] double products(const TensorShape& output) const {
    return heads_of(output) * real(output.extent[0]) * used(output);
  }
  [[nodiscard]] double scores(const TensorShape& output) const {
    return heads_of(output) * real(output.extent[0]) * real(output.extent[0]);
  }
  /// Returns the kernels of the terms, in addition to those of attention.
  [[nodiscard]] std::vector<Work> terms(Pass pass, const TensorShape& output) const {
    const double heads = heads_of(output), tokens = real(output.extent[0]), channels = real(output.channels);
    const double head = channels / heads, positions = used(output), pairs = scores(output);
    const auto product = [&](double m, double n, double k) {
      return Work{.flops = 2 * m * n * k * heads,
                  .activation_items = heads * (m * n + m * k + n * k),
                  .m = m,
                  .n = n,
                  .k = k,
                  .batched = Work::Batched::count,
                  .count = heads};
    };
    const auto moved = [](double flops, double elements) { return Work{.flops = flops, .activation_items = elements}; };
    const Work table{.weight_items = real(s_.features) * channels + positions * (real(s_.features) + channels)};
    std::vector<Work> all;
    if (pass == Pass::update) return all;
    for (std::int64_t term = 0; term < s_.terms; ++term) {
      if (pass == Pass::forward) {
        // Keys or queries of the positions are copied for each sample. Their products are gathered, scaled and added.
        all.insert(all.end(), {table, moved(0, positions * channels), product(tokens, positions, head), moved(0, 2 * pairs),
                               moved(pairs, 2 * pairs), moved(pairs, 3 * pairs)});
      } else if (pass == Pass::backward_data) {
        // The gradient of a gathered product is added to a tensor of zeros.
        all.insert(all.end(), {moved(pairs, 2 * pairs), moved(0, products(output)), moved(pairs, 3 * pairs),
                               product(tokens, head, positions)});
      } else {
        all.insert(all.end(), {product(positions, head, tokens), table});
      }
    }
    return all;
  }

  Settings s_;
  std::shared_ptr<const Operation> content_;
};

}  // namespace

std::shared_ptr<const Operation> read_disentangled_attention(const Attributes& attributes) {
  DisentangledAttention::Settings settings;
  settings.heads = attributes.integer("heads");
  settings.head_size = std::max<std::int64_t>(1, attributes.input().channels / 3 / settings.heads);
  settings.positions = attributes.integer("positions");
  settings.terms = attributes.find_integer("terms", 0, 2).value_or(2);
  settings.features =
      attributes.find_integer("features").value_or(std::max<std::int64_t>(1, attributes.input().channels / 3));
  settings.matrices = attributes.find_integer("matrices", 0, 2).value_or(0);
  settings.matrix_biases = attributes.find_integer("matrix_biases", 0, 2).value_or(0);
  settings.biases = attributes.find_integer("biases", 0, 3).value_or(0);
  settings.table = attributes.find_boolean("table").value_or(false);
  settings.norm = attributes.find_boolean("norm").value_or(false);
  settings.nearest = attributes.find_boolean("nearest").value_or(false);
  return std::make_shared<DisentangledAttention>(settings, read_attention(attributes));
}

}  // namespace ddl
