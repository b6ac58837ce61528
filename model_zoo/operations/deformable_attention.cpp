#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Attention to a few points near a place of each query, in images of several sizes [Zhu et al., "Deformable DETR", ICLR
/// 2021, section 4.1]. It reads the values of all positions of all images, and for each query, head and point an offset in
/// two dimensions and a weight before its softmax. The value at a point is interpolated between four positions.
class DeformableAttention final : public Operation {
 public:
  struct Settings {
    std::int64_t heads = 1, points = 1;  ///< points per query and head, in all images together
  };
  explicit DeformableAttention(const Settings& settings) : s_(settings) {}

  std::string_view type() const override { return "deformable_attention"; }
  AttributeValues attribute_values() const override { return {{"heads", s_.heads}, {"points", s_.points}}; }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    if (inputs.size() != 2) {
      throw Error(fmt::format("deformable_attention takes two inputs, not {}", inputs.size()),
                  "name values, and offsets with weights: 'from: [values, points]'");
    }
    for (const TensorShape& input : inputs) {
      if (!input.sequence) throw Error(fmt::format("deformable_attention needs sequences, not {}", to_string(input)));
    }
    if (inputs[0].channels % s_.heads != 0) {
      throw Error(fmt::format("the {} channels of the values do not divide into {} heads", inputs[0].channels, s_.heads));
    }
    if (inputs[1].channels != 3 * s_.heads * s_.points) {
      throw Error(
          fmt::format("the points have {} channels, but two offsets and a weight for {} heads with {} points need {}",
                      inputs[1].channels, s_.heads, s_.points, 3 * s_.heads * s_.points));
    }
    TensorShape output = inputs[1];
    output.channels = inputs[0].channels;
    static_cast<void>(item_count("the points", {output.extent[0], output.channels, s_.points}));
    return checked(output);
  }
  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const double read = items(output) * real(s_.points);  // values of channels at points
    const double weights = items(inputs[1]) / 3;
    // A point has four multiply-adds of interpolation and one of its weight; the softmax has 5 FLOPs.
    if (pass == Pass::forward) {
      return {.flops = 10 * read + 5 * weights,
              .activation_items = 4 * read + items(inputs[1]) + 2 * weights + items(output),
              .kind = KernelKind::lookup};
    }
    // Values are read again. Each of the four positions gets a gradient, which is added to the gradients of other points.
    // Each point has gradients of two offsets and a weight.
    if (pass == Pass::backward_data) {
      return {.flops = 26 * read + 5 * weights,
              .activation_items = 4 * read + 8 * read + items(inputs[0]) + 2 * items(inputs[1]) + items(output),
              .kind = KernelKind::lookup};
    }
    return {};
  }
  double depth(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output,
               double /*samples*/) const override {
    // The softmax and the weighted sum are sums over points, and interpolation is a sum of four. All points may be one
    // position.
    if (pass == Pass::backward_data) return reduction_depth({real(output.positions()) * real(s_.points)});
    static_cast<void>(inputs);
    return reduction_depth({real(s_.points), 4, real(s_.points)});
  }
  Divisible divisible() const override { return {}; }
  /// Backward needs values, offsets, and the softmax of the weights.
  Kept kept(std::span<const TensorShape> inputs, const TensorShape& /*output*/) const override {
    return {.input = true, .extra_items = items(inputs[1]) / 3};
  }

 private:
  Settings s_;
};

}  // namespace

std::shared_ptr<const Operation> read_deformable_attention(const Attributes& attributes) {
  return std::make_shared<DeformableAttention>(
      DeformableAttention::Settings{.heads = attributes.integer("heads"), .points = attributes.integer("points")});
}

}  // namespace ddl
