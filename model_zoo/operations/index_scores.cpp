#include <algorithm>

#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Scores each token for the tokens after it, and selects the best: the indexer of sparse attention [DeepSeek-AI,
/// "DeepSeek-V3.2: pushing the frontier of open large language models", arXiv 2512.02556, equation 1]. It reads queries of
/// several heads, one key per token, and one weight per head and token. A score is the weighted sum over the heads of the
/// positive parts of products of queries and keys. The output has the scores of the selected tokens. These scores are
/// trained, and only they have gradients [equation 4].
class IndexScores final : public Operation {
 public:
  struct Settings {
    std::int64_t heads = 1, selected = 1;
    std::int64_t contexts = 1;  ///< number of context shards of the tokens; this rank has one shard
  };
  explicit IndexScores(const Settings& settings) : s_(settings) {}

  std::string_view type() const override { return "index_scores"; }
  AttributeValues attribute_values() const override {
    AttributeValues values{{"heads", s_.heads}, {"selected", s_.selected}};
    if (s_.contexts > 1) values.add("contexts", s_.contexts);
    return values;
  }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    if (inputs.size() != 3) {
      throw Error(fmt::format("index_scores takes three inputs, not {}", inputs.size()),
                  "name queries, keys and weights: 'from: [queries, keys, weights]'");
    }
    for (const TensorShape& input : inputs) {
      if (!input.sequence || input.extent[0] != inputs[0].extent[0]) {
        throw Error(fmt::format("index_scores needs sequences of one length, not {} and {}", to_string(inputs[0]),
                                to_string(input)));
      }
    }
    if (inputs[0].channels != s_.heads * inputs[1].channels || inputs[2].channels != s_.heads) {
      throw Error(fmt::format("{} channels of queries and {} weights do not fit {} heads with keys of {} channels",
                              inputs[0].channels, inputs[2].channels, s_.heads, inputs[1].channels));
    }
    TensorShape output = inputs[0];
    static_cast<void>(item_count("the scores", {s_.heads, output.extent[0], output.extent[0]}));
    output.channels = std::min(s_.selected, output.extent[0] * s_.contexts);
    return checked(output);
  }
  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return sum_of(kernels(pass, inputs, output));
  }
  std::vector<Work> kernels(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const double tokens = real(output.extent[0]), heads = real(s_.heads), size = real(inputs[1].channels);
    Work scores{
        .m = tokens, .k = size, .batched = Work::Batched::count, .count = heads, .kind = KernelKind::fused_attention};
    if (pass == Pass::forward) {
      // A head has one product, the positive part, and a multiply-add with its weight. Scores of 4 bytes count as two
      // elements.
      const double pairs = pairs_of(tokens, all_tokens(output));
      scores.flops = pairs * heads * (2 * size + 3);
      scores.activation_items = items(inputs) + 2 * pairs;
      scores.n = pairs / tokens;
      return {scores, {.flops = pairs, .activation_items = 2 * pairs + 2 * items(output)}};
    }
    if (pass == Pass::backward_data) {
      // The products of the selected pairs are recomputed. Each has a gradient of its query, of its key and of its weight.
      const double pairs = pairs_of(tokens, real(output.channels));
      scores.flops = pairs * heads * (6 * size + 4);
      scores.activation_items = 2 * items(inputs) + 2 * items(output);
      scores.n = pairs / tokens;
      return {scores};
    }
    return {};
  }
  double depth(Pass /*pass*/, std::span<const TensorShape> inputs, const TensorShape& output,
               double /*samples*/) const override {
    // A score sums over the channels of a head and over heads. The selection compares all tokens; a gradient sums over
    // tokens.
    return reduction_depth({real(inputs[1].channels), real(s_.heads), all_tokens(output)});
  }
  /// Heads are not split, because the selection needs the sum over all heads.
  Divisible divisible() const override { return {}; }
  /// Backward also needs the numbers of the selected tokens, of 4 bytes.
  Kept kept(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    return {.input = true, .mask_items = 4 * items(output)};
  }
  Inner inner(Pass /*pass*/, std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const override {
    return {};
  }
  double scratch_items(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    return pass == Pass::forward ? 2 * real(output.extent[0]) * all_tokens(output) : 0;
  }
  std::int64_t contexts() const override { return s_.contexts; }
  std::shared_ptr<const Operation> in_contexts(std::int64_t parts) const override {
    Settings settings = s_;
    settings.contexts *= parts;
    return std::make_shared<IndexScores>(settings);
  }
  double context_items(std::span<const TensorShape> inputs, const TensorShape& /*output*/) const override {
    return items(inputs[1]);
  }
  double macs(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return pairs_of(real(output.extent[0]), all_tokens(output)) * real(s_.heads) * (real(inputs[1].channels) + 1);
  }

 private:
  [[nodiscard]] double all_tokens(const TensorShape& output) const { return real(output.extent[0]) * real(s_.contexts); }
  /// Returns the pairs of this rank's queries with at most `most` tokens up to each query.
  [[nodiscard]] double pairs_of(double tokens, double most) const {
    const double all = tokens * real(s_.contexts), seen = std::min(most, all);
    return (seen * (seen + 1) / 2 + (all - seen) * seen) / real(s_.contexts);
  }

  Settings s_;
};

}  // namespace

std::shared_ptr<const Operation> read_index_scores(const Attributes& attributes) {
  IndexScores::Settings settings;
  settings.heads = attributes.integer("heads");
  settings.selected = attributes.integer("selected");
  settings.contexts = attributes.find_integer("contexts").value_or(1);
  return std::make_shared<IndexScores>(settings);
}

}  // namespace ddl
