#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "model_zoo/files/canonical_name.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"
#include "tests/unit/model_zoo/kept_bytes.hpp"
#include "tests/unit/model_zoo/one_layer.hpp"

namespace vision_transformers_tests {

using namespace ddl;

namespace {

const std::string image = "{channels: 12, size: 6x8}";
const std::string sequence = "{channels: 24, tokens: 16}";

std::string error_in(const std::string& input, const std::string& items) {
  return error_of([&] { (void)model_of(input, items); });
}

void check_refused(const std::string& input, const std::string& items, const std::string& why) {
  INFO(error_in(input, items));
  CHECK(error_in(input, items).find(why) != std::string::npos);
}

/// Checks that `parts` slices of the channels have the work and weights of the whole layer.
void check_slices_add_up(const Layer& layer, std::int64_t units) {
  for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_weight}) {
    double flops = 0, traffic = 0, kept = 0;
    std::int64_t parameters = 0;
    for (std::int64_t unit = 0; unit < units; ++unit) {
      std::vector<TensorShape> inputs = layer.input_shapes;
      TensorShape output = layer.output_shape;
      inputs.front().channels /= units;
      output.channels /= units;
      const Work work = layer.operation->work(pass, inputs, output);
      flops += work.flops;
      traffic += work.activation_items;
      kept += layer.operation->kept(inputs, output).extra_items;
      parameters += layer.operation->weights(inputs, output) + layer.operation->biases(inputs, output);
    }
    CHECK(flops == Approx(work_of(layer, pass).flops));
    CHECK(traffic == Approx(work_of(layer, pass).activation_items));
    CHECK(kept == Approx(kept_of(layer).extra_items));
    CHECK(parameters == layer.parameters());
  }
}

}  // namespace

TEST_CASE("vision transformers have the parameters and multiply-adds of torchvision") {
  struct Case {
    std::string name;
    std::int64_t parameters, macs, buffer_bytes;
  };
  // Counted with torchvision 0.14.1 on PyTorch 1.13.1 for one image of 224 × 224: parameters and buffers of the module, and
  // multiply-adds in aten's convolution, addmm, mm and bmm during one forward pass.
  for (const Case& c : {Case{"vit_b_16", 86'567'656, 17'563'828'224, 0}, Case{"vit_b_32", 88'224'232, 4'409'186'304, 0},
                        Case{"vit_l_16", 304'326'632, 61'554'712'576, 0}, Case{"swin_t", 28'288'354, 4'490'566'656, 230'496},
                        Case{"swin_b", 87'768'224, 15'430'946'816, 460'992}}) {
    const Model model = load_model(c.name);
    INFO(c.name);
    CHECK(model.parameters() == c.parameters);
    CHECK(static_cast<std::int64_t>(model.macs()) == c.macs);
    CHECK(4 * model.buffers() == c.buffer_bytes);
  }
}

TEST_CASE("a vision transformer's layers keep as many bytes as a language model's layers without dropout") {
  // [Kort22] has sbh(34 + 5as/h) bytes in fp16. Without dropout, the two masks of one byte after the matrices, and the mask
  // and output of the dropout on the scores, are not kept: sbh(32 + 2as/h).
  const Model model = load_model("vit_b_16@fused=no");
  const double h = 768, a = 12, s = 14 * 14 + 1;
  CHECK(model.blocks == 12);
  std::vector<int> layers;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    if (model.layers[i].block == 5) layers.push_back(static_cast<int>(i));
  }
  CHECK(kept_bytes(model, layers, 2).sum() == Approx(s * h * (32 + 2 * a * s / h)).epsilon(1e-14));
}

TEST_CASE("Swin halves the positions and doubles the channels from stage to stage") {
  const Model model = load_model("swin_t");
  std::vector<std::string> attention;
  for (const Layer& layer : model.layers) {
    if (layer.operation->type() != "window_attention") continue;
    attention.push_back(to_string(layer.output_shape) + " " + layer.operation->attributes());
  }
  // Stages have 2, 2, 6 and 2 blocks and 3, 6, 12 and 24 heads [Liu et al., section 3.3]. Every
  // second block is shifted by half a window.
  REQUIRE(attention.size() == 12);
  CHECK(attention[0] == "96×56×56 heads=3 window=7x7");
  CHECK(attention[1] == "96×56×56 heads=3 window=7x7 shift=3");
  CHECK(attention[3] == "192×28×28 heads=6 window=7x7 shift=3");
  for (const std::size_t block : {4U, 6U, 8U}) CHECK(attention[block] == "384×14×14 heads=12 window=7x7");
  CHECK(attention[11] == "768×7×7 heads=24 window=7x7 shift=3");
  CHECK(model.blocks == 12);
  // torchvision 0.14.1 has stochastic depth after both halves of each block, with rates up to 0.2 and 0.5.
  for (const auto& [name, rate, halves] :
       {std::tuple{"swin_t", "rate=0.2 of=samples", 24}, {"swin_b", "rate=0.5 of=samples", 48}}) {
    const Model deep = load_model(name);
    CHECK(std::count_if(deep.layers.begin(), deep.layers.end(), [&, rate = rate](const Layer& layer) {
            return layer.operation->type() == "dropout" && layer.operation->attributes() == rate;
          }) == halves);
  }
}

TEST_CASE("a Swin block keeps as many bytes as PyTorch saves") {
  // Measured on PyTorch 1.13 with the first two blocks of torchvision, written out: the tensors saved for backward have
  // 21,161,736 bytes for one image, each storage counted once, whether shifted or not. 4 · 12,544 of these are means and
  // deviations of the norms, and 8 are a constant. Stochastic depth adds a factor per sample for each half of a block.
  const Model model = load_model("swin_t");
  for (const int block : {0, 1}) {
    std::vector<int> layers;
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
      if (model.layers[i].block == block) layers.push_back(static_cast<int>(i));
    }
    CHECK(kept_bytes(model, layers, 4).sum() == 21'161'736 - 4 * 12'544 - 8 + 2 * 4);
  }
}

TEST_CASE("a name with a slash is a model if this is a spelling of a model's name, and otherwise a path") {
  CHECK(load_model("ViT-B/16").name == "vit_b_16");
  CHECK(load_model("ViT-L/16").name == "vit_l_16");
  CHECK(canonical_model_name("Swin-Tiny") == "swin_t");
  CHECK(error_of([] { (void)load_model("./ViT-B/16"); }).find("./ViT-B/16") != std::string::npos);
}

TEST_CASE("a class token is put before the other tokens") {
  const Layer layer = layer_of(sequence, "  - class_token\n");
  CHECK(to_string(layer.output_shape) == "24 over 17 tokens");
  CHECK(layer.weights == 0);
  CHECK(layer.biases == 24);
  CHECK(work_of(layer, Pass::forward).activation_items == 24 * 16 + 24 * 17);
  // The gradient of the tokens is a part of the output's gradient. Nothing is kept for it.
  CHECK(work_of(layer, Pass::backward_data).activation_items == 0);
  CHECK(work_of(layer, Pass::backward_weight).activation_items == 24);
  CHECK_FALSE(kept_of(layer).input);
  check_slices_add_up(layer, 4);
  check_refused(image, "  - class_token\n", "class_token needs a sequence, not 12×6×8");
}

TEST_CASE("blocks of positions become channels") {
  const Layer layer = layer_of(image, "  - space_to_depth: 2\n");
  CHECK(to_string(layer.output_shape) == "48×3×4");
  CHECK(layer.parameters() == 0);
  CHECK(work_of(layer, Pass::forward).activation_items == 2 * 12 * 48);
  CHECK(work_of(layer, Pass::backward_data).activation_items == 2 * 12 * 48);
  CHECK(layer.operation->attributes() == "block=2x2");
  CHECK(to_string(layer_of(image, "  - space_to_depth: {block: 1x4}\n").output_shape) == "48×6×2");
  // The windows are adjacent, so a tile needs no halo.
  CHECK(layer.operation->divisible().spatial);
  CHECK(layer.operation->window().size == layer.operation->window().stride);
  check_slices_add_up(layer, 4);
  check_refused(image, "  - space_to_depth: 4\n", "12×6×8 does not divide into blocks of 4x4");
  check_refused(image, "  - space_to_depth\n", "space_to_depth needs 'block'");
  check_refused(sequence, "  - space_to_depth: 2\n", "space_to_depth needs an image, not 24 over 16 tokens");
}

TEST_CASE("window attention has two products for each pair of positions in a window") {
  // Queries, keys and values have 4 channels each, in two heads of 2 channels. There are 4 windows
  // of 3 × 4, so of 12 positions.
  const Layer layer = layer_of(image, "  - window_attention: {heads: 2, window: 3x4}\n");
  CHECK(to_string(layer.output_shape) == "4×6×8");
  const double macs = 2.0 * 4 * 12 * 12 * 4;
  const double scores = 2.0 * 4 * 12 * 12;
  CHECK(layer.operation->macs(layer.input_shapes, layer.output_shape) == macs);
  // Each head has a bias for each of the (2·3 − 1)·(2·4 − 1) relative positions. The index that
  // finds the bias counts as two items.
  CHECK(layer.weights == 0);
  CHECK(layer.biases == 2 * 5 * 7);
  CHECK(layer.buffers == 2 * 12 * 12);
  // The bias has one operation, and the softmax has five. The image is copied into windows and back.
  CHECK(work_of(layer, Pass::forward).flops == 2 * macs + 6 * scores);
  CHECK(work_of(layer, Pass::forward).activation_items == 12 * 48 + 4 * 48 + 6 * scores + 4 * 4 * 48);
  CHECK(work_of(layer, Pass::backward_data).flops == 2 * (2 * macs + 5 * scores));
  CHECK(work_of(layer, Pass::backward_weight).flops == scores);
  CHECK(kept_of(layer).input);
  CHECK(kept_of(layer).extra_items == scores);
  CHECK(layer.operation->divisible().channelwise);
  CHECK(layer.operation->divisible().channel_units == 2);
  CHECK_FALSE(layer.operation->divisible().spatial);
  check_slices_add_up(layer, 2);

  // A shifted layer adds a mask, and rolls the image before and after.
  const Layer shifted = layer_of(image, "  - window_attention: {heads: 2, window: 3x4, shift: 1}\n");
  CHECK(work_of(shifted, Pass::forward).flops == 2 * macs + 7 * scores);
  CHECK(work_of(shifted, Pass::forward).activation_items ==
        work_of(layer, Pass::forward).activation_items + 2 * scores + 4 * 4 * 48);
  CHECK(shifted.parameters() == layer.parameters());
  // A single window cannot be shifted.
  const Layer one = layer_of(image, "  - window_attention: {heads: 2, window: 6x8}\n");
  const Layer rolled = layer_of(image, "  - window_attention: {heads: 2, window: 6x8, shift: 3}\n");
  CHECK(work_of(one, Pass::forward).activation_items == work_of(rolled, Pass::forward).activation_items);
  // A perceptron with 512 hidden features reads rows and columns, and each head has a column of it and a factor.
  const Layer cosine = layer_of(image, "  - window_attention: {heads: 2, window: 3x4, positions: perceptron}\n");
  CHECK(cosine.operation->biases(cosine.input_shapes, cosine.output_shape) == 2 * 512 + 512 + 2 * 512 + 2);
  // Backward also needs the cosines, unit queries and keys, a copy of the values, and two lengths of each query and key;
  // once for all samples the hidden features of 5 by 7 offsets, and each head's sigmoids and factor.
  const Kept plain = layer.operation->kept(layer.input_shapes, layer.output_shape),
             turned = cosine.operation->kept(cosine.input_shapes, cosine.output_shape);
  CHECK(turned.extra_items == 2 * plain.extra_items + static_cast<double>(cosine.input_shapes.front().items()));
  CHECK(turned.softmax_items == plain.softmax_items);
  CHECK(turned.statistics == 2 * 2 * 2 * 6 * 8);
  CHECK(turned.batch_statistics == 5 * 7 * 512 + 2 * (12 * 12 + 1));
  // Windows of 4 by 4 fill 6 by 8 up to 8 by 8 positions of 4 channels.
  const Layer padded = layer_of(image, "  - window_attention: {heads: 2, window: 4, positions: none, padded: yes}\n");
  CHECK(padded.operation->macs(padded.input_shapes, padded.output_shape) ==
        2.0 * 16 * 8 * 8 * static_cast<double>(padded.output_shape.channels));
  CHECK(padded.operation->biases(padded.input_shapes, padded.output_shape) == 0);

  // Biases of pairs come from another layer, which has their gradients: a sum of those of all scores.
  const Layer pairs = layer_of(image, "  - window_attention: {heads: 2, window: 3x4, positions: pairs}\n");
  const Layer bare = layer_of(image, "  - window_attention: {heads: 2, window: 3x4, positions: none}\n");
  CHECK(pairs.parameters() == 0);
  CHECK(work_of(pairs, Pass::forward).flops == work_of(bare, Pass::forward).flops + scores);
  CHECK(work_of(pairs, Pass::forward).activation_items == work_of(bare, Pass::forward).activation_items + 2 * scores);
  CHECK(work_of(pairs, Pass::backward_data).activation_items ==
        work_of(bare, Pass::backward_data).activation_items + scores);

  // The kernels together do the work of the layer. Their products are batches of all windows and heads.
  for (const Layer& each : {layer, shifted, cosine, padded, pairs}) {
    for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_weight}) {
      std::vector<Work> kernels = each.operation->kernels(pass, each.input_shapes, each.output_shape);
      std::erase_if(kernels, [](const Work& kernel) { return kernel.is_separate; });
      const Work whole = work_of(each, pass), sum = sum_of(kernels);
      CHECK(sum.flops == Approx(whole.flops));
      CHECK(sum.activation_items == Approx(whole.activation_items));
      CHECK(sum.weight_items == whole.weight_items);
      for (const Work& kernel : kernels)
        if (kernel.kernel_kind() == KernelKind::matrix_product) CHECK(kernel.count == 2 * 4);  // two heads, four windows
    }
  }
  CHECK(work_of(layer, Pass::forward).count == 2 * 4);
  CHECK(work_of(padded, Pass::forward).count == 2 * 4);
}

TEST_CASE("operator by operator, window attention copies the elements that PyTorch copies") {
  // Counted on PyTorch 2.4 below autograd: elements that the operators of torchvision 0.19.1's first two blocks of swin_t
  // read and write, in units of the image, beyond the copies into windows and back and one roll each way. Forward scales
  // queries (2), copies queries, keys and values into heads (6) and the result back (2); a shift rolls along the second axis
  // (2 + 2). Backward has 2 for the result, 2 for the scaling, 15 for three selections, 18 for the sums of their gradients,
  // 6 for the joined gradient, and the rolls.
  const auto separate = [](const std::string& layer, Pass pass) {
    const Layer at = layer_of(image, layer);
    double moved = 0;
    for (const Work& kernel : at.operation->kernels(pass, at.input_shapes, at.output_shape))
      moved += kernel.is_separate ? kernel.activation_items : 0;
    return moved / (4 * 48);
  };
  const char* still = "  - window_attention: {heads: 2, window: 3x4}\n";
  CHECK(separate(still, Pass::forward) == 2 + 6 + 2);
  CHECK(separate(still, Pass::backward_data) == 2 + 2 + 15 + 18 + 6);
  const char* moved = "  - window_attention: {heads: 2, window: 3x4, shift: 1}\n";
  CHECK(separate(moved, Pass::forward) == separate(still, Pass::forward) + 4);
  CHECK(separate(moved, Pass::backward_data) == separate(still, Pass::backward_data) + 4);
  // SAM unbinds queries, keys and values, so backward stacks their gradients: 3 read, 3 written.
  const char* axes = "  - window_attention: {heads: 2, window: 3x4, positions: axes}\n";
  CHECK(separate(axes, Pass::backward_data) == 2 + 2 + 6 + 6);
  // Cosines scale queries by their lengths, which other kernels count.
  const char* cosines = "  - window_attention: {heads: 2, window: 3x4, positions: perceptron}\n";
  CHECK(separate(cosines, Pass::forward) == 6 + 2);
}

TEST_CASE("Swin V2 and ConvNeXt V2 have the multiply-adds of their publications") {
  // github.com/microsoft/Swin-Transformer, table of Swin V2 on ImageNet-1K; Woo et al. 2023, table 13.
  for (const auto& [name, billions] : {std::pair{"swinv2_tiny_window8_256", 5.9},
                                       {"swinv2_small_window8_256", 11.5},
                                       {"swinv2_base_window8_256", 20.3},
                                       {"swinv2_tiny_window16_256", 6.6},
                                       {"swinv2_small_window16_256", 12.6},
                                       {"swinv2_base_window16_256", 21.8},
                                       {"convnextv2_tiny", 4.47},
                                       {"convnextv2_base", 15.4},
                                       {"convnextv2_huge", 115.0}}) {
    INFO(name);
    CHECK(load_model(name).macs() == Approx(billions * 1e9).epsilon(0.01));
  }
}

TEST_CASE("window attention refuses images and channels that it cannot divide") {
  check_refused(image, "  - window_attention: {heads: 2, window: 4}\n", "12×6×8 does not divide into windows of 4x4");
  check_refused(image, "  - window_attention: {heads: 3, window: 2}\n",
                "the 12 channels of the input do not divide into queries, keys and values of 3 heads");
  check_refused(image, "  - window_attention: {heads: 2}\n", "window_attention needs 'window'");
  check_refused(image, "  - window_attention: {heads: 2, window: 300}\n", "a window of more than 65536 positions");
  check_refused(sequence, "  - window_attention: {heads: 2, window: 2}\n",
                "window_attention needs an image, not 24 over 16 tokens");
}

}  // namespace vision_transformers_tests
