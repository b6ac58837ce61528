#include <array>

#include <fmt/format.h>

#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

enum class NormKind { batch, layer, group, rms, instance };
constexpr EnumNames<NormKind> norm_kinds{"batch", "layer", "group", "rms", "instance"};

/// A normalization with a trained scale and shift for each channel. The statistics are computed over the batch and all
/// positions of a channel (batch), over the channels of a position (layer, rms), over a group of channels and all positions
/// of a sample (group), or over all positions of a channel of a sample (instance).
class Norm final : public Operation {
 public:
  Norm(NormKind kind, std::int64_t groups, std::int64_t group_channels, bool scale, bool bias, bool sequence)
      : kind_(kind), groups_(groups), group_channels_(group_channels), scale_(scale), bias_(bias), sequence_(sequence) {}

  std::string_view type() const override { return "norm"; }
  AttributeValues attribute_values() const override { return values_with("groups", groups_); }
  AttributeValues lasting_values() const override { return values_with("group_channels", group_channels_); }
  TensorShape infer(std::span<const TensorShape> inputs) const override { return only_input(inputs, type()); }
  std::int64_t biases(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    return ((scale_ ? 1 : 0) + (bias_ ? 1 : 0)) * output.channels;
  }
  std::int64_t buffers(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    return kind_ == NormKind::batch ? 2 * output.channels : 0;
  }

  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    // Statistics of a whole channel need a separate pass. Forward reads twice and writes once. Backward reads the input and
    // the output's gradient twice, writes once, and computes the gradients of scale and shift. Statistics of a position's
    // channels stay in registers, which saves one read in each pass; the gradients of scale and shift then sum over the
    // positions in another pass.
    const bool two_passes = over_positions();
    const double count = items(output);
    const double parameters = real(biases(inputs, output));
    switch (pass) {
      case Pass::forward:
        return {.flops = 7 * count,
                .activation_items = (two_passes ? 3 : 2) * count,
                .weight_items = parameters,
                .kind = kernel_kind()};
      case Pass::backward_data:
        return {.flops = 11 * count,
                .activation_items = (two_passes ? 5 : 3) * count,
                .weight_items = parameters,
                .kind = kernel_kind()};
      case Pass::backward_weight:
        // Without scale and shift, there is no gradient to sum.
        if (two_passes || parameters == 0) return {};
        return {.flops = 3 * count,
                .activation_items = 2 * count,
                .weight_items = parameters,
                .summed_channels = kind_ == NormKind::layer ? real(output.channels) : 0,
                .kind = kernel_kind()};
      case Pass::update:
        break;
    }
    return {};
  }
  double depth(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& output,
               double samples) const override {
    // The depth is that of the sums for the statistics. The gradients of scale and shift are sums
    // over samples and positions.
    const double channels = real(output.channels);
    const double positions = real(output.positions());
    if (pass == Pass::backward_weight || kind_ == NormKind::batch) return reduction_depth({positions, samples});
    if (over_positions()) return reduction_depth({real(group_channels_), positions});
    return reduction_depth({channels});
  }

  Divisible divisible() const override {
    // A rank may compute statistics of a batch from its own tiles, as it does from its own samples.
    // Statistics of a sample need all tiles of the sample.
    const bool of_samples = kind_ == NormKind::group || kind_ == NormKind::instance;
    return {.channelwise = over_positions(),
            .spatial = !sequence_,
            .tokens = sequence_ && (kind_ == NormKind::layer || kind_ == NormKind::rms),
            .position_sums = of_samples ? 2.0 / real(group_channels_) : 0.0,
            .channel_units = kind_ == NormKind::group ? groups_ : 0};
  }
  Local local(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const std::int64_t groups = kind_ == NormKind::group ? output.channels / group_channels_ : groups_;
    return {.operation = std::make_shared<Norm>(kind_, groups, group_channels_, scale_, bias_, sequence_),
            .inputs = {inputs.begin(), inputs.end()}};
  }
  /// PyTorch's kernels keep mean and inverse deviation for backward. Instance norm runs as a batch norm of samples ×
  /// channels, and also keeps a copy of the scale for each sample. A root-mean-square norm has no mean.
  Kept kept(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    const double channels = real(output.channels);
    Kept kept{.input = true};
    switch (kind_) {
      case NormKind::batch:
        kept.batch_statistics = 2 * channels;
        break;
      case NormKind::layer:
        kept.statistics = 2 * real(output.positions());
        break;
      case NormKind::rms:
        kept.statistics = real(output.positions());
        kept.operator_items = items(output);  // the normalized input
        break;
      case NormKind::group:
        kept.statistics = 2 * channels / real(group_channels_);
        break;
      case NormKind::instance:
        kept.statistics = (scale_ ? 3 : 2) * channels;
        break;
    }
    return kept;
  }

 private:
  [[nodiscard]] AttributeValues values_with(std::string_view groups_key, std::int64_t groups) const {
    AttributeValues values{{"kind", norm_kinds[kind_]}};
    if (kind_ == NormKind::group) values.add(groups_key, groups);
    if (!scale_) values.add("scale", false);
    if (!bias_) values.add("bias", false);
    return values;
  }
  [[nodiscard]] KernelKind kernel_kind() const { return over_positions() ? KernelKind::batch_norm : KernelKind::layer_norm; }
  [[nodiscard]] bool over_positions() const { return kind_ != NormKind::layer && kind_ != NormKind::rms; }

  NormKind kind_;
  std::int64_t groups_, group_channels_;
  bool scale_, bias_, sequence_;
};

}  // namespace

std::shared_ptr<const Operation> read_norm(const Attributes& attributes) {
  const auto kind = static_cast<NormKind>(attributes.choice("kind", norm_kinds));
  const TensorShape& input = attributes.input();
  std::int64_t groups = 1;
  if (kind == NormKind::group) {
    groups = attributes.integer("groups");
    if (input.channels % groups != 0) {
      attributes.fail("groups",
                      fmt::format("the {} channels of the input do not divide into {} groups", input.channels, groups));
    }
  } else if (attributes.has("groups")) {
    attributes.fail("groups", "only a norm of the kind group has groups");
  }
  // A root-mean-square norm has no shift.
  return std::make_shared<Norm>(kind, groups, kind == NormKind::group ? input.channels / groups : 1,
                                attributes.find_boolean("scale").value_or(true),
                                attributes.find_boolean("bias").value_or(kind != NormKind::rms), input.sequence);
}

}  // namespace ddl
