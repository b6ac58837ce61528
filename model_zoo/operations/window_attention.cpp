#include <array>
#include <string_view>

#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// How the scores of a window depend on relative positions. table: a trained bias for each head and relative position [Liu
/// et al., "Swin transformer", ICCV 2021]. perceptron: the biases are outputs of a perceptron that reads relative positions,
/// and scores are cosines times a trained factor of each head [Liu et al., "Swin transformer V2", CVPR 2022]. axes: products
/// of each query with a trained vector for each relative position along each axis, the same for all heads [Li et al.,
/// "MViTv2", CVPR 2022; Kirillov et al., "Segment anything", ICCV 2023]. pairs: another layer makes a bias for each head and
/// pair of positions, the same for all windows [Jumper et al., "AlphaFold", Nature 596 (2021), supplement, algorithm 7].
enum class Positions { table, perceptron, axes, pairs, none };
constexpr EnumNames<Positions> position_names{"table", "perceptron", "axes", "pairs", "none"};
/// Hidden features of the perceptron of Swin V2.
constexpr std::int64_t perceptron_features = 512;

/// Self-attention between the projections inside each window of an image. Windows may be shifted: the image is rolled first,
/// and a mask separates elements that were not neighbors before. A padded image is filled up to whole windows. Work and
/// memory traffic are sums over kernels, as in torchvision 0.14.1.
class WindowAttention final : public Operation {
 public:
  struct Settings {
    std::int64_t heads, head_size;
    Extents window;
    std::int64_t shift = 0;
    Positions positions = Positions::table;
    bool padded = false;
  };
  explicit WindowAttention(const Settings& settings)
      : settings_(settings),
        heads_(settings.heads),
        head_size_(settings.head_size),
        window_(settings.window),
        shift_(settings.shift) {}

  std::string_view type() const override { return "window_attention"; }
  AttributeValues attribute_values() const override {
    AttributeValues values{{"heads", heads_}, {"window", AttributeSizes{window_.size, window_.rank}}};
    if (shift_ > 0) values.add("shift", shift_);
    add_kind(values);
    return values;
  }
  AttributeValues lasting_values() const override {
    AttributeValues values{
        {"head_size", head_size_}, {"window", AttributeSizes{window_.size, window_.rank}}, {"shifts", shift_ > 0}};
    add_kind(values);
    return values;
  }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    TensorShape output = only_input(inputs, type());
    for (std::size_t d = 0; d < static_cast<std::size_t>(window_.rank); ++d) {
      if (settings_.padded || output.extent[d] % window_.size[d] == 0) continue;
      throw Error(fmt::format("{} does not divide into windows of {}", to_string(output),
                              print_extents(window_.size, window_.rank)));
    }
    output.channels = heads_ * head_size_;
    static_cast<void>(item_count("the scores", {heads_, padded_positions(output), area()}));
    static_cast<void>(item_count("the table", {heads_, relative_positions()}));
    return checked(output);
  }
  /// Returns the number of trained elements for relative positions. A table is split together with the heads.
  std::int64_t biases(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    const std::int64_t heads = output.channels / head_size_;
    switch (settings_.positions) {
      case Positions::table:
        return heads * relative_positions();
      case Positions::perceptron:  // (y, x) → 512 with biases, 512 → heads without biases, and a factor of each head
        return (window_.rank + 1) * perceptron_features + heads * (perceptron_features + 1);
      case Positions::axes:
        return axis_positions() * head_size_;
      case Positions::pairs:
      case Positions::none:
        return 0;
    }
    return 0;
  }
  /// Returns the size of the index that contains the table's row for each pair of positions, and of the perceptron's inputs.
  /// An entry of the index has 8 bytes, which count as two elements.
  std::int64_t buffers(std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const override {
    switch (settings_.positions) {
      case Positions::table:
        return 2 * area() * area();
      case Positions::perceptron:
        return 2 * area() * area() + window_.rank * relative_positions();
      case Positions::axes:
      case Positions::pairs:
      case Positions::none:
        return 0;
    }
    return 0;
  }

  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const double scores = score_items(output);
    const double table = real(biases(inputs, output));
    const double side = real(area());
    // The products of all heads and windows are one batch.
    Work work{.m = side, .n = side, .k = real(head_size_), .batched = Work::Batched::count, .count = scores / (side * side)};
    // The image is copied into windows and back. If windows are shifted, the image is also rolled before and after.
    const double copies = copied_items(output);
    if (pass == Pass::forward) {
      // There are two products, QKᵀ and AV, an addition for the bias and another for the mask, and about 5 FLOPs for the
      // softmax of each score. QKᵀ writes the scores; bias, mask and softmax read and write them; AV reads them.
      const double added = (shifted(output) ? 1 : 0) + additions();
      work.flops = 2 * macs(inputs, output) + (5 + added) * scores + perceptron_flops(inputs, output);
      work.activation_items = items(inputs.front()) + items(output) + (4 + 2 * added) * scores + copies;
      work.weight_items = table;
      return work;
    }
    if (pass == Pass::backward_data) {
      // Each of the two products has two gradients. The softmax reads its output and a gradient,
      // and writes a gradient. Additions pass the gradient on; biases of pairs have the sum over all windows.
      work.flops = 2 * (2 * macs(inputs, output) + 5 * scores) + summed(output);
      work.activation_items = 2 * items(inputs.front()) + 2 * items(output) + 7 * scores + copies + summed(output);
      return work;
    }
    // The gradient of the table is the sum of the gradients of the scores over the windows.
    if (pass == Pass::backward_weight) return {.flops = scores, .activation_items = scores, .weight_items = table};
    return {};
  }
  std::vector<Work> kernels(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    if (pass != Pass::forward && pass != Pass::backward_data) return {work(pass, inputs, output)};
    const double scores = score_items(output), side = real(area()), head = real(head_size_);
    const double count = scores / (side * side);
    const auto product = [&](double n, double k, double read_and_written) {
      return Work{.flops = 2 * side * n * k * count,
                  .activation_items = scores + read_and_written,
                  .m = side,
                  .n = n,
                  .k = k,
                  .batched = Work::Batched::count,
                  .count = count};
    };
    const double read = items(inputs.front()), written = items(output);
    // Products with the vectors of relative positions run on few items, and are counted with the additions of their results.
    const double of_axes = 2 * macs(inputs, output) - 4 * side * padded_items(output);
    std::vector<Work> kernels;
    if (pass == Pass::forward) {
      const double added = (shifted(output) ? 1 : 0) + additions();
      kernels.push_back({.flops = perceptron_flops(inputs, output), .activation_items = copied_items(output)});
      kernels.push_back(separate_copies(pass, output));
      kernels.push_back(product(side, head, read * 2 / 3));
      if (added > 0) {
        kernels.push_back({.flops = added * scores + of_axes,
                           .activation_items = 2 * added * scores,
                           .weight_items = real(biases(inputs, output))});
      }
      kernels.push_back({.flops = 5 * scores, .activation_items = 2 * scores, .n = side, .kind = KernelKind::softmax});
      kernels.push_back(product(head, side, read / 3 + written));
      return kernels;
    }
    // Backward computes the gradients of values and scores, then of the softmax, then of queries and keys.
    kernels.push_back(product(head, side, read / 3 + written));
    kernels.push_back(product(side, head, read / 3 + written));
    kernels.push_back({.flops = 10 * scores, .activation_items = 3 * scores, .n = side, .kind = KernelKind::softmax});
    kernels.push_back(product(head, side, read * 2 / 3));
    kernels.push_back(product(head, side, read * 2 / 3));
    kernels.push_back(separate_copies(pass, output));
    kernels.push_back({.flops = 2 * of_axes + summed(output), .activation_items = copied_items(output) + summed(output)});
    return kernels;
  }

  double depth(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& output,
               double samples) const override {
    // The depth is that of attention over a window. The gradient of the table is a sum over windows and samples.
    if (pass == Pass::backward_weight) return reduction_depth({samples * real(output.positions()) / real(area())});
    return reduction_depth({real(head_size_), real(area()), real(area())});
  }

  // The estimator does not split this operation spatially. Borders of tiles would have to be borders of windows, and shifted
  // windows wrap around the edges of the whole image.
  Divisible divisible() const override { return {.channelwise = true, .channel_units = heads_}; }
  Kept kept(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const double scores = score_items(output);
    Kept kept{.input = true, .extra_items = scores, .softmax_items = scores};
    if (settings_.positions == Positions::perceptron) {
      // Copies of normalized queries and keys, and of values, are kept. Lengths and their bounds are statistics. A trained
      // factor multiplies the cosines. The factor, the perceptron's hidden features, and the sigmoids of its biases belong
      // to no sample.
      const double heads = real(heads_);
      kept.extra_items += scores + items(inputs.front());
      kept.statistics = 2 * 2 * heads * real(padded_positions(output));
      kept.batch_statistics = real(perceptron_features * relative_positions()) + heads * (real(area() * area()) + 1);
    }
    return kept;
  }
  double scratch_items(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    if (pass == Pass::forward) return score_items(output);
    return pass == Pass::backward_data ? 2 * score_items(output) : 0;
  }
  Local local(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    Settings part = settings_;
    part.heads = output.channels / head_size_;
    return {.operation = std::make_shared<WindowAttention>(part), .inputs = {inputs.begin(), inputs.end()}};
  }
  double macs(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    // Each query also has a product with a vector for each row and each column of its window.
    const double keys = settings_.positions == Positions::axes ? real(axis_positions() + window_.rank) / 2 : 0;
    return (2 * real(area()) + keys) * padded_items(output);
  }

 private:
  void add_kind(AttributeValues& values) const {
    if (settings_.positions != Positions::table) values.add("positions", position_names[settings_.positions]);
    if (settings_.padded) values.add("padded", true);
  }
  /// Returns the number of additions to each score: of a bias, or of a term for each axis.
  [[nodiscard]] double additions() const {
    if (settings_.positions == Positions::none) return 0;
    return settings_.positions == Positions::axes ? real(window_.rank) : 1;
  }
  /// Returns the elements of the scores' gradient that biases of pairs sum over windows.
  [[nodiscard]] double summed(const TensorShape& output) const {
    return settings_.positions == Positions::pairs ? score_items(output) : 0;
  }
  /// Returns the elements that cosines read and write: queries and keys are divided by their lengths.
  [[nodiscard]] double position_traffic(const TensorShape& output) const {
    return settings_.positions == Positions::perceptron ? 4 * padded_items(output) : 0;
  }
  /// Returns the FLOPs of the perceptron, which runs once per kernel.
  [[nodiscard]] double perceptron_flops(std::span<const TensorShape> inputs, const TensorShape& output) const {
    if (settings_.positions != Positions::perceptron) return 0;
    return 2 * real(relative_positions()) * (real(biases(inputs, output)) - real(output.channels) / real(head_size_));
  }
  /// Returns the items that copies and position traffic move in a pass.
  [[nodiscard]] double copied_items(const TensorShape& output) const {
    return (shifted(output) ? 8 : 4) * padded_items(output) + position_traffic(output);
  }
  /// Returns the kernels that only unfused operators need, as one kernel. Forward scales queries, copies queries, keys and
  /// values into heads, and copies the result back: 2 elements for each of 5 tensors. A shift rolls rows and columns in
  /// kernels of their own. Backward has the gradients of these operators, and copies the gradients of queries, keys and
  /// values into one tensor. torchvision selects queries, keys and values one by one, so each of the three gradients is
  /// first written into a tensor of zeros (3 + 2 elements), and these tensors are added (2 · 9) [torchvision,
  /// torchvision/models/swin_transformer.py, shifted_window_attention; PyTorch, torch/csrc/autograd/FunctionsManual.cpp,
  /// select_backward]. Networks without a table select all three at once, and backward stacks the gradients (6).
  [[nodiscard]] Work separate_copies(Pass pass, const TensorShape& output) const {
    const bool selects_each = settings_.positions == Positions::table || settings_.positions == Positions::perceptron;
    const double scaling = settings_.positions == Positions::perceptron ? 0 : 2;
    const double gradients = selects_each ? 3 * 5 + 2 * 9 : 6;
    const double rolls = shifted(output) ? 4 : 0;
    const double moved = pass == Pass::forward ? scaling + 6 + 2 + rolls : 2 + scaling + gradients + 6 + rolls;
    return {.activation_items = moved * padded_items(output), .is_separate = true};
  }
  /// Returns the number of positions of the image, filled up to whole windows.
  [[nodiscard]] std::int64_t padded_positions(const TensorShape& output) const {
    std::int64_t count = 1;
    for (std::size_t d = 0; d < static_cast<std::size_t>(window_.rank); ++d)
      count *= (output.extent[d] + window_.size[d] - 1) / window_.size[d] * window_.size[d];
    return count;
  }
  [[nodiscard]] double padded_items(const TensorShape& output) const {
    return real(output.channels) * real(padded_positions(output));
  }
  [[nodiscard]] std::int64_t axis_positions() const {
    std::int64_t count = 0;
    for (std::size_t d = 0; d < static_cast<std::size_t>(window_.rank); ++d) count += 2 * window_.size[d] - 1;
    return count;
  }
  [[nodiscard]] std::int64_t area() const { return window_.size[0] * window_.size[1] * window_.size[2]; }
  [[nodiscard]] std::int64_t relative_positions() const {
    std::int64_t count = 1;
    for (const std::int64_t size : window_.size) count *= 2 * size - 1;
    return count;
  }
  /// Returns whether windows are shifted. A window as large as the image is not shifted.
  [[nodiscard]] bool shifted(const TensorShape& output) const { return shift_ > 0 && output.positions() > area(); }
  /// Returns the number of scores: one for each head and pair of positions of one window.
  [[nodiscard]] double score_items(const TensorShape& output) const {
    return real(output.channels) / real(head_size_) * real(padded_positions(output)) * real(area());
  }

  Settings settings_;
  std::int64_t heads_, head_size_;
  Extents window_;
  std::int64_t shift_;
};

/// Maximum number of positions of a window. With it, the total size of the indices of all layers
/// stays far below the largest int64.
constexpr std::int64_t max_positions = 65536;

}  // namespace

std::shared_ptr<const Operation> read_window_attention(const Attributes& attributes) {
  const TensorShape& input = attributes.input();
  if (input.rank == 0 || input.sequence) {
    attributes.fail("window", fmt::format("window_attention needs an image, not {}", to_string(input)));
  }
  const std::int64_t heads = attributes.integer("heads");
  if (input.channels % (3 * heads) != 0) {
    attributes.fail("heads",
                    fmt::format("the {} channels of the input do not divide into queries, keys and values of {} heads",
                                input.channels, heads),
                    "window_attention reads queries, keys and values of one 1x1 convolution");
  }
  const auto window = attributes.find_extents("window", input.rank, 1);
  if (!window) attributes.fail_missing("window");
  std::int64_t positions = 1;
  for (const std::int64_t size : window->size) {
    if (size > max_positions / positions) {
      attributes.fail("window", fmt::format("a window of more than {} positions", max_positions));
    }
    positions *= size;
  }
  const std::size_t kind = attributes.has("positions") ? attributes.choice("positions", position_names) : 0;
  return std::make_shared<WindowAttention>(
      WindowAttention::Settings{.heads = heads,
                                .head_size = input.channels / (3 * heads),
                                .window = *window,
                                .shift = attributes.find_integer("shift", 0).value_or(0),
                                .positions = static_cast<Positions>(kind),
                                .padded = attributes.find_boolean("padded").value_or(false)});
}

}  // namespace ddl
