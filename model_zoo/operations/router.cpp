#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Which experts a token goes to: a matrix without bias gives each expert a score, the softmax of the scores weighs the
/// experts, and the best `active` are taken [Jiang24, section 2.1]. Every rank routes all of its tokens: the matrix is
/// small, and the choice needs all scores.
class Router final : public Operation {
 public:
  Router(std::int64_t experts, std::int64_t active) : experts_(experts), active_(active) {}

  std::string_view type() const override { return "router"; }
  AttributeValues attribute_values() const override { return {{"experts", experts_}, {"active", active_}}; }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    TensorShape output = only_input(inputs, type());
    if (!output.sequence) throw Error(fmt::format("router needs a sequence, not {}", to_string(output)));
    static_cast<void>(item_count("the matrix", {output.channels, experts_}));
    output.channels = experts_;
    return checked(output);
  }
  std::int64_t weights(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return inputs.front().channels * output.channels;
  }
  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    if (pass == Pass::update) return {};
    const double scores = items(output);
    Work work{.flops = 2 * macs(inputs, output),
              .activation_items = items(inputs.front()) + scores,
              .weight_items = real(weights(inputs, output))};
    if (pass == Pass::backward_weight) return work;
    // The softmax, and the comparisons of the choice: one for each score and expert taken.
    work.flops += pass == Pass::forward ? (5 + real(active_)) * scores : 4 * scores;
    work.activation_items += (pass == Pass::forward ? 3 : 2) * scores;
    return work;
  }
  double depth(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output, double samples) const override {
    // A matrix product, then the softmax and the choice over the experts.
    if (pass == Pass::backward_weight) return reduction_depth({samples * real(output.positions())});
    const double experts = real(output.channels);
    if (pass == Pass::backward_data) return reduction_depth({experts, experts});
    return reduction_depth({real(inputs.front().channels), experts, experts});
  }
  Divisible divisible() const override { return {}; }
  Kept kept(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    // The softmax is computed and kept in fp32, as those of losses are; the choice is an index of 8 bytes.
    return {.input = true, .mask_items = (4 * real(experts_) + 8 * real(active_)) * real(output.extent[0])};
  }
  double macs(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return real(inputs.front().channels) * items(output);
  }

 private:
  std::int64_t experts_, active_;
};

}  // namespace

std::shared_ptr<const Operation> read_router(const Attributes& attributes) {
  const std::int64_t experts = attributes.integer("experts");
  const std::int64_t active = attributes.integer("active");
  if (active > experts) {
    attributes.fail("active", fmt::format("of {} experts {} cannot be active", experts, active));
  }
  return std::make_shared<Router>(experts, active);
}

}  // namespace ddl
