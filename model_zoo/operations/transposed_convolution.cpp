#include <algorithm>

#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"
#include "model_zoo/operations/sliding_window.hpp"

namespace ddl {
namespace {

/// A layer that computes the gradient of a convolution: each input position contributes to a window of the output.
class TransposedConvolution final : public Operation {
 public:
  TransposedConvolution(std::int64_t filters, const SlidingWindow& window, const std::array<std::int64_t, 3>& output_padding,
                        std::int64_t groups, std::int64_t group_filters, bool bias, bool sequence)
      : filters_(filters),
        window_(window),
        output_padding_(output_padding),
        groups_(groups),
        group_filters_(group_filters),
        bias_(bias),
        sequence_(sequence) {
    for (std::size_t d = 0; d < static_cast<std::size_t>(window.rank); ++d) {
      const std::int64_t more = window.reach(d) + output_padding[d] - 2 * window.padding[d];
      is_multiple_ = is_multiple_ && (window.same || more == window.stride[d]);
    }
  }

  std::string_view type() const override { return "transposed_convolution"; }
  std::string_view short_name() const override { return "deconv"; }
  AttributeValues attribute_values() const override {
    AttributeValues values{{"filters", filters_}};
    values.add(window_.values(1));
    if (output_padding_ != std::array<std::int64_t, 3>{0, 0, 0}) {
      values.add("output_padding", AttributeSizes{output_padding_, window_.rank, true});
    }
    if (groups_ > 1) values.add("groups", groups_);
    if (!bias_) values.add("bias", false);
    return values;
  }

  AttributeValues lasting_values() const override {
    AttributeValues values = window_.lasting_values();
    if (groups_ > 1) values.add("group_filters", group_filters_);
    if (!bias_) values.add("bias", false);
    return values;
  }

  TensorShape infer(std::span<const TensorShape> inputs) const override {
    const TensorShape& input = only_input(inputs, type());
    if (input.rank != window_.rank) {
      throw Error(fmt::format("the window {} does not fit the input {}", print_extents(window_.kernel, window_.rank),
                              to_string(input)));
    }
    TensorShape output = input;
    output.channels = filters_;
    for (std::size_t d = 0; d < static_cast<std::size_t>(window_.rank); ++d) {
      output.extent[d] = window_.same ? item_count("the output", {input.extent[d], window_.stride[d]})
                                      : item_count("the output", {input.extent[d] - 1, window_.stride[d]}) -
                                            2 * window_.padding[d] + window_.reach(d) + output_padding_[d];
    }
    static_cast<void>(item_count("the kernels", {input.channels, group_filters_, window_.volume()}));
    return checked(output);
  }

  std::int64_t weights(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return inputs.front().channels * spread_filters(output) * window_.volume();
  }
  std::int64_t biases(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    return bias_ ? output.channels : 0;
  }

  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    if (pass == Pass::update) return {};
    const TensorShape& input = inputs.front();
    const double window = real(window_.volume());
    const double spread = real(spread_filters(output)) * window;
    Work work{.flops = 2 * macs(inputs, output),
              .activation_items = items(input) + items(output),
              .weight_items = real(weights(inputs, output) + biases(inputs, output)),
              .is_volume = window_.is_of_volume()};
    switch (pass) {
      case Pass::forward:
        work.m = real(output.positions());
        work.n = real(output.channels);
        work.k = groups_ > 1 ? real(input.channels) * real(group_filters_) / real(output.channels) * window
                             : real(input.channels) * window;
        break;
      case Pass::backward_data:
        work.m = real(input.positions());
        work.n = real(input.channels);
        work.k = spread;
        break;
      default:
        work.m = real(input.channels);
        work.n = spread;
        work.k = real(input.positions());
        work.batched = Work::Batched::k;
    }
    return work;
  }
  std::vector<Work> kernels(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    std::vector<Work> kernels{work(pass, inputs, output)};
    if (!bias_) return kernels;
    if (const Work bias = bias_work(pass, items(output), Work::Bias::convolution); bias.is_any()) kernels.push_back(bias);
    return kernels;
  }
  double depth(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output, double samples) const override {
    if (pass == Pass::backward_weight) return reduction_depth({real(inputs.front().positions()), samples});
    const double channels =
        pass == Pass::forward ? real(inputs.front().channels) / real(groups_) : real(spread_filters(output));
    return reduction_depth({real(window_.kernel[0]), real(window_.kernel[1]), real(window_.kernel[2]), channels});
  }

  Divisible divisible() const override {
    // A spatial split requires that the number of positions grows by the stride, so that borders of tiles stay aligned.
    return {.matrix = groups_ == 1,
            .channelwise = groups_ > 1,
            .spatial = is_multiple_ && !sequence_,
            .channel_units = groups_ > 1 ? groups_ : 0};
  }
  Window window() const override {
    Window window;
    for (std::size_t d = 0; d < static_cast<std::size_t>(window_.rank); ++d) {
      window.size[d] = window_.reach(d);
      window.spread[d] = window_.stride[d];
      window.padding[d] =
          window_.same ? std::max<std::int64_t>(0, window_.reach(d) - window_.stride[d]) / 2 : window_.padding[d];
    }
    return window;
  }
  Kept kept(std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const override {
    return {.input = true};
  }
  /// Returns the operation for a tile, which has as many output positions per input position as the whole tensor.
  Local local(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const std::int64_t groups = groups_ > 1 ? output.channels / group_filters_ : 1;
    return {.operation = std::make_shared<TransposedConvolution>(output.channels, window_, output_padding_, groups,
                                                                 output.channels / groups, bias_, sequence_),
            .inputs = {inputs.begin(), inputs.end()}};
  }
  double macs(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return items(inputs.front()) * real(spread_filters(output)) * real(window_.volume());
  }

 private:
  /// Returns the number of filters that one input channel contributes to.
  [[nodiscard]] std::int64_t spread_filters(const TensorShape& output) const {
    return groups_ > 1 ? group_filters_ : output.channels;
  }

  std::int64_t filters_;
  SlidingWindow window_;
  std::array<std::int64_t, 3> output_padding_;
  std::int64_t groups_, group_filters_;
  bool bias_, sequence_;
  bool is_multiple_ = true;  ///< whether the output size is the input size times the stride
};

}  // namespace

std::shared_ptr<const Operation> read_transposed_convolution(const Attributes& attributes) {
  const TensorShape& input = attributes.input();
  const std::int64_t filters = attributes.integer("filters");
  const std::int64_t groups = attributes.find_integer("groups").value_or(1);
  if (input.channels % groups != 0 || filters % groups != 0) {
    attributes.fail("groups", fmt::format("{} input channels and {} filters do not divide into {} groups", input.channels,
                                          filters, groups));
  }
  const SlidingWindow window = SlidingWindow::read(attributes, 1);
  std::array<std::int64_t, 3> output_padding{0, 0, 0};
  if (const auto given = attributes.find_extents("output_padding", input.rank, 0)) {
    for (std::size_t d = 0; d < static_cast<std::size_t>(input.rank); ++d) {
      output_padding[d] = given->size[d];
      if (output_padding[d] >= window.stride[d]) {
        attributes.fail("output_padding", fmt::format("the output padding {} is not smaller than the stride {}",
                                                      output_padding[d], window.stride[d]));
      }
    }
  }
  return std::make_shared<TransposedConvolution>(filters, window, output_padding, groups, filters / groups,
                                                 attributes.find_boolean("bias").value_or(true), input.sequence);
}

}  // namespace ddl
