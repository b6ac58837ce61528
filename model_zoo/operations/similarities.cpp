#include <algorithm>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// The product of each token of one sequence with each token of another: masks of objects from vectors of objects and of
/// positions [Cheng et al., "Masked-attention mask transformer for universal image segmentation", CVPR 2022]. The output has
/// the tokens of the first sequence, and a channel for each token of the second.
class Similarities final : public Operation {
 public:
  std::string_view type() const override { return "similarities"; }
  AttributeValues attribute_values() const override { return {}; }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    if (inputs.size() != 2 || !inputs[0].sequence || !inputs[1].sequence || inputs[0].channels != inputs[1].channels) {
      throw Error("similarities needs two sequences with the same number of channels", "name them: 'from: [first, second]'");
    }
    TensorShape output = inputs[0];
    output.channels = inputs[1].extent[0];
    return checked(output);
  }
  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return sum_of(kernels(pass, inputs, output));
  }
  std::vector<Work> kernels(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const double first = real(inputs[0].extent[0]), second = real(inputs[1].extent[0]), size = real(inputs[0].channels);
    const auto product = [&](double m, double n, double k, double moved) {
      return Work{
          .flops = 2 * m * n * k, .activation_items = moved, .m = m, .n = n, .k = k, .batched = Work::Batched::count};
    };
    const double moved = items(inputs) + items(output);
    if (pass == Pass::forward) return {product(first, second, size, moved)};
    // Each input has a gradient.
    if (pass == Pass::backward_data) return {product(first, size, second, moved), product(second, size, first, moved)};
    return {};
  }
  double depth(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output,
               double /*samples*/) const override {
    if (pass == Pass::backward_data) return reduction_depth({real(std::max(output.extent[0], output.channels))});
    return reduction_depth({real(inputs[0].channels)});
  }
  Divisible divisible() const override { return {}; }
  Kept kept(std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const override {
    return {.input = true};
  }
  double macs(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return items(output) * real(inputs[0].channels);
  }
};

}  // namespace

std::shared_ptr<const Operation> read_similarities(const Attributes& /*attributes*/) {
  return std::make_shared<Similarities>();
}

}  // namespace ddl
