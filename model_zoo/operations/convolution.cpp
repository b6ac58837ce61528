#include <algorithm>

#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"
#include "model_zoo/operations/sliding_window.hpp"

namespace ddl {
namespace {

/// A convolution in one, two or three dimensions. With one group, filters mix all channels, and both filters and channels
/// can be split. With several groups, slices of whole groups are independent. A convolution in one dimension is a matrix
/// product with the channels of each position, which frameworks run in channels-last order.
class Convolution final : public Operation {
 public:
  /// A value of 0 for `filters` means the number of input channels.
  Convolution(std::int64_t filters, const SlidingWindow& window, std::int64_t groups, std::int64_t group_channels, bool bias,
              bool sequence, bool linear)
      : filters_(filters),
        window_(window),
        groups_(groups),
        group_channels_(group_channels),
        bias_(bias),
        sequence_(sequence),
        linear_(linear) {}

  std::string_view type() const override { return "convolution"; }
  std::string_view short_name() const override { return "conv"; }
  AttributeValues attribute_values() const override {
    AttributeValues values{{"filters", filters_ == 0 ? AttributeValue("same") : AttributeValue(filters_)}};
    values.add(window_.values(1));
    if (groups_ > 1) values.add("groups", groups_);
    if (!bias_) values.add("bias", false);
    if (linear_) values.add("linear", true);
    return values;
  }

  AttributeValues lasting_values() const override {
    AttributeValues values = window_.lasting_values();
    if (groups_ > 1) values.add("group_channels", group_channels_);
    if (!bias_) values.add("bias", false);
    return values;
  }

  TensorShape infer(std::span<const TensorShape> inputs) const override {
    const TensorShape& input = only_input(inputs, type());
    if (groups_ > 1 && input.channels != groups_ * group_channels_) {
      throw Error(
          fmt::format("{} groups of {} channels do not fit the input {}", groups_, group_channels_, to_string(input)));
    }
    TensorShape output = window_.slide(input);
    output.channels = filters_ == 0 ? input.channels : filters_;
    static_cast<void>(item_count("the kernels", {output.channels, summed_channels(input), window_.volume()}));
    return checked(output);
  }

  std::int64_t weights(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return output.channels * summed_channels(inputs.front()) * window_.volume();
  }
  std::int64_t biases(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    return bias_ ? output.channels : 0;
  }

  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    if (pass == Pass::update) return {};
    const TensorShape& input = inputs.front();
    const double window = real(window_.volume());
    const double summed = real(summed_channels(input)) * window;
    Work work{.flops = 2 * macs(inputs, output),
              .activation_items = items(input) + items(output),
              .weight_items = real(weights(inputs, output) + biases(inputs, output)),
              .is_strided = window_.is_strided(),
              .is_volume = window_.is_of_volume(),
              .group_inputs = real(summed_channels(input)),
              .kind = linear_ ? KernelKind::matrix_product : KernelKind::convolution};
    if (groups_ > 1) {
      // A slice of the channels has only the groups of these channels.
      work.groups = real(std::max<std::int64_t>(1, input.channels / group_channels_));
      work.group_outputs = real(output.channels) / work.groups;
      const bool is_depthwise = work.group_inputs == 1 && work.group_outputs == 1;
      work.kind = is_depthwise ? KernelKind::depthwise_convolution : KernelKind::grouped_convolution;
    }
    if (groups_ == 1 && window_.is_square3()) {
      const TensorShape& computed = pass == Pass::backward_data ? input : output;
      work.square3_rows = real(computed.extent[0]), work.square3_columns = real(computed.extent[1]);
    }
    switch (pass) {
      case Pass::forward:
        work.m = real(output.positions());
        work.n = real(output.channels);
        work.k = summed;
        break;
      case Pass::backward_data:
        work.m = real(input.positions());
        work.n = real(input.channels);
        work.k = groups_ > 1 ? real(output.channels) * real(group_channels_) / real(input.channels) * window
                             : real(output.channels) * window;
        break;
      default:
        work.m = real(output.channels);
        work.n = summed;
        work.k = real(output.positions());
        work.batched = Work::Batched::k;
        work.sums_positions = true;
    }
    return work;
  }
  std::vector<Work> kernels(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    std::vector<Work> kernels{work(pass, inputs, output)};
    if (!bias_) return kernels;
    const bool is_depthwise = groups_ > 1 && group_channels_ == 1 && output.channels == inputs.front().channels;
    const auto kind = linear_ || is_depthwise ? Work::Bias::linear : Work::Bias::convolution;
    if (const Work bias = bias_work(pass, items(output), kind); bias.is_any()) kernels.push_back(bias);
    return kernels;
  }
  double depth(Pass /*pass*/, std::span<const TensorShape> inputs, const TensorShape& /*output*/,
               double /*samples*/) const override {
    // The depth is log Kx + log Ky + log Cin in all three passes, as [BH18, Table 4] states for the direct method.
    // Backward-weight actually sums over samples and positions, but the source's value is used.
    return reduction_depth(
        {real(window_.kernel[0]), real(window_.kernel[1]), real(window_.kernel[2]), real(summed_channels(inputs.front()))});
  }

  Divisible divisible() const override {
    return {.matrix = groups_ == 1,
            .channelwise = groups_ > 1,
            .spatial = !sequence_,
            .channel_units = groups_ > 1 ? groups_ : 0};
  }
  Kept kept(std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const override {
    return {.input = true};
  }
  Window window() const override { return window_.window(); }
  Local local(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    TensorShape input = inputs.front();
    const SlidingWindow window = window_.over_tile(input, output);
    const std::int64_t groups = groups_ > 1 ? input.channels / group_channels_ : 1;
    const std::int64_t summed = groups_ > 1 ? group_channels_ : input.channels;
    return {.operation = std::make_shared<Convolution>(output.channels, window, groups, summed, bias_, sequence_, linear_),
            .inputs = {input}};
  }
  double macs(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return items(output) * real(summed_channels(inputs.front())) * real(window_.volume());
  }

 private:
  /// Returns the number of input channels that a filter sums over.
  [[nodiscard]] std::int64_t summed_channels(const TensorShape& input) const {
    return groups_ > 1 ? group_channels_ : input.channels;
  }

  std::int64_t filters_;
  SlidingWindow window_;
  std::int64_t groups_, group_channels_;
  bool bias_, sequence_, linear_;
};

}  // namespace

std::shared_ptr<const Operation> read_convolution(const Attributes& attributes) {
  const TensorShape& input = attributes.input();
  if (!attributes.has("filters")) attributes.fail_missing("filters");
  const bool same_filters = attributes.find_text("filters") == "same";
  const std::int64_t filters = same_filters ? 0 : attributes.integer("filters");
  const bool one_each = attributes.find_text("groups") == "same";
  const std::int64_t groups = one_each ? input.channels : attributes.find_integer("groups").value_or(1);
  if (input.channels % groups != 0) {
    attributes.fail("groups",
                    fmt::format("the {} channels of the input do not divide into {} groups", input.channels, groups));
  }
  if ((same_filters ? input.channels : filters) % groups != 0) {
    attributes.fail("groups", fmt::format("{} filters do not divide into {} groups", filters, groups));
  }
  const SlidingWindow window = SlidingWindow::read(attributes, 1);
  const bool linear = attributes.find_boolean("linear").value_or(false);
  if (linear && (!window.is_of_one() || groups > 1))
    attributes.fail("linear", "a linear convolution has a kernel and a stride of 1, and one group");
  return std::make_shared<Convolution>(filters, window, groups, input.channels / groups,
                                       attributes.find_boolean("bias").value_or(true), input.sequence, linear);
}

}  // namespace ddl
