#include <array>

#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/function_flops.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

constexpr std::array<std::string_view, 2> score_names{"softmax", "sigmoid"};

/// Selects the experts of a token. A matrix computes a score for each expert, the softmax of the scores gives the weights of
/// the experts, and the best `active` experts are selected [Jiang24, section 2.1]. In place of the softmax, there may be a
/// sigmoid. An untrained correction of each expert's score then balances the load of the experts, before the best experts
/// are selected [DeepSeek-AI, "DeepSeek-V3 technical report", arXiv 2412.19437, equations 12 to 16]. Every rank routes all
/// of its tokens, because the matrix is small, and the choice needs all scores.
class Router final : public Operation {
 public:
  struct Settings {
    std::int64_t experts = 1, active = 1;
    bool sigmoid = false;
    bool bias = false;        ///< whether the matrix has a trained bias
    bool correction = false;  ///< whether each score has an untrained correction
    /// The number of groups of experts, and the number of best groups whose experts a token uses. 0 or 1: no groups.
    std::int64_t groups = 1, active_groups = 1;
  };
  explicit Router(const Settings& settings) : s_(settings) {}

  std::string_view type() const override { return "router"; }
  AttributeValues attribute_values() const override {
    AttributeValues values{{"experts", s_.experts}, {"active", s_.active}};
    if (s_.sigmoid) values.add("scores", score_names[1]);
    if (s_.bias) values.add("bias", true);
    if (s_.correction) values.add("correction", true);
    if (s_.groups > 1) {
      values.add("groups", s_.groups);
      values.add("active_groups", s_.active_groups);
    }
    return values;
  }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    TensorShape output = only_input(inputs, type());
    if (!output.sequence) throw Error(fmt::format("router needs a sequence, not {}", to_string(output)));
    static_cast<void>(item_count("the matrix", {output.channels, s_.experts}));
    output.channels = s_.experts;
    return checked(output);
  }
  std::int64_t weights(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return inputs.front().channels * output.channels;
  }
  std::int64_t biases(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    return s_.bias ? output.channels : 0;
  }
  std::int64_t buffers(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    return s_.correction ? output.channels : 0;
  }
  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    if (pass == Pass::update) return {};
    const double scores = items(output);
    Work work{.flops = 2 * macs(inputs, output),
              .activation_items = items(inputs.front()) + scores,
              .weight_items = real(weights(inputs, output) + biases(inputs, output))};
    if (pass == Pass::backward_weight) return work;
    // The sum contains the FLOPs of softmax or sigmoid, correction, and choice, with one comparison
    // for each score and selected expert. With groups, the value of a group is the sum of its two
    // best scores, which takes two comparisons per score. Then the best groups are chosen.
    const double weighing = s_.sigmoid ? sigmoid_flops : 5;
    const double grouped = s_.groups > 1 ? 2 * scores + real(s_.active_groups * s_.groups) * real(output.extent[0]) : 0;
    const double chosen = real(s_.active) * scores + (s_.correction ? scores : 0) + grouped;
    work.flops += pass == Pass::forward ? weighing * scores + chosen : 4 * scores;
    work.activation_items += (pass == Pass::forward ? 3 : 2) * scores;
    return work;
  }
  /// The matrix runs on matrix units, with inputs in half precision [Megatron-LM,
  /// megatron/core/transformer/moe/moe_utils.py, RouterGatingLinearFunction; Hugging Face, transformers,
  /// modeling_mixtral.py, MixtralSparseMoeBlock]. A second kernel computes the weights of the experts from the scores.
  std::vector<Work> kernels(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    Work weighing = work(pass, inputs, output);
    if (pass == Pass::update) return {weighing};
    const double tokens = real(output.extent[0]), channels = real(inputs.front().channels), experts = real(output.channels);
    Work product{.flops = 2 * macs(inputs, output),
                 .activation_items = items(inputs.front()) + items(output),
                 .weight_items = weighing.weight_items};
    product.m = pass == Pass::backward_weight ? experts : tokens;
    product.n = pass == Pass::forward ? experts : channels;
    product.k = pass == Pass::forward ? channels : pass == Pass::backward_data ? experts : tokens;
    if (pass == Pass::backward_weight) {
      product.batched = Work::Batched::k;
      return {product};
    }
    weighing.flops -= product.flops;
    weighing.activation_items -= product.activation_items;
    weighing.weight_items = 0;
    return {product, weighing};
  }
  double depth(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output, double samples) const override {
    // The longest chain of sums: a matrix product, then the softmax and the choice over the experts.
    if (pass == Pass::backward_weight) return reduction_depth({samples * real(output.positions())});
    const double experts = real(output.channels);
    if (pass == Pass::backward_data) return reduction_depth({experts, experts});
    return reduction_depth({real(inputs.front().channels), experts, experts});
  }
  Divisible divisible() const override { return {.tokens = true}; }
  Kept kept(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    // The softmax is computed and kept in fp32, as in losses. The choice is an index of 8 bytes.
    return {.input = true, .mask_items = (4 * real(s_.experts) + 8 * real(s_.active)) * real(output.extent[0])};
  }
  double macs(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return real(inputs.front().channels) * items(output);
  }

 private:
  Settings s_;
};

}  // namespace

std::shared_ptr<const Operation> read_router(const Attributes& attributes) {
  Router::Settings settings;
  settings.experts = attributes.integer("experts");
  settings.active = attributes.integer("active");
  settings.sigmoid = attributes.has("scores") && attributes.choice("scores", score_names) == 1;
  settings.bias = attributes.find_boolean("bias").value_or(false);
  settings.correction = attributes.find_boolean("correction").value_or(false);
  settings.groups = attributes.find_integer("groups").value_or(1);
  settings.active_groups = attributes.find_integer("active_groups").value_or(settings.groups);
  if (settings.experts % settings.groups != 0) {
    attributes.fail("groups", fmt::format("{} experts do not divide into {} groups", settings.experts, settings.groups));
  }
  if (settings.active_groups > settings.groups) {
    attributes.fail("active_groups",
                    fmt::format("there are {} groups, so {} cannot be active", settings.groups, settings.active_groups));
  }
  const std::int64_t seen = settings.experts / settings.groups * settings.active_groups;
  if (settings.active > seen) {
    const std::string groups =
        settings.active_groups == settings.groups ? "" : fmt::format(" in the {} active groups", settings.active_groups);
    attributes.fail("active", fmt::format("there are {} experts{}, so {} cannot be active", seen, groups, settings.active));
  }
  return std::make_shared<Router>(settings);
}

}  // namespace ddl
