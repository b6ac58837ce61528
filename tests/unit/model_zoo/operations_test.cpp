#include <array>
#include <string>

#include "model_zoo/network/model.hpp"
#include "model_zoo/values/precision.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"
#include "tests/unit/model_zoo/one_layer.hpp"

namespace operations_tests {

using namespace ddl;

namespace {

const std::string image = "{channels: 6, size: 8x10}";
const std::string vector = "{features: 12}";
const std::string sequence = "{channels: 24, tokens: 16}";
const std::string words = "{tokens: 16}";

/// Returns the message of the error, without file, position and excerpt.
std::string error_in(const std::string& input, const std::string& items) {
  const std::string error = error_of([&] { (void)model_of(input, items); });
  const std::string line = error.substr(0, error.find('\n'));
  return line.substr(std::min(line.size(), line.find(": ") == std::string::npos ? 0 : line.find(": ") + 2));
}

std::string shape_of_last(const std::string& input, const std::string& items) {
  return to_string(layer_of(input, items).output_shape);
}

void check_product(const Work& work, double m, double n, double k, Work::Batched batched) {
  CHECK(work.m == m);
  CHECK(work.n == n);
  CHECK(work.k == k);
  CHECK(work.batched == batched);
}

}  // namespace

TEST_CASE("shapes, passes and precisions are printed in words") {
  CHECK(to_string(TensorShape{.channels = 64, .extent = {56, 56, 1}, .rank = 2}) == "64×56×56");
  CHECK(to_string(TensorShape{.channels = 1024, .extent = {512, 1, 1}, .rank = 1, .sequence = true}) ==
        "1024 over 512 tokens");
  CHECK(to_string(TensorShape{.channels = 1000}) == "1000");
  CHECK(to_string(Pass::backward_weight) == "backward-weight");
  for (const Precision precision : enum_values<Precision>) CHECK(parse_enum<Precision>(to_string(precision)) == precision);
  CHECK_FALSE(parse_enum<Precision>("fp4"));
  CHECK(item_bytes(Precision::fp8) == 2);
  CHECK(update_precision(Precision::fp8) == Precision::bf16);
  CHECK(update_precision(Precision::tf32) == Precision::tf32);
}

TEST_CASE("a convolution's output has one position for each position of its window") {
  // The extent is ⌊(extent + 2·padding − reach) / stride⌋ + 1, with reach = dilation·(kernel − 1) + 1.
  CHECK(shape_of_last(image, "  - convolution: {filters: 5, kernel: 3}\n") == "5×6×8");
  CHECK(shape_of_last(image, "  - convolution: {filters: 5, kernel: 3x1, stride: 2x3, padding: 1x0}\n") == "5×4×4");
  CHECK(shape_of_last(image, "  - convolution: {filters: 5, kernel: 3, dilation: 3, padding: valid}\n") == "5×2×4");
  CHECK(shape_of_last(image, "  - convolution: {filters: 5, kernel: 4, padding: same}\n") == "5×8×10");
  CHECK(shape_of_last(image, "  - convolution: {filters: 5, kernel: 3, stride: 3, padding: same}\n") == "5×3×4");
  CHECK(shape_of_last("{channels: 2, size: 7}", "  - convolution: {filters: 5, kernel: 3}\n") == "5×5");
  CHECK(shape_of_last("{channels: 2, size: 7x6x5}", "  - convolution: {filters: 5, kernel: 3x1x1, padding: 1x0x0}\n") ==
        "5×7×6×5");
  CHECK(shape_of_last(image, "  - convolution: {filters: same, kernel: 3}\n") == "6×6×8");
}

TEST_CASE("a convolution's work is 2·F·C·K·P in each pass") {
  const Layer layer = layer_of(image, "  - convolution: {filters: 5, kernel: 3x2, stride: 2, padding: 1x0}\n");
  REQUIRE(to_string(layer.output_shape) == "5×4×5");
  // There are F·C·3·2 weights, and a bias for each filter.
  CHECK(layer.weights == 5 * 6 * 6);
  CHECK(layer.biases == 5);
  const double flops = 2 * 5 * 6 * 6 * 20;
  for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_weight}) {
    const Work work = work_of(layer, pass);
    CHECK(work.flops == flops);
    CHECK(work.activation_items == 6 * 80 + 5 * 20);
    CHECK(work.weight_items == 185);
  }
  check_product(work_of(layer, Pass::forward), 20, 5, 6 * 6, Work::Batched::m);
  check_product(work_of(layer, Pass::backward_data), 80, 6, 5 * 6, Work::Batched::m);
  check_product(work_of(layer, Pass::backward_weight), 5, 6 * 6, 20, Work::Batched::k);
  CHECK(work_of(layer, Pass::update).flops == 0);
  CHECK(layer.operation->macs(layer.input_shapes, layer.output_shape) == flops / 2);
  const Operation::Window window = layer.operation->window();
  CHECK(window.size == std::array<std::int64_t, 3>{3, 2, 1});
  CHECK(window.stride == std::array<std::int64_t, 3>{2, 2, 1});
  CHECK(window.padding == std::array<std::int64_t, 3>{1, 0, 0});
  CHECK(layer.operation->divisible().matrix);
  CHECK(layer.operation->divisible().spatial);
  CHECK(kept_of(layer).input);
}

TEST_CASE("a slice of the channels of a convolution has only its own groups, and is a kernel of the same kind") {
  for (const auto& [groups, kind] :
       {std::pair("same", KernelKind::depthwise_convolution), std::pair("2", KernelKind::grouped_convolution)}) {
    const Layer whole =
        layer_of(image, std::string("  - convolution: {filters: same, kernel: 3, padding: 1, groups: ") + groups + "}\n");
    TensorShape input = whole.input_shapes.front(), output = whole.output_shape;
    input.channels /= 2;
    output.channels /= 2;
    for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_weight}) {
      const Work all = work_of(whole, pass), part = whole.operation->work(pass, std::vector{input}, output);
      CHECK(part.kernel_kind() == kind);
      CHECK(all.kernel_kind() == kind);
      CHECK(part.groups == all.groups / 2);
      CHECK(part.group_inputs == all.group_inputs);
      CHECK(part.group_outputs == all.group_outputs);
    }
  }
}

TEST_CASE("groups of a convolution sum only over their own channels") {
  const Layer grouped = layer_of(image, "  - convolution: {filters: 4, kernel: 3, groups: 2, bias: no}\n");
  CHECK(grouped.weights == 4 * 3 * 9);
  CHECK(grouped.biases == 0);
  CHECK(work_of(grouped, Pass::forward).flops == 2.0 * 4 * 3 * 9 * 48);
  check_product(work_of(grouped, Pass::backward_data), 80, 6, 2 * 9, Work::Batched::m);
  CHECK_FALSE(grouped.operation->divisible().matrix);
  CHECK(grouped.operation->divisible().channelwise);
  CHECK(grouped.operation->divisible().channel_units == 2);

  const Layer depthwise =
      layer_of(image, "  - convolution: {filters: same, kernel: 3, groups: same, padding: 1, bias: no}\n");
  CHECK(depthwise.weights == 6 * 9);
  CHECK(work_of(depthwise, Pass::forward).flops == 2.0 * 6 * 9 * 80);
  CHECK(depthwise.operation->divisible().channel_units == 6);
}

TEST_CASE("a transposed convolution swaps the shapes of a convolution") {
  // The extent is (extent − 1)·stride − 2·padding + reach + output padding.
  const Layer layer =
      layer_of(image, "  - transposed_convolution: {filters: 5, kernel: 3, stride: 2, padding: 1, output_padding: 1}\n");
  CHECK(to_string(layer.output_shape) == "5×16×20");
  CHECK(shape_of_last(image, "  - transposed_convolution: {filters: 5, kernel: 3, stride: 2, padding: same}\n") ==
        "5×16×20");
  CHECK(layer.weights == 6 * 5 * 9);
  // Each of the 80 input positions contributes to the window.
  CHECK(work_of(layer, Pass::forward).flops == 2.0 * 6 * 5 * 9 * 80);
  check_product(work_of(layer, Pass::forward), 320, 5, 6 * 9, Work::Batched::m);
  check_product(work_of(layer, Pass::backward_data), 80, 6, 5 * 9, Work::Batched::m);
  check_product(work_of(layer, Pass::backward_weight), 6, 5 * 9, 80, Work::Batched::k);
  // Tiles have twice the extent: position i adds to 2i − 1 to 2i + 1.
  CHECK(layer.operation->divisible().spatial);
  const Operation::Window window = layer.operation->window();
  CHECK(window.size == std::array<std::int64_t, 3>{3, 3, 1});
  CHECK(window.padding == std::array<std::int64_t, 3>{1, 1, 0});
  CHECK(window.spread == std::array<std::int64_t, 3>{2, 2, 1});
  // 17 × 21 positions are not twice as many as the input's.
  CHECK_FALSE(
      layer_of(image, "  - transposed_convolution: {filters: 5, kernel: 3, stride: 2}\n").operation->divisible().spatial);
}

TEST_CASE("a convolution of volumes has a window over three dimensions, of more than one position") {
  const std::string volume = "{channels: 4, size: 8x8x8}";
  const auto is_volume = [](const std::string& input, const std::string& item) {
    const Layer layer = layer_of(input, "  - " + item + "\n");
    for (const Pass pass : {Pass::backward_data, Pass::backward_weight})
      CHECK(work_of(layer, pass).is_volume == work_of(layer, Pass::forward).is_volume);
    return work_of(layer, Pass::forward).is_volume;
  };
  CHECK(is_volume(volume, "convolution: {filters: 5, kernel: 3, padding: 1}"));
  CHECK(is_volume(volume, "convolution: {filters: 5, kernel: 1, stride: 2}"));
  CHECK(is_volume(volume, "transposed_convolution: {filters: 5, kernel: 2, stride: 2}"));
  CHECK_FALSE(is_volume(volume, "convolution: {filters: 5, kernel: 1}"));
  CHECK_FALSE(is_volume(image, "convolution: {filters: 5, kernel: 3, padding: 1}"));
  CHECK_FALSE(is_volume(image, "transposed_convolution: {filters: 5, kernel: 2, stride: 2}"));
}

TEST_CASE("a fully connected layer multiplies a matrix with each token") {
  const Layer flat = layer_of(vector, "  - fully_connected: {features: 7}\n");
  CHECK(to_string(flat.output_shape) == "7");
  CHECK(flat.parameters() == 12 * 7 + 7);
  CHECK(work_of(flat, Pass::forward).flops == 2 * 12 * 7);
  CHECK(work_of(flat, Pass::forward).activation_items == 12 + 7);

  const Layer tokens = layer_of(sequence, "  - fully_connected: {features: 7, bias: no}\n");
  CHECK(to_string(tokens.output_shape) == "7 over 16 tokens");
  CHECK(tokens.parameters() == 24 * 7);
  check_product(work_of(tokens, Pass::forward), 16, 7, 24, Work::Batched::m);
  check_product(work_of(tokens, Pass::backward_data), 16, 24, 7, Work::Batched::m);
  check_product(work_of(tokens, Pass::backward_weight), 7, 24, 16, Work::Batched::k);
  for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_weight}) {
    CHECK(work_of(tokens, pass).flops == 2 * 16 * 24 * 7);
    CHECK(work_of(tokens, pass).weight_items == 24 * 7);
  }
}

TEST_CASE("shared weights count once, and their work counts each time") {
  const Model model = model_of(words,
                               "  - embedding: {vocabulary: 100, features: 24}\n    name: words\n"
                               "  - fully_connected: {features: 100, bias: no, tied: words}\n");
  CHECK(model.parameters() == 100 * 24);
  CHECK(model.layers[1].tied_to == 0);
  CHECK(model.layers[1].weights == 0);
  CHECK(work_of(model.layers[1], Pass::forward).flops == 2 * 16 * 24 * 100);
  CHECK(work_of(model.layers[1], Pass::forward).weight_items == 2400);
}

TEST_CASE("pooling has the shapes of its window") {
  CHECK(shape_of_last(image, "  - pool: {kind: max, kernel: 2}\n") == "6×4×5");
  CHECK(shape_of_last(image, "  - pool: {kind: max, kernel: 3, stride: 2, padding: 1}\n") == "6×4×5");
  CHECK(shape_of_last(image, "  - pool: {kind: max, kernel: 3, stride: 2}\n") == "6×3×4");
  // The extents are ⌈(8 − 3) / 2⌉ + 1 and ⌈(10 − 3) / 2⌉ + 1.
  CHECK(shape_of_last(image, "  - pool: {kind: max, kernel: 3, stride: 2, ceil: yes}\n") == "6×4×5");
  // A last window that would start after the input is dropped. With stride 3, a window fits 3 times
  // into 8 + 2·1 positions, and 4 times for an extent of 10.
  CHECK(shape_of_last(image, "  - pool: {kind: average, kernel: 2, stride: 3, padding: 1, ceil: yes}\n") == "6×3×4");
  CHECK(shape_of_last(image, "  - pool: {kind: average, adaptive: 3x2}\n") == "6×3×2");
  CHECK(shape_of_last(image, "  - pool: {kind: average, global: yes}\n") == "6×1×1");
}

TEST_CASE("maximum pooling keeps an index of 8 bytes for each output element") {
  const Layer maximum = layer_of(image, "  - pool: {kind: max, kernel: 2}\n");
  CHECK(kept_of(maximum).input);
  CHECK(kept_of(maximum).mask_items == 8 * 6 * 20);
  CHECK(work_of(maximum, Pass::forward).activation_items == 480 + 120);
  CHECK(work_of(maximum, Pass::backward_data).activation_items == 480 + 2 * 120);
  CHECK(work_of(maximum, Pass::backward_weight).activation_items == 0);
  CHECK(maximum.operation->divisible().channelwise);
  CHECK(maximum.operation->divisible().spatial);
  const Layer average = layer_of(image, "  - pool: {kind: average, global: yes}\n");
  CHECK(kept_of(average).mask_items == 0);
  CHECK_FALSE(average.operation->divisible().spatial);
}

TEST_CASE("norms count their passes over memory") {
  const Layer batch = layer_of(image, "  - norm: batch\n");
  CHECK(batch.weights == 0);
  CHECK(batch.biases == 12);
  CHECK(batch.buffers == 12);
  CHECK(work_of(batch, Pass::forward).activation_items == 3 * 480);
  CHECK(work_of(batch, Pass::backward_data).activation_items == 5 * 480);
  CHECK(kept_of(batch).input);
  CHECK(batch.operation->divisible().channelwise);
  CHECK(batch.operation->divisible().spatial);

  const Layer layer = layer_of(sequence, "  - norm: layer\n");
  CHECK(layer.biases == 48);
  CHECK(layer.buffers == 0);
  CHECK_FALSE(layer.operation->divisible().channelwise);
  CHECK_FALSE(layer.operation->divisible().spatial);
  CHECK(layer_of(sequence, "  - norm: rms\n").biases == 24);
  CHECK(layer_of(sequence, "  - norm: {kind: layer, bias: no}\n").biases == 24);
  const Layer group = layer_of(image, "  - norm: {kind: group, groups: 3}\n");
  CHECK(group.operation->divisible().channel_units == 3);

  // There are mean and variance of each channel of a sample, or of each group of two channels.
  const Layer instance = layer_of(image, "  - norm: instance\n");
  CHECK(instance.biases == 12);
  CHECK(instance.buffers == 0);
  CHECK(work_of(instance, Pass::forward).activation_items == 3 * 480);
  CHECK(instance.operation->divisible().channelwise);
  CHECK(instance.operation->divisible().spatial);
  CHECK(instance.operation->divisible().position_sums == 2);
  CHECK(group.operation->divisible().position_sums == 1);
  CHECK(batch.operation->divisible().position_sums == 0);

  const Layer unscaled = layer_of(image, "  - norm: {kind: batch, scale: no}\n");
  CHECK(unscaled.biases == 6);
  CHECK(unscaled.buffers == 12);
  CHECK(layer_of(image, "  - norm: {kind: instance, scale: no, bias: no}\n").biases == 0);

  // A layer norm with scale and shift sums their gradients in another pass.
  CHECK(work_of(layer, Pass::backward_weight).activation_items == 2 * 24 * 16);
  const Work none = work_of(layer_of(sequence, "  - norm: {kind: layer, scale: no, bias: no}\n"), Pass::backward_weight);
  CHECK(none.flops == 0);
  CHECK(none.activation_items == 0);
}

TEST_CASE("an activation keeps its output if that determines the derivative, else its input") {
  const Layer relu = layer_of(image, "  - activation: relu\n");
  CHECK(work_of(relu, Pass::forward).activation_items == 2 * 480);
  CHECK(work_of(relu, Pass::backward_data).activation_items == 3 * 480);
  // PyTorch 1.13 passes the kept tensor to the hooks for saved tensors. In place, the input is overwritten.
  for (const std::string kind : {"relu", "tanh", "sigmoid", "{kind: relu, in_place: yes}",
                                 "{kind: leaky_relu, in_place: yes}", "{kind: elu, in_place: yes}"}) {
    CHECK(kept_of(layer_of(image, "  - activation: " + kind + "\n")).output);
    CHECK_FALSE(kept_of(layer_of(image, "  - activation: " + kind + "\n")).input);
  }
  for (const std::string kind : {"gelu", "silu", "hardswish", "softplus", "relu6", "hardsigmoid", "leaky_relu", "elu"}) {
    CHECK(kept_of(layer_of(image, "  - activation: " + kind + "\n")).input);
    CHECK_FALSE(kept_of(layer_of(image, "  - activation: " + kind + "\n")).output);
  }
  CHECK(error_in(image, "  - activation: {kind: gelu, in_place: yes}\n") ==
        "gelu cannot be in-place: its gradient needs the input");
}

TEST_CASE("dropout keeps a byte for each element, unless it drops nothing") {
  const Layer dropout = layer_of(image, "  - dropout: 0.5\n");
  CHECK(kept_of(dropout).mask_items == 480);
  CHECK_FALSE(kept_of(dropout).input);
  const Layer nothing = layer_of(image, "  - dropout: 0\n");
  CHECK(kept_of(nothing).mask_items == 0);
  CHECK(work_of(nothing, Pass::forward).activation_items == 0);
}

TEST_CASE("dropout of whole samples keeps one factor for each") {
  const Layer dropout = layer_of(image, "  - dropout: {rate: 0.2, of: samples}\n");
  CHECK(kept_of(dropout).mask_items == 0);
  CHECK(kept_of(dropout).extra_items == 1);
  CHECK(work_of(dropout, Pass::forward).activation_items == 2 * 480);
  CHECK(work_of(dropout, Pass::backward_data).activation_items == 2 * 480);
  CHECK(work_of(layer_of(image, "  - dropout: {rate: 0, of: samples}\n"), Pass::forward).activation_items == 0);
  CHECK(error_in(image, "  - dropout: {rate: 0.2, of: sample}\n") == "unknown of 'sample'");
}

TEST_CASE("a slice is a view, and its gradient is as large as the whole input") {
  const Layer slice = layer_of(image, "  - slice: {first: 2, channels: 3}\n");
  CHECK(to_string(slice.output_shape) == "3×8×10");
  CHECK(slice.operation->attributes() == "first=2 channels=3");
  CHECK(work_of(slice, Pass::forward).activation_items == 0);
  CHECK(work_of(slice, Pass::backward_data).activation_items == 480 + 240);
  CHECK_FALSE(kept_of(slice).input);
  CHECK_FALSE(slice.operation->divisible().channelwise);
  CHECK(slice.operation->divisible().spatial);
  CHECK(error_in(image, "  - slice: {first: 4, channels: 3}\n") ==
        "layer 'slice1': no channels 4 to 6 in 6×8×10, which has 6");
  CHECK(error_in(image, "  - slice: {first: 4}\n") == "slice needs 'channels'");
}

TEST_CASE("a channel shuffle copies the tensor") {
  const Layer shuffle = layer_of(image, "  - channel_shuffle: 3\n");
  CHECK(shuffle.name == "shuffle1");
  CHECK(to_string(shuffle.output_shape) == "6×8×10");
  CHECK(work_of(shuffle, Pass::forward).activation_items == 2 * 480);
  CHECK(work_of(shuffle, Pass::backward_data).activation_items == 2 * 480);
  CHECK_FALSE(shuffle.operation->divisible().channelwise);
  CHECK(error_in(image, "  - channel_shuffle: 4\n") == "the 6 channels of the input do not divide into 4 groups");
}

TEST_CASE("a crop is the middle, with a halo of at most the border") {
  const Layer crop = layer_of(image, "  - crop: 4x8\n");
  CHECK(to_string(crop.output_shape) == "6×4×8");
  CHECK(work_of(crop, Pass::forward).activation_items == 0);
  CHECK(work_of(crop, Pass::backward_data).activation_items == 480 + 192);
  CHECK(crop.operation->divisible().channelwise);
  CHECK(crop.operation->divisible().spatial);
  // The borders are 2 and 1.
  CHECK(crop.operation->window().size == std::array<std::int64_t, 3>{5, 3, 1});
  CHECK(error_in(image, "  - crop: 9\n") == "layer 'crop1': 9x9 cannot be cropped from 6×8×10");
  CHECK(error_in(image, "  - crop: 2x2x2\n") == "the size '2x2x2' has 3 sizes, but the input 6×8×10 has 2");
  CHECK(error_in(image, "  - crop\n") == "crop needs 'size'");
  CHECK(error_in(vector, "  - crop: 2\n") == "the input 12 has no positions to crop");
  CHECK(error_in(sequence, "  - crop: 2\n") == "the input 24 over 16 tokens has no positions to crop");
}

TEST_CASE("each position of a resized image is a mean of neighbors, or the nearest one") {
  const Layer nearest = layer_of(image, "  - resize: {kind: nearest, factor: 2}\n");
  CHECK(to_string(nearest.output_shape) == "6×16×20");
  CHECK(work_of(nearest, Pass::forward).flops == 0);
  CHECK(work_of(nearest, Pass::forward).activation_items == 480 + 1920);
  // Four gradients are added in each position.
  CHECK(work_of(nearest, Pass::backward_data).flops == 1920);
  const Layer linear = layer_of(image, "  - resize: {kind: linear, size: 24x40}\n");
  CHECK(to_string(linear.output_shape) == "6×24×40");
  // Each position is a mean of 2 × 2 positions.
  CHECK(work_of(linear, Pass::forward).flops == 2 * 4 * 6 * 24 * 40);
  CHECK_FALSE(kept_of(linear).input);
  CHECK(linear.operation->divisible().spatial);
  CHECK(linear.operation->window().spread == std::array<std::int64_t, 3>{3, 4, 1});
  CHECK(linear.operation->window().size == std::array<std::int64_t, 3>{5, 8, 1});
  // Borders between tiles would not stay aligned.
  CHECK_FALSE(layer_of(image, "  - resize: {kind: linear, size: 12x10}\n").operation->divisible().spatial);
  CHECK(error_in(image, "  - resize: {kind: linear}\n") == "resize needs either 'size' or 'factor'");
  CHECK(error_in(image, "  - resize: {kind: linear, size: 8, factor: 2}\n") == "resize needs either 'size' or 'factor'");
  CHECK(error_in(image, "  - resize: {kind: cubic, factor: 2}\n") == "unknown kind 'cubic'");
  CHECK(error_in(image, "  - resize: {kind: linear, factor: 2147483648}\n") == "2147483648 times 8 positions are too many");
  CHECK(error_in(image, "  - resize: {kind: linear, size: 2147483648}\n") ==
        "layer 'resize1': the output would have more than 2^53 elements");
  CHECK(error_in(vector, "  - resize: {kind: linear, factor: 2}\n") == "the input 12 cannot be resized");
}

TEST_CASE("trained factors of channels have a gradient, constant factors have none") {
  const Layer trained = layer_of(image, "  - scale: trained\n");
  CHECK(trained.weights == 0);
  CHECK(trained.biases == 6);
  CHECK(kept_of(trained).input);
  CHECK(work_of(trained, Pass::forward).activation_items == 2 * 480);
  CHECK(work_of(trained, Pass::backward_weight).activation_items == 2 * 480);
  const Layer affine = layer_of(image, "  - scale: {factor: trained, bias: yes}\n");
  CHECK(affine.biases == 12);
  CHECK(affine.operation->attributes() == "factor=trained bias=yes");
  const Layer constant = layer_of(image, "  - scale: 0.17\n");
  CHECK(constant.parameters() == 0);
  CHECK_FALSE(kept_of(constant).input);
  CHECK(work_of(constant, Pass::backward_weight).flops == 0);
  CHECK(constant.operation->attributes() == "factor=0.17");
  CHECK(error_in(image, "  - scale\n") == "scale needs 'factor'");
  CHECK(error_in(image, "  - scale: much\n").find("much") != std::string::npos);
  CHECK(error_in(image, "  - scale: {factor: 2, bias: yes}\n") == "a trained shift needs a trained factor");

  // A norm that is not trained multiplies and adds. Operator by operator, the sum is a kernel of its own, which reads and
  // writes each element. Its gradient is passed on.
  const Layer frozen = layer_of(image, "  - scale: {factor: 1, shift: yes}\n");
  CHECK(frozen.parameters() == 0);
  CHECK(frozen.operation->attributes() == "factor=1 shift=yes");
  const auto of_operators = [](const Layer& layer, Pass pass) {
    double moved = 0;
    for (const Work& kernel : layer.operation->kernels(pass, layer.input_shapes, layer.output_shape))
      moved += kernel.activation_items;
    return moved;
  };
  CHECK(work_of(frozen, Pass::forward).activation_items == 2 * 480);
  CHECK(of_operators(frozen, Pass::forward) == 4 * 480);
  CHECK(of_operators(frozen, Pass::backward_data) == 2 * 480);
  CHECK(of_operators(constant, Pass::forward) == 2 * 480);
  CHECK(error_in(image, "  - scale: {factor: trained, shift: yes}\n") == "a constant shift needs a constant factor");
}

TEST_CASE("the loss of an image is a sum over positions") {
  CHECK(layer_of(image, "  - loss: cross_entropy\n").operation->divisible().spatial);
  CHECK_FALSE(layer_of(vector, "  - loss: cross_entropy\n").operation->divisible().spatial);
  CHECK_FALSE(layer_of(sequence, "  - loss: cross_entropy\n").operation->divisible().spatial);
}

TEST_CASE("joining layers read all their inputs") {
  const std::string two = "  - activation: relu\n    name: a\n  - activation: tanh\n    name: b\n";
  const Layer add = layer_of(image, two + "  - add:\n    from: [a, b]\n");
  CHECK(work_of(add, Pass::forward).activation_items == 3 * 480);
  CHECK_FALSE(kept_of(add).input);
  CHECK_FALSE(kept_of(add).output);
  const Layer three = layer_of(image, two + "  - add:\n    from: [a, b, input]\n");
  CHECK(work_of(three, Pass::forward).activation_items == 4 * 480);
  const Layer concat = layer_of(image, two + "  - concat:\n    from: [a, b, input]\n");
  CHECK(to_string(concat.output_shape) == "18×8×10");
  CHECK(work_of(concat, Pass::forward).activation_items == 2 * 3 * 480);
  const Layer multiply = layer_of(image, two + "  - multiply:\n    from: [a, b]\n");
  CHECK(kept_of(multiply).input);
  CHECK(work_of(multiply, Pass::backward_data).activation_items == 5 * 480);
}

TEST_CASE("one value per channel scales a whole tensor") {
  const Layer scaled = layer_of(image, "  - multiply: {branches: [[], [{pool: {kind: average, global: yes}}]]}\n");
  CHECK(to_string(scaled.output_shape) == "6×8×10");
  CHECK(work_of(scaled, Pass::forward).activation_items == 480 + 6 + 480);
}

TEST_CASE("views move nothing") {
  CHECK(shape_of_last(image, "  - flatten\n") == "480");
  CHECK(shape_of_last(image, "  - reshape: {channels: 12, size: 4x10}\n") == "12×4×10");
  CHECK(shape_of_last(image, "  - reshape: {channels: 6, tokens: 80}\n") == "6 over 80 tokens");
  CHECK(shape_of_last(image, "  - reshape: {channels: 480}\n") == "480");
  CHECK(shape_of_last(image, "  - identity\n") == "6×8×10");
  for (const std::string item : {"flatten", "identity", "reshape: {channels: 480}"}) {
    const Layer layer = layer_of(image, "  - " + item + "\n");
    CHECK(work_of(layer, Pass::forward).activation_items == 0);
    CHECK_FALSE(kept_of(layer).input);
  }
}

TEST_CASE("embeddings are tables that tokens look up") {
  const Layer embedding = layer_of(words, "  - embedding: {vocabulary: 100, features: 24}\n");
  CHECK(to_string(embedding.output_shape) == "24 over 16 tokens");
  CHECK(embedding.weights == 2400);
  CHECK(work_of(embedding, Pass::forward).activation_items == 16 + 2 * 24 * 16);
  CHECK(work_of(embedding, Pass::backward_data).activation_items == 0);
  CHECK(work_of(embedding, Pass::backward_weight).weight_items == 2400);
  CHECK(embedding.operation->divisible().matrix);
  const Layer positions = layer_of(sequence, "  - position_embedding: 20\n");
  CHECK(positions.weights == 20 * 24);
  CHECK(positions.output_shape == positions.input_shapes.front());
}

TEST_CASE("an additional input has its declared shape, and has no work") {
  const Model model = model_of(words,
                               "  - embedding: {vocabulary: 9, features: 4}\n  - input: {tokens: 7}\n    name: target\n"
                               "  - embedding: {vocabulary: 9, features: 4}\n");
  const Layer& target = model.layers[1];
  CHECK(target.inputs == std::vector<int>{-1});
  CHECK(to_string(target.output_shape) == "1 over 7 tokens");
  CHECK(model.layers[2].inputs == std::vector<int>{1});
  CHECK(target.parameters() == 0);
  for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_weight}) {
    CHECK(work_of(target, pass).activation_items == 0);
  }
  CHECK_FALSE(kept_of(target).input);
  CHECK_FALSE(kept_of(target).output);
  CHECK(target.operation->attributes() == "tokens=7");
  CHECK(layer_of(words, "  - input: {channels: 3, size: 8x4}\n").operation->attributes() == "channels=3 size=8x4");
  CHECK(layer_of(words, "  - input: {features: 13}\n").operation->attributes() == "features=13");
  CHECK(layer_of(words, "  - input: {channels: 5, tokens: 13}\n").operation->attributes() == "channels=5 tokens=13");
  CHECK(error_in(words, "  - input\n") == "input needs 'tokens'");
  CHECK(error_in(words, "  - input: {features: 2, tokens: 3}\n") == "the shape of a sample is not clear");
  CHECK(error_in(words, "  - input: 3\n") == "input needs the names of its attributes");
  CHECK(error_in(words, "  - {input: {tokens: 3}, from: input}\n") == "input is part of the sample and cannot have inputs");
}

TEST_CASE("attention multiplies each pair of tokens twice") {
  // There are queries, keys and values of 8 channels each, in four heads of 2.
  const Layer layer = layer_of(sequence, "  - attention: {heads: 4, causal: yes, dropout: 0.1}\n");
  CHECK(to_string(layer.output_shape) == "8 over 16 tokens");
  CHECK(layer.parameters() == 0);
  const double products = 4.0 * 16 * 16 * 8;
  const double scores = 4.0 * 16 * 16;
  CHECK(layer.operation->macs(layer.input_shapes, layer.output_shape) == products / 2);
  // The softmax takes five operations for each score.
  CHECK(work_of(layer, Pass::forward).flops == products + 5 * scores);
  CHECK(work_of(layer, Pass::backward_data).flops == 2 * (products + 5 * scores));
  CHECK(work_of(layer, Pass::backward_weight).flops == 0);
  check_product(work_of(layer, Pass::forward), 16, 16, 2, Work::Batched::count);
  // By [Kort22], the softmax's output, a mask of one byte, and the dropout's output are kept.
  CHECK(kept_of(layer).input);
  CHECK(kept_of(layer).mask_items == scores);
  CHECK(kept_of(layer).extra_items == 2 * scores);
  CHECK(layer.operation->divisible().channelwise);
  CHECK(layer.operation->divisible().channel_units == 4);

  const Layer plain = layer_of(sequence, "  - attention: 4\n");
  CHECK(kept_of(plain).mask_items == 0);
  CHECK(kept_of(plain).extra_items == scores);
}

TEST_CASE("a rank of a context split has the kernels of written scores for the keys of each rank") {
  const Layer layer = layer_of(sequence, "  - attention: {heads: 4, causal: yes, dropout: 0.1}\n");
  std::vector<TensorShape> inputs = layer.input_shapes;
  TensorShape output = layer.output_shape;
  inputs.front().extent[0] = output.extent[0] = 8;
  const double scores = 4.0 * 16 * 16;
  for (const Pass pass : {Pass::forward, Pass::backward_data}) {
    const bool is_forward = pass == Pass::forward;
    const std::vector<Work> whole = layer.operation->kernels(pass, layer.input_shapes, layer.output_shape);
    const std::vector<Work> half = layer.operation->in_contexts(2)->kernels(pass, inputs, output);
    // Two steps, and the sum of their outputs, or of their gradients of queries, keys and values.
    CHECK(half.size() == 2 * whole.size() + 1);
    const double summed = 8.0 * (is_forward ? 8 : 24);
    CHECK(sum_of(half).flops == Approx(sum_of(whole).flops / 2 + 2 * summed));
    const auto moved = [](const std::vector<Work>& kernels, KernelKind kind) {
      double items = 0;
      for (const Work& each : kernels) items += each.kernel_kind() == kind ? each.activation_items : 0;
      return items;
    };
    // A rank has half of the scores. In both steps together, it moves as many other elements as without a split.
    for (const KernelKind kind : {KernelKind::softmax, KernelKind::dropout})
      CHECK(moved(half, kind) == moved(whole, kind) / 2);
    const double products = is_forward ? 2 : 4, scaled_and_masked = 2;
    CHECK(moved(half, KernelKind::matrix_product) == moved(whole, KernelKind::matrix_product) - products * scores / 2);
    // A sum has two reads and one write of 4 bytes each, and an item has 2 bytes.
    CHECK(moved(half, KernelKind::elementwise) ==
          moved(whole, KernelKind::elementwise) - scaled_and_masked * 2 * scores / 2 + 6 * summed);
  }
}

TEST_CASE("query heads may share keys and values") {
  // There are four query heads and two heads of keys and values: (4 + 2·2)·3 = 24.
  const Layer layer = layer_of(sequence, "  - attention: {heads: 4, kv_heads: 2}\n");
  CHECK(to_string(layer.output_shape) == "12 over 16 tokens");
  CHECK(layer.operation->divisible().channel_units == 2);
  CHECK(layer.operation->attributes() == "heads=4 kv_heads=2");
}

TEST_CASE("selecting a token leaves a flat vector") {
  const Layer layer = layer_of(sequence, "  - select: first\n");
  CHECK(to_string(layer.output_shape) == "24");
  CHECK(work_of(layer, Pass::backward_data).activation_items == 24 * 16 + 24);
}

TEST_CASE("picking tokens leaves a shorter sequence") {
  const Layer layer = layer_of(sequence, "  - pick: 3\n");
  CHECK(to_string(layer.output_shape) == "24 over 3 tokens");
  CHECK(work_of(layer, Pass::forward).activation_items == 2 * 24 * 3);
  // Zeros are written for all tokens, and the gradients of three tokens are read and written.
  CHECK(work_of(layer, Pass::backward_data).activation_items == 24 * 16 + 24 * 3);
  CHECK_THROWS_AS(layer_of(sequence, "  - pick: 17\n"), Error);
  CHECK_THROWS_AS(layer_of(vector, "  - pick: 1\n"), Error);
}

TEST_CASE("softmax and losses") {
  const Layer softmax = layer_of(vector, "  - softmax\n");
  CHECK(kept_of(softmax).output);
  CHECK_FALSE(softmax.operation->divisible().channelwise);
  const Layer entropy = layer_of(vector, "  - loss: cross_entropy\n");
  CHECK(to_string(entropy.output_shape) == "1");
  // The softmax is kept in fp32, in any precision of activations.
  CHECK(kept_of(entropy).mask_items == 4 * 12);
  CHECK(kept_of(layer_of(vector, "  - loss: mse\n")).input);
}

TEST_CASE("a focal loss has a kernel for each operator, or one fused kernel") {
  const Layer layer = layer_of(vector, "  - loss: focal\n");
  // One kernel reads the 12 outputs and their targets; backward also writes the gradient.
  CHECK(work_of(layer, Pass::forward).activation_items == 2 * 12);
  CHECK(work_of(layer, Pass::backward_data).activation_items == 3 * 12);
  // Operators of torchvision's sigmoid_focal_loss: the sigmoid, 4 of the cross entropy, 5 of the probability of the target,
  // 3 of its power, 5 of the weights and one sum. Their tensors are 2 + (2 + 3 + 2 + 3) + (3 + 2 + 2 + 3 + 3) + (2 + 2 + 3)
  // + (2 + 2 + 2 + 3 + 3) + 1.
  double tensors = 0;
  const std::vector<Work> kernels = layer.operation->kernels(Pass::forward, layer.input_shapes, layer.output_shape);
  for (const Work& each : kernels) tensors += each.activation_items / 12;
  CHECK(kernels.size() == 1 + 18);
  CHECK(tensors == 2 + 10 + 13 + 7 + 12 + 1);
  CHECK(kept_of(layer).input);
}

TEST_CASE("attributes read back in the syntax of model files") {
  const auto attributes = [](const std::string& input, const std::string& item) {
    return layer_of(input, "  - " + item + "\n").operation->attributes();
  };
  CHECK(attributes(image, "convolution: {filters: 64, kernel: 3, stride: 2}") == "filters=64 kernel=3x3 stride=2");
  CHECK(attributes(image, "convolution: {filters: same, kernel: 3x1, padding: 1x0, groups: 2, dilation: 2, bias: no}") ==
        "filters=same kernel=3x1 padding=1x0 dilation=2 groups=2 bias=no");
  CHECK(attributes(image, "convolution: {filters: 2, kernel: 3, padding: same}") == "filters=2 kernel=3x3 padding=same");
  CHECK(attributes(image, "transposed_convolution: {filters: 2, kernel: 3, stride: 2, output_padding: 1}") ==
        "filters=2 kernel=3x3 stride=2 output_padding=1");
  CHECK(attributes(image, "pool: {kind: max, kernel: 3, stride: 2, ceil: yes}") == "kind=max kernel=3x3 stride=2 ceil=yes");
  CHECK(attributes(image, "pool: {kind: average, global: yes}") == "kind=average adaptive=1x1");
  CHECK(attributes(image, "norm: {kind: group, groups: 2, bias: no}") == "kind=group groups=2 bias=no");
  CHECK(attributes(image, "activation: {kind: relu, in_place: yes}") == "kind=relu in_place=yes");
  CHECK(attributes(image, "dropout: 0.1") == "rate=0.1");
  CHECK(attributes(image, "reshape: {channels: 12, size: 4x10}") == "channels=12 size=4x10");
  CHECK(attributes(image, "reshape: {channels: 6, tokens: 80}") == "channels=6 tokens=80");
  CHECK(attributes(sequence, "select: last") == "token=last");
  CHECK(attributes(sequence, "pick: 3") == "tokens=3");
  CHECK(attributes(sequence, "attention: {heads: 4, causal: yes, dropout: 0.1}") == "heads=4 causal=yes dropout=0.1");
  CHECK(attributes(words, "embedding: {vocabulary: 9, features: 4}") == "vocabulary=9 features=4");
  CHECK(attributes(sequence, "position_embedding: 16") == "positions=16");
  CHECK(attributes(vector, "loss: mse") == "kind=mse");
}

TEST_CASE("sequences are not divided spatially") {
  for (const std::string item : {"activation: gelu", "dropout: 0.1", "norm: rms", "norm: batch", "identity",
                                 "convolution: {filters: 4, kernel: 3}", "pool: {kind: max, kernel: 2}"}) {
    INFO(item);
    CHECK_FALSE(layer_of(sequence, "  - " + item + "\n").operation->divisible().spatial);
    if (item != "norm: batch") continue;
    CHECK(layer_of(image, "  - " + item + "\n").operation->divisible().spatial);
  }
}

TEST_CASE("operations refuse inputs of unsuitable shapes") {
  CHECK(error_in(image, "  - convolution: {filters: 4, kernel: 9}\n") ==
        "layer 'conv1': the kernel 9x9 does not fit the input 6×8×10: it spans 9 positions, but the padded input has 8");
  CHECK(error_in(image, "  - convolution: {filters: 4, kernel: 3, groups: 4}\n") ==
        "the 6 channels of the input do not divide into 4 groups");
  CHECK(error_in(image, "  - convolution: {filters: 4, kernel: 3, groups: 3}\n") == "4 filters do not divide into 3 groups");
  CHECK(error_in(image, "  - convolution: {filters: 4, kernel: 3x3x3}\n") ==
        "the kernel '3x3x3' has 3 sizes, but the input 6×8×10 has 2");
  CHECK(error_in(vector, "  - convolution: {filters: 4, kernel: 3}\n") ==
        "the input 12 has no positions to move a window over");
  CHECK(error_in(image, "  - convolution: {filters: 4}\n") == "convolution needs 'kernel'");
  CHECK(error_in(image, "  - convolution: {kernel: 4}\n") == "convolution needs 'filters'");
  CHECK(error_in(image, "  - convolution: {filters: 0, kernel: 3}\n") == "'0' is too small: at least 1");
  CHECK(error_in(image, "  - convolution: {filters: 4, kernel: 0}\n") == "the kernel 0 is too small: at least 1");
  CHECK(error_in(image, "  - convolution: {filters: 4, kernel: 3y}\n") == "'3y' is not a size");
  CHECK(error_in(image, "  - convolution: {filters: 4, kernel: 3, padding: smae}\n") == "unknown padding 'smae'");
  CHECK(error_in(image, "  - convolution: {filters: 4, kernel: 3, padding: -1}\n") ==
        "the padding -1 is too small: at least 0");
  CHECK(error_in(image, "  - transposed_convolution: {filters: 4, kernel: 3, padding: 20}\n")
            .starts_with("layer 'deconv1': the output would be empty"));
  CHECK(error_in(image, "  - transposed_convolution: {filters: 4, kernel: 3, output_padding: 1}\n") ==
        "the output padding 1 is not smaller than the stride 1");
  CHECK(error_in(image, "  - transposed_convolution: {filters: 4, kernel: 3, groups: 4}\n") ==
        "6 input channels and 4 filters do not divide into 4 groups");
  CHECK(error_in(image, "  - fully_connected: 4\n") ==
        "layer 'fc1': fully_connected needs a flat vector or a sequence, not 6×8×10");
  CHECK(error_in(image, "  - pool: {kind: max, kernel: 2, padding: 2}\n") ==
        "the padding 2 is more than half of the kernel 2");
  CHECK(error_in(image, "  - pool: {kind: maxi, kernel: 2}\n") == "unknown kind 'maxi'");
  CHECK(error_in(image, "  - pool: {kind: max}\n") == "pool needs 'kernel'");
  CHECK(error_in(image, "  - pool: {kernel: 2}\n") == "pool needs 'kind'");
  CHECK(error_in(image, "  - pool: {kind: max, global: yes, adaptive: 2}\n") ==
        "'adaptive' and 'global' exclude each other");
  CHECK(error_in(image, "  - pool: {kind: max, global: yes, kernel: 2}\n") ==
        "'kernel' has no effect if the output size is given");
  CHECK(error_in(vector, "  - pool: {kind: max, global: yes}\n") == "the input 12 has no positions to pool");
  CHECK(error_in(image, "  - norm: {kind: group, groups: 4}\n") ==
        "the 6 channels of the input do not divide into 4 groups");
  CHECK(error_in(image, "  - norm: {kind: group}\n") == "norm needs 'groups'");
  CHECK(error_in(image, "  - norm: {kind: batch, groups: 2}\n") == "only a norm of the kind group has groups");
  CHECK(error_in(image, "  - dropout: 1.5\n") == "'1.5' is too large: at most 1");
  CHECK(error_in(image, "  - add\n") == "layer 'add1': add takes two or more inputs, not 1");
  CHECK(error_in(image, "  - concat\n") == "layer 'concat1': concat takes two or more inputs, not 1");
  CHECK(error_in(image, "  - flatten:\n    name: f\n  - concat:\n    from: [f, input]\n") ==
        "layer 'concat1': concat needs inputs with the same positions, not 480 and 6×8×10 (it reads 'f', 'input')");
  CHECK(error_in(image, "  - flatten:\n    name: f\n  - multiply:\n    from: [f, input]\n") ==
        "layer 'multiply1': multiply needs inputs of the same shape, not 480 and 6×8×10 (it reads 'f', 'input')");
  CHECK(error_in(image, "  - activation: relu\n    from: [input, input]\n") ==
        "layer 'relu1': activation takes one input, not 2 (it reads 'input', 'input')");
  CHECK(error_in(image, "  - reshape: {channels: 7}\n") == "layer 'reshape1': 6×8×10 has 480 elements, 7 has 7");
  CHECK(error_in(image, "  - reshape: {channels: 7, size: 3, tokens: 4}\n") == "'size' and 'tokens' exclude each other");
  CHECK(error_in(image, "  - embedding: {vocabulary: 9, features: 4}\n") ==
        "layer 'embedding1': embedding needs tokens, not 6×8×10");
  CHECK(error_in(sequence, "  - position_embedding: 15\n") ==
        "layer 'positions1': the sequence has 16 tokens, but the table has 15 positions");
  CHECK(error_in(vector, "  - position_embedding: 15\n") ==
        "layer 'positions1': position_embedding needs a sequence, not 12");
  CHECK(error_in(sequence, "  - attention: 5\n") ==
        "the 24 channels of the input do not divide into 5 query and 2 × 5 key and value heads");
  CHECK(error_in(sequence, "  - attention: {heads: 4, kv_heads: 3}\n") == "4 heads are not divisible by 3 key-value heads");
  CHECK(error_in(image, "  - attention: 2\n") == "layer 'attention1': attention needs a sequence, not 6×8×10");
  CHECK(error_in(image, "  - select: first\n") == "layer 'select1': select takes a token of a sequence, not 6×8×10");
}

TEST_CASE("sizes that a double cannot count exactly are refused") {
  // 2^53 is about 9.007·10^15.
  CHECK(error_in("{features: 2000000000}", "  - fully_connected: 2000000000\n") ==
        "layer 'fc1': the matrix would have more than 2^53 elements");
  CHECK(error_in("{channels: 1, size: 100000000x1000}", "  - convolution: {filters: 100000, kernel: 1}\n") ==
        "layer 'conv1': the output would have more than 2^53 elements");
  CHECK(error_in("{channels: 100000, size: 9x9}", "  - convolution: {filters: 2000000000, kernel: 9}\n") ==
        "layer 'conv1': the kernels would have more than 2^53 elements");
  CHECK(error_in("{channels: 3, tokens: 100000000}", "  - attention: 1\n") ==
        "layer 'attention1': the scores would have more than 2^53 elements");
  CHECK(error_in("{channels: 1, size: 2147483648x2147483648}", "  - flatten\n") ==
        "a sample of 1×2147483648×2147483648 is not possible");
  CHECK(error_in("{channels: 1, size: 8}", "  - convolution: {filters: 9999999999, kernel: 1}\n") ==
        "'9999999999' is too large: at most 2147483648");
  CHECK(error_in("{channels: 1, size: 8}",
                 "  - transposed_convolution: {filters: 1, kernel: 2147483648, dilation: 2147483648}\n") ==
        "layer 'deconv1': the output would have more than 2^53 elements");
  CHECK(error_in("{features: 90000000}", "  - repeat: {times: 3, layers: [{fully_connected: 90000000}]}\n") ==
        "the model has more than 2^53 parameters");
}

}  // namespace operations_tests
