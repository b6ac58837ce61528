#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/csv.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"
#include "tests/unit/model_zoo/one_layer.hpp"

// Models for images, video, speech, and images with text, and the operations that only these models use.
namespace media_models_tests {

using namespace ddl;

namespace {

const std::string image = "{channels: 6, size: 8x10}";
const std::string sequence = "{channels: 24, tokens: 16}";

std::string error_in(const std::string& input, const std::string& items) {
  return error_of([&] { (void)model_of(input, items); });
}

/// Returns the number of tokens that reach the first layer of a type.
std::int64_t tokens_of(const std::string& name, std::string_view type) {
  for (const Layer& layer : load_model(name).layers) {
    if (layer.operation->type() == type) return layer.input_shapes.front().extent[0];
  }
  return 0;
}

}  // namespace

TEST_CASE("models for images, video and speech have the parameters that their libraries count") {
  // The README of tests/data names the libraries. Their classes also count the parameters `left_out`, which do not take part
  // in a training step, or are vectors that the model files leave out.
  const CsvTable table = CsvTable::load(DATA_FOLDER "media_model_parameters.csv");
  REQUIRE(table.rows() == 146);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string name = table.cell(row, table.column("model"));
    INFO(name);
    const double counted = *table.number(row, table.column("parameters")) - *table.number(row, table.column("left_out"));
    CHECK(static_cast<double>(load_model(name).parameters()) == counted);
  }
}

TEST_CASE("SegFormer and Segment Anything have the multiply-adds of their publications") {
  // Xie et al. 2021, table 1, counts multiply-adds of images of 512 by 512 pixels, and of 640 by 640 for B5, as FLOPs.
  for (const auto& [name, billions] : {std::pair{"segformer-b0", 8.4},
                                       {"segformer-b1", 15.9},
                                       {"segformer-b2", 62.4},
                                       {"segformer-b3", 79.0},
                                       {"segformer-b4", 95.7},
                                       {"segformer-b5", 183.3}}) {
    INFO(name);
    CHECK(load_model(name).macs() == Approx(billions * 1e9).epsilon(0.005));
  }
  // 25 windows of 14 by 14 cover an image of 64 by 64 patches, which is filled up to 70 by 70: each of 12 heads of 64
  // channels has two products of 196 keys a query, and products with 14 vectors of rows and 14 of columns.
  const Model sam = load_model("sam-vit-b");
  const auto window = std::find_if(sam.layers.begin(), sam.layers.end(),
                                   [](const Layer& layer) { return layer.operation->type() == "window_attention"; });
  REQUIRE(window != sam.layers.end());
  CHECK(window->operation->macs(window->input_shapes, window->output_shape) == 70.0 * 70 * 768 * (2 * 196 + 28));
  CHECK(window->operation->biases(window->input_shapes, window->output_shape) == 2 * 27 * 64);
}

TEST_CASE("EfficientDet has the multiply-adds of its publication") {
  // Tan et al. 2020, table 1, counts multiply-adds as FLOPs.
  const std::vector<double> billions{2.5, 6.1, 11, 25, 55, 135, 226, 325};
  for (std::size_t d = 0; d < billions.size(); ++d) {
    INFO(d);
    CHECK(load_model("efficientdet-d" + std::to_string(d)).macs() == Approx(billions[d] * 1e9).epsilon(0.02));
  }
}

TEST_CASE("DiT has the multiply-adds of its publication") {
  // Peebles and Xie 2023 count billions of multiply-adds of images of 256 by 256 pixels as FLOPs.
  for (const auto& [name, billions] :
       {std::pair{"dit-s-2", 6.06}, {"dit-b-2", 23.01}, {"dit-l-2", 80.71}, {"dit-xl-2", 118.64}}) {
    INFO(name);
    CHECK(load_model(name).macs() / 1e9 == Approx(billions).margin(0.025));
  }
}

TEST_CASE("SchNet and FourCastNet have the parameters of their parts") {
  // SchNet of PyTorch Geometric 2.8 has this number with its defaults.
  CHECK(load_model("schnet").parameters() == 455'809);
  // Patches of 8 by 8 with 20 variables, positions, and 12 layers of two norms, two complex matrices in 8 blocks with
  // biases, and a perceptron; a head without bias.
  const std::int64_t h = 768, patch = 20 * 64;
  const std::int64_t layer = 2 * 2 * h + 4 * h * (h / 8) + 4 * h + 8 * h * h + 5 * h;
  CHECK(load_model("fourcastnet").parameters() == patch * h + h + 90 * 180 * h + 12 * layer + patch * h);
}

TEST_CASE("DLRMv2 has the tables and layers of MLPerf's command line") {
  // github.com/mlcommons/training, recommendation_v2/torchrec_dlrm/README.MD: rows of the tables.
  const std::vector<std::int64_t> rows{40'000'000, 39'060,     17'295,     7'424,      20'265,  3,      7'122, 1'543, 63,
                                       40'000'000, 3'067'956,  405'282,    10,         2'209,   11'938, 155,   4,     976,
                                       14,         40'000'000, 40'000'000, 40'000'000, 590'152, 12'973, 108,   36};
  REQUIRE(rows.size() == 26);
  const std::int64_t tables = 128 * std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
  const auto matrix = [](std::int64_t inputs, std::int64_t outputs) { return inputs * outputs + outputs; };
  const std::int64_t joint = 27 * 128;
  // A cross has two matrices of rank 512 and one bias.
  const std::int64_t crosses = 3 * (2 * joint * 512 + joint);
  const std::int64_t dense = matrix(13, 512) + matrix(512, 256) + matrix(256, 128);
  const std::int64_t over = matrix(joint, 1024) + matrix(1024, 1024) + matrix(1024, 512) + matrix(512, 256) + matrix(256, 1);
  CHECK(load_model("dlrm-v2").parameters() == tables + crosses + dense + over);
}

TEST_CASE("GraphCast has the MLPs of its grid, its mesh and the edges between them") {
  // A perceptron has two matrices with biases, and a norm.
  const auto perceptron = [](std::int64_t inputs) { return inputs * 512 + 512 + 512 * 512 + 512 + 2 * 512; };
  const std::int64_t features = 2 * perceptron(474) + 3 * perceptron(4);
  const std::int64_t message = perceptron(3 * 512) + perceptron(2 * 512);
  const std::int64_t outputs = 512 * 512 + 512 + 512 * 227 + 227;
  const std::int64_t parameters = load_model("graphcast").parameters();
  CHECK(parameters == features + 18 * message + perceptron(512) + outputs);
  // The paper has 36.7 million. The program of its authors also has a perceptron for nodes of the mesh that receive no edges
  // from the grid, whose result is not used.
  CHECK(static_cast<double>(parameters + perceptron(512)) == Approx(36.7e6).epsilon(0.01));
}

TEST_CASE("Evoformer has the parts of AlphaFold's blocks, and row attention of one protein costs what its windows cost") {
  // The sums below add up the layers of github.com/aqlaboratory/openfold, openfold/model/evoformer.py, in one block.
  const auto matrix = [](std::int64_t inputs, std::int64_t outputs) { return inputs * outputs + outputs; };
  const auto attention = [&](std::int64_t size) { return 2 * size + 3 * size * size + 2 * matrix(size, size); };
  const auto transition = [&](std::int64_t size) { return 2 * size + matrix(size, 4 * size) + matrix(4 * size, size); };
  const std::int64_t pair_biases = 2 * 128 + 128 * 8, outer_product = 2 * 256 + 2 * matrix(256, 32) + matrix(1024, 128);
  const std::int64_t triangle = 2 * 2 * 128 + 6 * matrix(128, 128), triangle_attention = attention(128) + 128 * 4;
  const std::int64_t block = 2 * attention(256) + pair_biases + transition(256) + outer_product + 2 * triangle +
                             2 * triangle_attention + transition(128);
  // FastFold [Cheng et al., arXiv 2203.00854, section 2] gives 1.8 million parameters for each of the 48 blocks.
  CHECK(block == 1'829'952);
  const std::int64_t ends = matrix(49, 256) + matrix(65, 128) + matrix(256, 23) + matrix(128, 64);
  CHECK(load_model("evoformer").parameters() == 48 * block + ends);
  // More sequences add to attention along rows in proportion; more residues add their square.
  const auto rows = [](const std::string& name) {
    const Model model = load_model(name);
    const auto found = std::find_if(model.layers.begin(), model.layers.end(), [](const Layer& layer) {
      return layer.name.find("layer0.rows") != std::string::npos && layer.operation->type() == "window_attention";
    });
    REQUIRE(found != model.layers.end());
    return found->operation->macs(found->input_shapes, found->output_shape);
  };
  CHECK(rows("evoformer@layers=1") == 2.0 * 256 * 128 * 256 * 256);
  CHECK(rows("evoformer@layers=1@sequences=256") == 2 * rows("evoformer@layers=1"));
  CHECK(rows("evoformer@layers=1@residues=512") == 4 * rows("evoformer@layers=1"));
  // Channels of sequences and of pairs may have any ratio.
  CHECK(rows("evoformer@layers=1@msa=512") == 2 * rows("evoformer@layers=1"));
  CHECK(rows("evoformer@layers=1@msa=192") == 0.75 * rows("evoformer@layers=1"));
  CHECK(rows("evoformer@layers=1@pair=64") == rows("evoformer@layers=1"));
}

TEST_CASE("the size of an image and the frames of a video determine the tokens") {
  // An eighth of each side, and two positions of each side for a token: 1024² / 16² and a text of 512 tokens.
  CHECK(tokens_of("flux.1-dev", "attention") == 64 * 64 + 512);
  CHECK(tokens_of("flux.1-dev@height=512@width=768", "attention") == 32 * 48 + 512);
  // 81 frames become 21, and 480 × 832 pixels become 30 × 52 tokens.
  CHECK(tokens_of("wan2.1-1.3b", "attention") == 21 * 30 * 52);
  CHECK(tokens_of("wan2.1-1.3b@frames=17", "attention") == 5 * 30 * 52);
  CHECK(tokens_of("flux.2-dev@height=512", "attention") == 32 * 64 + 512);
  // A picture that is read has as many tokens as the one that is made.
  CHECK(tokens_of("flux.2-klein-4b@references=1", "attention") == 2 * 64 * 64 + 512);
  CHECK(tokens_of("qwen-image-edit", "attention") == 2 * 64 * 64 + 512);
  CHECK(tokens_of("cogvideox-5b", "attention") == 13 * 30 * 45 + 226);
  // Of 560 × 560 pixels, four patches of 14 × 14 become one token.
  CHECK(tokens_of("qwen2.5-vl-7b@tokens=100", "loss") == 100 + 20 * 20);
  CHECK(tokens_of("qwen2.5-vl-7b@tokens=100@images=3", "loss") == 100 + 3 * 20 * 20);
  CHECK(load_model("wan2.1-14b@frames=17").parameters() == load_model("wan2.1-14b").parameters());
}

TEST_CASE("a vision encoder can be frozen, and the language model trains") {
  const Model all = load_model("qwen2.5-vl-7b"), part = load_model("qwen2.5-vl-7b@frozen=vision+projector");
  CHECK(all.trained_parameters() == all.parameters());
  // The encoder and its projector have 676,550,144 parameters (module `visual` of transformers 5.24).
  CHECK(part.trained_parameters() == all.parameters() - 676'550'144);
}

TEST_CASE("sequences are joined end to end") {
  const std::string text = "  - input: {channels: 24, tokens: 4}\n    name: text\n";
  const Layer joined = layer_of(sequence, text + "  - append:\n    from: [text, input, text]\n");
  CHECK(to_string(joined.output_shape) == "24 over 24 tokens");
  CHECK(work_of(joined, Pass::forward).activation_items == 2 * 24 * 24);
  CHECK(work_of(joined, Pass::backward_data).activation_items == 2 * 24 * 24);
  CHECK(joined.operation->divisible().tokens);
  CHECK(error_in(sequence, "  - append\n").find("append takes two or more inputs, not 1") != std::string::npos);
  CHECK(error_in(image, "  - append:\n    from: [input, input]\n").find("append needs sequences, not 6×8×10") !=
        std::string::npos);
  CHECK(error_in(sequence, "  - input: {channels: 8, tokens: 4}\n    name: text\n  - append:\n    from: [text, input]\n")
            .find("append needs inputs with the same number of channels") != std::string::npos);
}

TEST_CASE("a slice of the tokens is a view with all channels") {
  const Layer slice = layer_of(sequence, "  - slice: {first: 4, tokens: 8}\n");
  CHECK(to_string(slice.output_shape) == "24 over 8 tokens");
  CHECK(work_of(slice, Pass::forward).activation_items == 0);
  CHECK(work_of(slice, Pass::backward_data).activation_items == 24 * 16 + 24 * 8);
  // A rank with half of the tokens has half of the tokens before the slice, and of the slice.
  TensorShape input = slice.input_shapes.front(), output = slice.output_shape;
  input.extent[0] /= 2;
  output.extent[0] /= 2;
  const Operation::Local local = slice.operation->local(std::vector{input}, output);
  REQUIRE(local.operation);
  CHECK(local.operation->attributes() == "first=2 tokens=4");
  CHECK(local.operation->infer(std::vector{input}) == output);
  CHECK(error_in(sequence, "  - slice: {first: 12, tokens: 8}\n").find("no tokens 12 to 19 in 24 over 16 tokens") !=
        std::string::npos);
  CHECK(error_in(image, "  - slice: {tokens: 8}\n").find("no tokens in 6×8×10") != std::string::npos);
  CHECK(error_in(sequence, "  - slice: {channels: 8, tokens: 8}\n").find("exclude each other") != std::string::npos);
}

TEST_CASE("one value per channel shifts a whole tensor") {
  const std::string values = "  - pool: {kind: average, global: yes}\n    name: values\n";
  const Layer shifted = layer_of(image, values + "  - shift:\n    from: [input, values]\n");
  CHECK(to_string(shifted.output_shape) == "6×8×10");
  CHECK(work_of(shifted, Pass::forward).activation_items == 480 + 480 + 6);
  // The gradient of the values is a sum over the positions.
  CHECK(work_of(shifted, Pass::backward_data).activation_items == 480 + 6);
  CHECK_FALSE(kept_of(shifted).input);
  CHECK(error_in(image, "  - shift\n").find("shift takes two inputs, not 1") != std::string::npos);
  CHECK(error_in(image, "  - shift:\n    from: [input, input]\n").find("shift needs a value for each channel of 6×8×10") !=
        std::string::npos);
}

TEST_CASE("edges of a graph read the tokens of nodes, and add to the tokens of nodes") {
  const Layer gather = layer_of(sequence, "  - gather: 40\n");
  CHECK(to_string(gather.output_shape) == "24 over 40 tokens");
  CHECK(work_of(gather, Pass::forward).activation_items == 2 * 24 * 40);
  CHECK(work_of(gather, Pass::backward_data).activation_items == 24 * 16 + 3 * 24 * 40);
  const Layer scatter = layer_of(sequence, "  - scatter: 5\n");
  CHECK(to_string(scatter.output_shape) == "24 over 5 tokens");
  CHECK(work_of(scatter, Pass::forward).flops == 24 * 16);
  CHECK(work_of(scatter, Pass::forward).activation_items == 3 * 24 * 16 + 24 * 5);
  CHECK(work_of(scatter, Pass::backward_data).activation_items == 2 * 24 * 16);
  CHECK(error_in(image, "  - gather: 4\n").find("gather takes tokens of a sequence") != std::string::npos);
  CHECK(error_in(image, "  - scatter: 4\n").find("scatter adds tokens of a sequence") != std::string::npos);
}

TEST_CASE("deformable attention interpolates values at points") {
  // 16 queries, 2 heads of 12 channels and 3 points: 16 · 24 · 3 values at points, and 16 · 2 · 3 weights.
  const std::string points = "  - fully_connected: 18\n    name: points\n";
  const Layer layer =
      layer_of(sequence, points + "  - deformable_attention: {heads: 2, points: 3}\n    from: [input, points]\n");
  CHECK(to_string(layer.output_shape) == "24 over 16 tokens");
  CHECK(work_of(layer, Pass::forward).flops == 10 * 1152 + 5 * 96);
  CHECK(work_of(layer, Pass::forward).activation_items == 4 * 1152 + 3 * 96 + 2 * 96 + 384);
  CHECK(work_of(layer, Pass::backward_data).flops == 26 * 1152 + 5 * 96);
  CHECK(kept_of(layer).extra_items == 96);
  CHECK(error_in(sequence, points + "  - deformable_attention: {heads: 2, points: 2}\n    from: [input, points]\n")
            .find("the points have 18 channels, but two offsets and a weight for 2 heads with 2 points need 12") !=
        std::string::npos);
  CHECK(error_in(sequence, "  - deformable_attention: {heads: 2, points: 2}\n").find("takes two inputs, not 1") !=
        std::string::npos);
}

TEST_CASE("mixing in frequencies transforms an image twice") {
  // 8 by 10 positions have 8 · 6 frequencies. Two products with complex blocks of 3 by 3 channels have 8 FLOPs an entry.
  const Layer layer = layer_of(image, "  - fourier_mixing: 2\n");
  CHECK(to_string(layer.output_shape) == "6×8×10");
  CHECK(layer.weights == 2 * 2 * 2 * 3 * 3);
  CHECK(layer.biases == 2 * 2 * 6);
  const double transforms = 2 * 2.5 * 480 * std::log2(80.0), functions = 2 * 4 * 48 * 6;
  CHECK(work_of(layer, Pass::forward).flops == Approx(transforms + 2 * 8 * 48 * 6 * 3 + functions));
  CHECK(work_of(layer, Pass::backward_weight).flops == 2 * 8 * 48 * 6 * 3);
  CHECK(error_in(image, "  - fourier_mixing: 4\n").find("6 channels do not divide into 4 blocks") != std::string::npos);
  CHECK(error_in(sequence, "  - fourier_mixing: 2\n").find("fourier_mixing needs an image") != std::string::npos);
}

TEST_CASE("each token of one sequence is multiplied with each token of another") {
  const std::string other = "  - gather: 5\n    name: other\n";
  const Layer layer = layer_of(sequence, other + "  - similarities:\n    from: [other, input]\n");
  CHECK(to_string(layer.output_shape) == "16 over 5 tokens");
  CHECK(work_of(layer, Pass::forward).flops == 2 * 5 * 16 * 24);
  CHECK(work_of(layer, Pass::backward_data).flops == 2 * 2 * 5 * 16 * 24);
  CHECK(layer.operation->macs(layer.input_shapes, layer.output_shape) == 5 * 16 * 24);
  CHECK(error_in(sequence, "  - similarities\n").find("needs two sequences with the same number of channels") !=
        std::string::npos);
  // With groups, a token has a product with each other token in each group of channels.
  const Layer grouped = layer_of(sequence, other + "  - similarities: {groups: 6}\n    from: [other, input]\n");
  CHECK(to_string(grouped.output_shape) == "96 over 5 tokens");
  CHECK(work_of(grouped, Pass::forward).flops == 2 * 5 * 16 * 24);
  CHECK(grouped.operation->kernels(Pass::forward, grouped.input_shapes, grouped.output_shape).front().count == 6);
  CHECK(work_of(grouped, Pass::backward_data).flops == 2 * 2 * 5 * 16 * 24);
  CHECK(grouped.operation->macs(grouped.input_shapes, grouped.output_shape) == 5 * 16 * 24);
  const std::string uneven = other + "  - similarities: {groups: 7}\n    from: [other, input]\n";
  CHECK(error_in(sequence, uneven).find("24 channels do not divide into 7 groups") != std::string::npos);
}

TEST_CASE("each image of a sequence has a class token, and the same positions") {
  const Layer token = layer_of(sequence, "  - class_token: {each: 4}\n");
  CHECK(to_string(token.output_shape) == "24 over 20 tokens");
  CHECK(token.biases == 24);
  CHECK(work_of(token, Pass::backward_weight).activation_items == 4 * 24);
  const Layer positions = layer_of(sequence, "  - position_embedding: {positions: 8, repeated: yes}\n");
  CHECK(positions.weights == 8 * 24);
  CHECK(error_in(sequence, "  - class_token: {each: 5}\n").find("does not divide into images of 5 tokens") !=
        std::string::npos);
  CHECK(error_in(sequence, "  - position_embedding: {positions: 5, repeated: yes}\n").find("the table has 5 positions") !=
        std::string::npos);
}

}  // namespace media_models_tests
