#include <array>

#include "model_zoo/operations/function_flops.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

enum class LossKind { cross_entropy, mse, focal };
constexpr EnumNames<LossKind> loss_kinds{"cross_entropy", "mse", "focal"};

/// The tensors that the operators of a focal loss read and write, without the sigmoid and its gradient: those of
/// sigmoid_focal_loss (torchvision, torchvision/ops/focal_loss.py) and of binary_cross_entropy_with_logits (PyTorch,
/// aten/src/ATen/native/Loss.cpp), and their derivatives (tools/autograd/derivatives.yaml).
constexpr std::array<double, 18> focal_forward{2, 3, 2, 3, 3, 2, 2, 3, 3, 2, 2, 3, 2, 2, 2, 3, 3, 1};
constexpr std::array<double, 15> focal_backward{3, 3, 3, 2, 2, 3, 2, 3, 3, 2, 3, 2, 3, 3, 3};

/// Computes the loss, a single number, from one output, or as the sum of the losses of several outputs.
class Loss final : public Operation {
 public:
  Loss(LossKind kind, bool soft_cap, bool positions) : kind_(kind), soft_cap_(soft_cap), positions_(positions) {}

  std::string_view type() const override { return "loss"; }
  AttributeValues attribute_values() const override {
    AttributeValues values{{"kind", loss_kinds[kind_]}};
    if (soft_cap_) values.add("soft_cap", true);
    return values;
  }
  TensorShape infer(std::span<const TensorShape> /*inputs*/) const override { return {}; }
  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& /*output*/) const override {
    const double count = items(inputs);
    const bool entropy = kind_ == LossKind::cross_entropy;
    // A cap divides each element, computes its hyperbolic tangent, and multiplies. Forward needs a pass over the elements
    // before the loss. Backward needs a pass over the tangents and the gradient after the loss.
    const double cap_flops = soft_cap_ ? (tanh_flops + 2) * count : 0;
    const double cap_back_flops = soft_cap_ ? 3 * count : 0;
    const double capped = soft_cap_ ? count : 0;
    // For cross entropy, forward reads the output and writes its softmax, and backward turns the softmax into the gradient.
    // The mean square error reads output and target in each pass.
    if (kind_ == LossKind::focal) return focal_work(pass, count);
    if (pass == Pass::forward) {
      return {.flops = (entropy ? 5 : 3) * count + cap_flops,
              .activation_items = 2 * count + 2 * capped,
              .entropy_items = entropy ? count : 0};
    }
    if (pass == Pass::backward_data) {
      return {.flops = 2 * count + cap_back_flops,
              .activation_items = (entropy ? 2 : 3) * count + 3 * capped,
              .entropy_items = entropy ? count : 0};
    }
    return {};
  }
  std::vector<Work> kernels(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    std::vector<Work> kernels = Operation::kernels(pass, inputs, output);
    if (kind_ != LossKind::focal || kernels.empty()) return kernels;
    const double count = items(inputs);
    const auto add = [&](double tensors) {
      kernels.push_back({.flops = count, .activation_items = tensors * count, .is_separate = true});
    };
    if (pass == Pass::forward) {
      for (const double tensors : focal_forward) add(tensors);
    } else {
      for (const double tensors : focal_backward) add(tensors);
    }
    return kernels;
  }
  double depth(Pass pass, std::span<const TensorShape> inputs, const TensorShape& /*output*/,
               double samples) const override {
    return pass == Pass::forward ? reduction_depth({items(inputs), samples}) : 1;
  }
  /// For an image or volume, the loss sums over positions, so tiles have to sum one number, which takes negligible time.
  Divisible divisible() const override { return {.spatial = positions_}; }
  Kept kept(std::span<const TensorShape> inputs, const TensorShape& /*output*/) const override {
    const double capped = soft_cap_ ? items(inputs) : 0;  // the hyperbolic tangents
    // The operators of a focal loss also keep targets, probabilities, their complements, powers, weights and entropies.
    if (kind_ == LossKind::focal) return {.input = true, .extra_items = capped, .operator_items = 7 * items(inputs)};
    if (kind_ == LossKind::mse) return {.input = true, .extra_items = capped};
    // The softmax is computed and kept in fp32 in every precision: 4 bytes, according to [Kort22], section 4.3. The sum of
    // the class weights, one number, is kept as well.
    return {.mask_items = 4 * items(inputs), .extra_items = capped, .batch_statistics = 1};
  }
  /// Backward first creates the gradient of the logarithms, and computes the input's gradient from it. Both gradients are in
  /// fp32, and so is the input of forward.
  double scratch_items(Pass pass, std::span<const TensorShape> inputs, const TensorShape& /*output*/) const override {
    return pass == Pass::backward_data && kind_ == LossKind::cross_entropy ? items(inputs) : 0;
  }
  /// Backward has one intermediate tensor, the gradient of the softmax's logarithm. Forward keeps this logarithm as a mask.
  Inner inner(Pass pass, std::span<const TensorShape> inputs, const TensorShape& /*output*/) const override {
    return kind_ == LossKind::cross_entropy && pass == Pass::backward_data ? Inner{items(inputs), 1} : Inner{};
  }

 private:
  /// One fused kernel of a pass: about as many FLOPs as the operators have. Backward reads outputs and targets.
  static Work focal_work(Pass pass, double count) {
    if (pass == Pass::forward) return {.flops = 20 * count, .activation_items = 2 * count};
    if (pass == Pass::backward_data) return {.flops = 16 * count, .activation_items = 3 * count};
    return {};
  }

  LossKind kind_;
  bool soft_cap_;   ///< whether a hyperbolic tangent first caps the output
  bool positions_;  ///< whether the only input is an image or a volume
};

}  // namespace

std::shared_ptr<const Operation> read_loss(const Attributes& attributes) {
  const TensorShape& input = attributes.input();
  return std::make_shared<Loss>(static_cast<LossKind>(attributes.choice("kind", loss_kinds)),
                                attributes.find_boolean("soft_cap").value_or(false), input.rank > 0 && !input.sequence);
}

}  // namespace ddl
