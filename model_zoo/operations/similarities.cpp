#include <algorithm>

#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// The product of each token of one sequence with each token of another: masks of objects from vectors of objects and of
/// positions [Cheng et al., "Masked-attention mask transformer for universal image segmentation", CVPR 2022]. The output has
/// the tokens of the first sequence, and a channel for each token of the second. Groups of channels have products of their
/// own, as in triangular multiplication [Jumper et al., "AlphaFold", Nature 596 (2021), supplement, algorithm 11].
class Similarities final : public Operation {
 public:
  explicit Similarities(std::int64_t groups) : groups_(groups) {}

  std::string_view type() const override { return "similarities"; }
  AttributeValues attribute_values() const override {
    AttributeValues values;
    if (groups_ > 1) values.add("groups", groups_);
    return values;
  }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    if (inputs.size() != 2 || !inputs[0].sequence || !inputs[1].sequence || inputs[0].channels != inputs[1].channels) {
      throw Error("similarities needs two sequences with the same number of channels", "name them: 'from: [first, second]'");
    }
    TensorShape output = inputs[0];
    if (output.channels % groups_ != 0)
      throw Error(fmt::format("{} channels do not divide into {} groups", output.channels, groups_));
    output.channels = item_count("the similarities", {groups_, inputs[1].extent[0]});
    return checked(output);
  }
  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return sum_of(kernels(pass, inputs, output));
  }
  std::vector<Work> kernels(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const double first = real(inputs[0].extent[0]), second = real(inputs[1].extent[0]);
    const double groups = real(groups_), size = real(inputs[0].channels) / groups;
    const auto product = [&](double m, double n, double k, double moved) {
      return Work{.flops = 2 * m * n * k * groups,
                  .activation_items = moved,
                  .m = m,
                  .n = n,
                  .k = k,
                  .batched = Work::Batched::count,
                  .count = groups};
    };
    const double moved = items(inputs) + items(output);
    if (pass == Pass::forward) return {product(first, second, size, moved)};
    // Each input has a gradient.
    if (pass == Pass::backward_data) return {product(first, size, second, moved), product(second, size, first, moved)};
    return {};
  }
  double depth(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output,
               double /*samples*/) const override {
    if (pass == Pass::backward_data) return reduction_depth({real(std::max(output.extent[0], output.channels / groups_))});
    return reduction_depth({real(inputs[0].channels) / real(groups_)});
  }
  Divisible divisible() const override { return {}; }
  Kept kept(std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const override {
    return {.input = true};
  }
  double macs(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return items(output) * real(inputs[0].channels) / real(groups_);
  }

 private:
  std::int64_t groups_;
};

}  // namespace

std::shared_ptr<const Operation> read_similarities(const Attributes& attributes) {
  const std::int64_t groups = attributes.find_integer("groups").value_or(1);
  return std::make_shared<Similarities>(groups);
}

}  // namespace ddl
