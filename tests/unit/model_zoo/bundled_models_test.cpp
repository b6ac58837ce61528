#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/csv.hpp"
#include "model_zoo/files/canonical_name.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"
#include "tests/unit/model_zoo/kept_bytes.hpp"

namespace bundled_models_tests {

using namespace ddl;

namespace {

CsvTable facts(const std::string& file) { return CsvTable::load(DATA_FOLDER + file); }

std::vector<int> all_layers(const Model& model) {
  std::vector<int> layers(model.layers.size());
  std::iota(layers.begin(), layers.end(), 0);
  return layers;
}

std::vector<int> layers_of_block(const Model& model, int block) {
  std::vector<int> layers;
  for (const int layer : all_layers(model)) {
    if (model.layers[static_cast<std::size_t>(layer)].block == block) layers.push_back(layer);
  }
  return layers;
}

/// Returns a shape in PyTorch's format for one sample: `1x64x55x55`.
std::string torch_shape(const TensorShape& shape) {
  std::string text = "1x" + std::to_string(shape.channels);
  for (std::size_t d = 0; d < static_cast<std::size_t>(shape.rank); ++d) text += "x" + std::to_string(shape.extent[d]);
  return text;
}

const Layer& find_layer(const Model& model, const std::string& name) {
  const auto found =
      std::find_if(model.layers.begin(), model.layers.end(), [&](const Layer& layer) { return layer.name == name; });
  INFO(name);
  REQUIRE(found != model.layers.end());
  return *found;
}

}  // namespace

TEST_CASE("parameters, buffers and multiply-adds equal torchvision's") {
  const CsvTable table = facts("torch_model_facts.csv");
  REQUIRE(table.rows() == 40);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string name = table.cell(row, table.column("model"));
    INFO(name);
    const Model model = load_model(name);
    const auto fact = [&](const char* column) {
      return static_cast<std::int64_t>(*table.number(row, table.column(column)));
    };
    CHECK(model.input.extent == std::array<std::int64_t, 3>{fact("input_res"), fact("input_res"), 1});
    CHECK(model.parameters() == fact("params"));
    // Buffers have 4 bytes for each running mean and variance, an 8-byte count of batches for each
    // batch norm, and the tables of indices of window attention.
    const auto batch_norms = std::count_if(model.layers.begin(), model.layers.end(), [](const Layer& layer) {
      return layer.operation->attributes().starts_with("kind=batch");
    });
    CHECK(batch_norms == fact("n_bn2d"));
    CHECK(4 * model.buffers() + 8 * batch_norms == fact("buffers_bytes"));
    CHECK(static_cast<std::int64_t>(model.macs()) == fact("macs_aten_total"));
  }
}

TEST_CASE("models of Keras have the parameters of their Keras definitions, including statistics") {
  // The source is "Total params" in the summary of tf.keras.applications' model with its head of 1000 classes. There,
  // running means and variances of batch norms are parameters that are not trained.
  for (const auto& [name, parameters] : {std::pair<std::string, std::int64_t>{"mobilenet", 4'253'864},
                                         {"keras-resnet50", 25'636'712},
                                         {"xception", 22'910'480},
                                         {"vgg16", 138'357'544},
                                         {"vgg19", 143'667'240},
                                         {"keras-inception-v3", 23'851'784},
                                         {"inception_resnet_v2", 55'873'736}}) {
    INFO(name);
    const Model model = load_model(name);
    CHECK(model.parameters() + model.buffers() == parameters);
  }
}

TEST_CASE("U-Nets and DeepCAM have the parameters of their definitions") {
  // No count is published for these models. Each expected number is a sum over the groups of layers
  // of the definition named in the model's file. A convolution of i to o channels with a kernel of
  // k positions has k·i·o weights, a bias has o, and a norm has 2·o.
  const auto pairs = [](std::vector<std::int64_t> widths, const auto& count) {
    std::int64_t sum = 0;
    for (std::size_t i = 1; i < widths.size(); ++i) sum += count(widths[i - 1], widths[i]);
    return sum;
  };
  {
    // Each size has two 3x3 convolutions with biases. On the way up, there is a 2x2 transposed
    // convolution, and the next convolution reads twice as many channels.
    const auto two = [](std::int64_t i, std::int64_t o) { return 9 * i * o + o + 9 * o * o + o; };
    const auto up = [&two](std::int64_t i, std::int64_t o) { return 4 * i * o + o + two(2 * o, o); };
    const Model unet = load_model("unet");
    CHECK(unet.parameters() == pairs({1, 64, 128, 256, 512, 1024}, two) + pairs({1024, 512, 256, 128, 64}, up) + 64 * 2 + 2);
    CHECK(unet.parameters() == 31'030'658);
    CHECK(to_string(unet.layers.back().input_shapes.front()) == "2×388×388");
  }
  {
    // Each size has two 3x3x3 convolutions with norms. Transposed convolutions are 2x2x2 with a bias.
    const auto two = [](std::int64_t i, std::int64_t o) { return 27 * i * o + 2 * o + 27 * o * o + 2 * o; };
    const auto up = [&two](std::int64_t i, std::int64_t o) { return 8 * i * o + o + two(2 * o, o); };
    const Model unet3d = load_model("unet3d");
    CHECK(unet3d.parameters() ==
          pairs({1, 32, 64, 128, 256, 320, 320}, two) + pairs({320, 320, 256, 128, 64, 32}, up) + 32 * 3 + 3);
    CHECK(unet3d.parameters() == 31'190'243);
    CHECK(to_string(unet3d.layers.back().input_shapes.front()) == "3×128×128×128");
    // ReLU is the reference's default activation, and does not work in place.
    for (const Layer& layer : unet3d.layers) {
      if (layer.operation->type() == "activation") CHECK(layer.operation->attributes() == "kind=relu");
    }
  }
  {
    const auto conv = [](std::int64_t k, std::int64_t i, std::int64_t o) { return k * i * o + 2 * o; };  // with its norm
    const auto separable = [](std::int64_t i, std::int64_t o) { return 9 * i + i * o; };
    const auto normed = [&separable](std::int64_t i, std::int64_t o) { return separable(i, o) + 2 * o; };
    const auto entry = [&](std::int64_t i, std::int64_t o) {
      return normed(i, o) + normed(o, o) + separable(o, o) + conv(1, i, o);
    };
    const std::int64_t entry_flow = conv(9, 16, 32) + conv(9, 32, 64) + entry(64, 128) + entry(128, 256) + entry(256, 728);
    const std::int64_t middle_flow = 16 * 3 * normed(728, 728);
    const std::int64_t exit_flow = normed(728, 728) + normed(728, 1024) + separable(1024, 1024) + conv(1, 728, 1024) +
                                   normed(1024, 1536) + normed(1536, 1536) + normed(1536, 2048);
    // There are four dilated branches and the pooled branch, whose factor and shift have as many parameters as a norm.
    const std::int64_t pyramid = 2 * conv(1, 2048, 256) + 3 * conv(9, 2048, 256) + conv(1, 5 * 256, 256);
    const std::int64_t decoder = conv(1, 128, 48) + 3 * conv(9, 256, 256) + conv(9, 256 + 48, 256) + conv(9, 256, 256) +
                                 (256 * 256 + 256) + 9 * 256 * 3;
    const Model deepcam = load_model("deepcam");
    CHECK(deepcam.parameters() == entry_flow + middle_flow + exit_flow + pyramid + decoder);
    CHECK(deepcam.parameters() == 56'454'720);
    CHECK(to_string(deepcam.layers.back().input_shapes.front()) == "3×768×1152");
  }
}

TEST_CASE("models of timm, by timm's names or by ours, have the parameters that timm counts") {
  const CsvTable table = facts("timm_parameters.csv");
  REQUIRE(table.rows() == 995);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string name = table.cell(row, table.column("model"));
    INFO(name);
    CHECK(static_cast<double>(load_model(name).parameters()) == *table.number(row, table.column("parameters")));
  }
}

TEST_CASE("widths and depths of torchvision's networks have its parameters") {
  // The source is torchvision.models, with the number of parameters of each builder.
  for (const auto& [name, parameters] : {std::pair<std::string, std::int64_t>{"mnasnet0_5", 2'218'512},
                                         {"mnasnet0_75", 3'170'208},
                                         {"mnasnet1_3", 6'282'256},
                                         {"shufflenet_v2_x0_5", 1'366'792},
                                         {"shufflenet_v2_x1_5", 3'503'624},
                                         {"shufflenet_v2_x2_0", 7'393'996},
                                         {"vgg11_bn", 132'868'840},
                                         {"vgg13_bn", 133'053'736},
                                         {"vgg19_bn", 143'678'248},
                                         {"swin_s", 49'606'258},
                                         {"convnext_small", 50'223'688},
                                         {"convnext_large", 197'767'336},
                                         {"resnext101_64x4d", 83'455'272},
                                         {"vit_huge_patch14_224", 632'045'800},
                                         {"vit_large_patch32_224", 306'535'400}}) {
    INFO(name);
    CHECK(load_model(name).parameters() == parameters);
  }
}

TEST_CASE("detectors have the parameters of torchvision's detectors, and of the detectors that NVIDIA and MLPerf train") {
  // torchvision's page of models gives 34,014,999, 41,755,286 and 44,401,393. Constants replace scales and shifts of norms.
  CHECK(load_model("retinanet_resnet50_fpn").parameters() == 34'014'999);
  CHECK(load_model("fasterrcnn_resnet50_fpn").parameters() == 41'755'286);
  CHECK(load_model("maskrcnn_resnet50_fpn").parameters() == 44'401'393);
  // The model is torchvision's RetinaNet on its resnext50_32x4d with 264 classes, as
  // single_stage_detector of MLPerf Training 2.0 builds it.
  CHECK(load_model("retinanet_resnext50_32x4d_fpn").parameters() == 37'060'652);
  const auto conv = [](std::int64_t k, std::int64_t i, std::int64_t o) { return k * i * o; };
  // There are six maps of as many channels, with 4, 6, 6, 6, 4 and 4 boxes at each position. A box
  // has 4 coordinates and 81 classes.
  const auto heads = [&conv](std::int64_t first) {
    std::int64_t sum = 0;
    const std::vector<std::int64_t> channels{first, 512, 512, 256, 256, 256};
    const std::vector<std::int64_t> boxes{4, 6, 6, 6, 4, 4};
    for (std::size_t i = 0; i < channels.size(); ++i) {
      sum += conv(9, channels[i], boxes[i] * (4 + 81)) + boxes[i] * (4 + 81);
    }
    return sum;
  };
  // Between two maps, there are a convolution to `h` channels and a convolution to the channels of the next map.
  const auto extras = [&conv](std::int64_t first, std::int64_t each_channel) {
    std::int64_t sum = 0;
    const std::vector<std::int64_t> channels{first, 512, 512, 256, 256, 256};
    const std::vector<std::int64_t> hidden{256, 256, 128, 128, 128};
    for (std::size_t i = 0; i < hidden.size(); ++i) {
      sum += conv(1, channels[i], hidden[i]) + conv(9, hidden[i], channels[i + 1]);
      sum += each_channel * (hidden[i] + channels[i + 1]);
    }
    return sum;
  };
  // The backbones are torchvision's without the last stage and the classifier. With norms of two numbers per channel,
  // resnet50's last stage has 14,964,736 parameters, and resnet34's has 13,114,368.
  const std::int64_t resnet50 = 25'557'032 - 14'964'736 - (2048 * 1000 + 1000);
  const std::int64_t resnet34 = 21'797'672 - 13'114'368 - (512 * 1000 + 1000);
  CHECK(load_model("ssd300_resnet50").parameters() == resnet50 + extras(1024, 2) + heads(1024));  // 2 per channel: norms
  CHECK(load_model("ssd300_resnet50").parameters() == 22'894'902);
  CHECK(load_model("ssd300_resnet34").parameters() == resnet34 + extras(256, 1) + heads(256));  // 1 per channel: biases
  CHECK(load_model("ssd300_resnet34").parameters() == 19'972'534);
  // The SSD paper states 38² · 4 + 19² · 6 + 10² · 6 + 5² · 6 + 3² · 4 + 4 boxes.
  double boxes = 0;
  const Model ssd = load_model("ssd300_resnet34");
  for (const TensorShape& shape : ssd.layers.back().input_shapes) boxes += static_cast<double>(shape.items());
  CHECK(boxes == 8732 * (4 + 81));
}

TEST_CASE("networks of NVIDIA's and torchgpipe's benchmarks have the parameters of their definitions") {
  // No count is published for these networks. The sums are over the layers of the definitions named in the models' files.
  const auto pairs = [](std::vector<std::int64_t> widths, const auto& count) {
    std::int64_t sum = 0;
    for (std::size_t i = 1; i < widths.size(); ++i) sum += count(widths[i - 1], widths[i]);
    return sum;
  };
  {
    // Each size has two convolutions with norms. Transposed convolutions have a bias.
    for (const auto& [name, k, t, last] :
         {std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t>{"nnunet-2d", 9, 4, 1},
          {"nnunet-3d", 27, 8, 1},
          {"unet3d-brats", 27, 8, 27}}) {
      INFO(name);
      const auto two = [k = k](std::int64_t i, std::int64_t o) { return k * i * o + 2 * o + k * o * o + 2 * o; };
      const auto up = [&two, t = t](std::int64_t i, std::int64_t o) { return t * i * o + o + two(2 * o, o); };
      CHECK(load_model(name).parameters() ==
            pairs({4, 32, 64, 128, 256, 320, 320}, two) + pairs({320, 320, 256, 128, 64, 32}, up) + last * 32 * 4 + 4);
    }
  }
  {
    // Convolutions have a bias and a norm: 3x3x3 in units of three, and 2x2x2 between sizes.
    const auto conv = [](std::int64_t k, std::int64_t i, std::int64_t o) { return k * i * o + 3 * o; };
    const auto unit = [&conv](std::int64_t c) { return 3 * conv(27, c, c); };
    CHECK(load_model("vnet").parameters() == conv(27, 1, 16) + conv(8, 16, 32) + unit(32) + conv(8, 32, 64) + unit(64) +
                                                 conv(8, 64, 128) + unit(128) + conv(8, 128, 64) + unit(128) +
                                                 conv(8, 128, 32) + unit(64) + conv(8, 64, 16) + 27 * 16 * 3 + 3);
  }
  {
    const auto conv = [](std::int64_t i, std::int64_t o, std::int64_t k = 9) { return k * i * o + o; };
    const auto up = [&conv](std::int64_t i, std::int64_t o) { return conv(i, o) + conv(o, o / 2) + conv(o / 2, o / 2, 4); };
    CHECK(load_model("unet-tiny").parameters() ==
          conv(1, 32) + conv(32, 32) + conv(32, 32) + conv(32, 32) + conv(32, 64) + conv(64, 64) + conv(64, 128) +
              conv(128, 128) + conv(128, 256) + conv(256, 256) + conv(256, 128, 4) + up(128 + 128, 128) + up(64 + 64, 64) +
              up(32 + 32, 32) + conv(16 + 32, 32) + conv(32, 32) + conv(32, 1, 1));
  }
  {
    // Each cell has five convolutions without biases. Norms have no parameters.
    const auto cell = [](std::int64_t i, std::int64_t h, std::int64_t o) { return 9 * (i * h + 3 * h * h + h * o); };
    const auto same = [&cell](std::int64_t i, std::int64_t o) { return cell(i, o, o); };
    CHECK(load_model("unet-gpipe").parameters() == pairs({3, 64, 128, 256, 512, 1024}, same) + cell(1024, 2048, 1024) +
                                                       same(2048, 512) + same(1024, 256) + same(512, 128) + same(256, 64) +
                                                       same(128, 32) + 32);
  }
  {
    // In a unit of i to o channels with e expanded channels, squeeze and excitation has e/4 hidden
    // channels instead of i/4. Each hidden channel has 2·e weights and a bias, so there are e/4 -
    // i/4 = 5·i/4 more hidden channels. The first stage does not expand.
    const auto wider = [](const std::vector<std::pair<std::int64_t, std::int64_t>>& units) {
      std::int64_t sum = 0;
      for (const auto& [channels, number] : units) sum += number * (5 * channels / 4) * (2 * 6 * channels + 1);
      return sum;
    };
    // The arguments are the numbers of channels that units read.
    CHECK(load_model("efficientnet-widese-b0").parameters() - load_model("efficientnet_b0").parameters() ==
          wider({{16, 1}, {24, 2}, {40, 2}, {80, 3}, {112, 3}, {192, 4}}));
    CHECK(load_model("efficientnet-widese-b4").parameters() - load_model("efficientnet_b4").parameters() ==
          wider({{24, 1}, {32, 4}, {56, 4}, {112, 6}, {160, 6}, {272, 8}, {448, 1}}));
  }
}

TEST_CASE("auxiliary classifiers are trained, and left out of the published multiply-adds") {
  for (const std::string name : {"googlenet", "inception_v3"}) {
    const Model model = load_model(name);
    double all = 0;
    std::int64_t trained = 0;
    for (const Layer& layer : model.layers) {
      all += layer.operation->macs(layer.input_shapes, layer.output_shape);
      if (layer.auxiliary) trained += layer.parameters();
      CHECK(layer.auxiliary == (layer.name.starts_with("auxiliary") && layer.operation->type() != "loss"));
    }
    INFO(name);
    CHECK(trained > 0);
    CHECK(all > model.macs());
    CHECK(model.flops_forward() >= 2 * all);
    CHECK(model.layers.back().inputs.size() == (name == "googlenet" ? 3 : 2));
  }
}

TEST_CASE("layers have the shapes, parameters and multiply-adds of torchvision's layers, in torchvision's order") {
  const std::map<std::string, std::string> type_of{
      {"Conv2d", "convolution"},     {"BatchNorm2d", "norm"},       {"ReLU", "activation"}, {"MaxPool2d", "pool"},
      {"AdaptiveAvgPool2d", "pool"}, {"Linear", "fully_connected"}, {"Dropout", "dropout"}};
  for (const std::string name : {"alexnet", "vgg16", "resnet50"}) {
    const CsvTable table = facts("torch_layers_" + name + ".csv");
    const Model model = load_model(name);
    std::size_t row = 0;
    for (const Layer& layer : model.layers) {
      const std::string_view type = layer.operation->type();
      // Sums, views and the loss are not modules in torchvision.
      if (type == "add" || type == "flatten" || type == "loss") continue;
      REQUIRE(row < table.rows());
      const auto cell = [&](const char* column) { return table.cell(row, table.column(column)); };
      INFO(name << ": " << cell("name") << " and " << layer.name);
      CHECK(type_of.at(cell("type")) == type);
      CHECK(torch_shape(layer.input_shapes.front()) == cell("in_shape"));
      CHECK(torch_shape(layer.output_shape) == cell("out_shape"));
      CHECK(std::to_string(layer.parameters()) == cell("params"));
      CHECK(std::to_string(static_cast<std::int64_t>(layer.operation->macs(layer.input_shapes, layer.output_shape))) ==
            cell("macs"));
      ++row;
    }
    CHECK(row == table.rows());
  }
}

TEST_CASE("CosmoFlow for cubes of 512 has the layers of ParaDL's list") {
  const CsvTable table = facts("paradl_cosmoflow512.csv");
  const Model model = load_model("cosmoflow-512");
  std::size_t row = 0;
  std::int64_t weights = 0;
  for (const Layer& layer : model.layers) {
    weights += layer.weights;
    const std::string_view type = layer.operation->type();
    if (type == "flatten" || type == "loss") continue;
    REQUIRE(row < table.rows());
    const auto cell = [&](const char* column) { return table.cell(row, table.column(column)); };
    const auto listed = [&](const TensorShape& shape) {
      std::string text = torch_shape(shape).substr(2);
      for (int d = shape.rank; d < 3; ++d) text += "x1";
      return text;
    };
    INFO(cell("layer_name") << " and " << layer.name);
    CHECK(listed(layer.input_shapes.front()) == cell("x"));
    CHECK(listed(layer.output_shape) == cell("y"));
    CHECK(std::to_string(layer.weights) == cell("w_items"));
    ++row;
  }
  CHECK(row == table.rows());
  CHECK(weights == 2'128'064);
}

TEST_CASE("CosmoFlow has the same weights for all sizes of the cube") {
  for (const std::string name : {"cosmoflow-128", "cosmoflow-256", "cosmoflow-512"}) {
    const Model model = load_model(name);
    // The biases are 16 + 32 + 64 + 128 + 256 + 256 + 128 of filters, and 2048 + 256 + 4 of features.
    CHECK(model.parameters() == 2'128'064 + 880 + 2308);
    CHECK(find_layer(model, "conv7").output_shape == TensorShape{.channels = 128, .extent = {1, 1, 1}, .rank = 3});
  }
}

TEST_CASE("GPT models have the published number of parameters") {
  struct Case {
    std::string name;
    std::int64_t layers, h, heads, vocabulary, tokens, parameters;
  };
  // A layer has 12h²(1 + 13/(12h)) parameters [Kort22], and the embeddings (V + s)h. The head
  // shares the first embedding. The final norm has 2h. 124,439,808 is the count of the released
  // GPT-2. [Shoeybi 2019] prints 2.5 billion, [Nar21] 174.6 billion.
  for (const Case& c :
       {Case{"gpt2", 12, 768, 12, 50257, 1024, 124'439'808}, Case{"megatron-2.5b", 54, 1920, 20, 51200, 1024, 2'490'408'960},
        Case{"gpt3-175b", 96, 12288, 96, 51200, 2048, 174'615'846'912}}) {
    const Model model = load_model(c.name);
    INFO(c.name);
    CHECK(model.parameters() == c.parameters);
    CHECK(model.parameters() == c.layers * (12 * c.h * c.h + 13 * c.h) + (c.vocabulary + c.tokens) * c.h + 2 * c.h);
    CHECK(model.sequence_length == c.tokens);
    CHECK(model.blocks == c.layers);
    const Layer& head = find_layer(model, "head");
    CHECK(head.weights == 0);
    CHECK(model.layers[static_cast<std::size_t>(head.tied_to)].name == "embedding");
    // The logits take 2hV FLOPs for each token.
    CHECK(head.operation->work(Pass::forward, head.input_shapes, head.output_shape).flops ==
          2.0 * static_cast<double>(c.tokens * c.h) * static_cast<double>(c.vocabulary));
  }
}

TEST_CASE("BERT-large has the parameters of Hugging Face's BertModel") {
  // There are embeddings of 30,522 words, 512 positions and 2 types, and a norm; 24 layers of 12h²
  // + 13h; and a pooler of h² + h.
  const std::int64_t h = 1024;
  const Model model = load_model("bert-large");
  CHECK(model.parameters() == (30522 + 512 + 2) * h + 2 * h + 24 * (12 * h * h + 13 * h) + h * h + h);
  CHECK(model.parameters() == 335'141'888);
  CHECK(model.blocks == 24);
}

TEST_CASE("a transformer layer has the weights, work and activations of Korthikanti et al.") {
  struct Case {
    std::string name;
    double h, a, s;
  };
  // The attention of Korthikanti et al. writes its scores.
  for (const auto& [name, h, a, s] : {Case{"gpt2@fused=no", 768, 12, 1024}, Case{"megatron-2.5b", 1920, 20, 1024},
                                      Case{"gpt3-175b", 12288, 96, 2048}, Case{"bert-large@fused=no", 1024, 16, 512}}) {
    const Model model = load_model(name);
    INFO(name);
    for (const int block : {0, 5, model.blocks - 1}) {
      double parameters = 0;
      double macs = 0;
      const std::vector<int> layers = layers_of_block(model, block);
      for (const int index : layers) {
        const Layer& layer = model.layers[static_cast<std::size_t>(index)];
        parameters += static_cast<double>(layer.parameters());
        macs += layer.operation->macs(layer.input_shapes, layer.output_shape);
      }
      CHECK(parameters == Approx(12 * h * h * (1 + 13 / (12 * h))).epsilon(1e-14));
      CHECK(2 * macs == Approx(24 * s * h * h * (1 + s / (6 * h))).epsilon(1e-14));
      // The bytes are those of one sample in fp16.
      CHECK(kept_bytes(model, layers, 2).sum() == Approx(s * h * (34 + 5 * a * s / h)).epsilon(1e-14));
    }
  }
}

TEST_CASE("attention is fused if the implementation that a model follows calls fused kernels") {
  const auto is_fused = [](const std::string& name) {
    std::set<bool> found;
    for (const Layer& layer : load_model(name).layers) {
      if (layer.operation->type() == "attention")
        found.insert(layer.operation->attributes().find("fused=yes") != std::string::npos);
    }
    REQUIRE(found.size() == 1);
    return *found.begin();
  };
  for (const std::string name : {"gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl", "bert-base", "bert-large", "vit_b_16",
                                 "vit_b_32", "vit_l_16", "llama2-7b", "llama3-8b"}) {
    INFO(name);
    CHECK(is_fused(name));
    CHECK_FALSE(is_fused(name + "@fused=no"));
  }
  // These are the models of Megatron-LM's publications, and T5, whose scores have trained biases.
  for (const std::string name : {"gpt3-175b", "megatron-2.5b", "megatron-8.3b", "t5-large"}) {
    INFO(name);
    CHECK_FALSE(is_fused(name));
  }
}

TEST_CASE("ResNet's blocks are its residual units") {
  for (const auto& [name, units] : {std::pair<std::string, int>{"resnet18", 8},
                                    {"resnet34", 16},
                                    {"resnet50", 16},
                                    {"resnet101", 33},
                                    {"resnet152", 50}}) {
    const Model model = load_model(name);
    INFO(name);
    CHECK(model.blocks == units);
    // A unit ends with the relu after the sum. The first layers and the head belong to no unit.
    for (int block = 0; block < units; ++block) {
      const Layer& last = model.layers[static_cast<std::size_t>(layers_of_block(model, block).back())];
      CHECK(last.operation->type() == "activation");
      CHECK(model.layers[static_cast<std::size_t>(last.inputs.front())].operation->type() == "add");
    }
    CHECK(model.layers.front().block == -1);
    CHECK(model.layers.back().block == -1);
  }
}

TEST_CASE("the convolutions of a network repeat: layers of one class have one operation") {
  const Model model = load_model("gpt3-175b");
  // The classes are: embedding, positions, dropout, norm, qkv, attention, projection, add, first
  // and second matrix, gelu, head, loss.
  CHECK(model.shape_classes == 13);
  std::map<int, const Layer*> first_of_class;
  for (const Layer& layer : model.layers) {
    const Layer& first = *first_of_class.emplace(layer.shape_class, &layer).first->second;
    CHECK(layer.operation == first.operation);
    CHECK(layer.input_shapes == first.input_shapes);
    CHECK(layer.output_shape == first.output_shape);
  }
}

TEST_CASE("every bundled model passes the checks") {
  for (const std::string& name : model_names()) {
    const Model model = load_model(name);
    INFO(name);
    CHECK(model.name == name);
    CHECK_FALSE(model.description.empty());
    CHECK_FALSE(model.source.empty());
    CHECK(model.layers.back().operation->type() == "loss");
    std::map<std::string, int> names;
    std::int64_t parameters = 0;
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
      const Layer& layer = model.layers[i];
      INFO(layer.name);
      CHECK(++names[layer.name] == 1);
      CHECK(layer.operation->infer(layer.input_shapes) == layer.output_shape);
      CHECK(layer.weights == layer.operation->weights(layer.input_shapes, layer.output_shape));
      CHECK(layer.biases == layer.operation->biases(layer.input_shapes, layer.output_shape));
      REQUIRE(layer.inputs.size() == layer.input_shapes.size());
      for (std::size_t input = 0; input < layer.inputs.size(); ++input) {
        REQUIRE(layer.inputs[input] < static_cast<int>(i));
        CHECK(shape_of(model, layer.inputs[input]) == layer.input_shapes[input]);
      }
      for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_weight, Pass::update}) {
        const Work work = layer.operation->work(pass, layer.input_shapes, layer.output_shape);
        CHECK(std::isfinite(work.flops));
        CHECK((work.flops >= 0 && work.activation_items >= 0 && work.weight_items >= 0));
      }
      parameters += layer.parameters();
    }
    CHECK(model.parameters() == parameters);
    CHECK(model.flops_forward() == model.flops(Pass::forward));
    CHECK(model.flops_forward() >= 2 * model.macs());
    CHECK(model.flops(Pass::update) == 0);
  }
}

TEST_CASE("published spellings of a name find the model") {
  for (const auto& [spelling, name] :
       {std::pair{"ResNet50", "resnet50"},
        {"ResNet-50", "resnet50"},
        {"VGG16", "vgg16"},
        {"AlexNet", "alexnet"},
        {"CosmoFlow", "cosmoflow-512"},
        {"CosmoFlow512", "cosmoflow-512"},
        {"CosmoFlow256", "cosmoflow-256"},
        {"MegatronLM-2.5B", "megatron-2.5b"},
        {"Megatron-2.5B", "megatron-2.5b"},
        {"BERT-Large", "bert-large"},
        {"GPT-2", "gpt2"},
        {"GPT-3 175B", "gpt3-175b"},
        {"ResNeXt-50", "resnext50_32x4d"},
        {"ResNeXt-101 32x8d", "resnext101_32x8d"},
        {"WideResNet-50-2", "wide_resnet50_2"},
        {"EfficientNet-B0", "efficientnet_b0"},
        {"EfficientNetV2-S", "efficientnet_v2_s"},
        {"InceptionV3", "inception_v3"},
        {"Inception-v3", "inception_v3"},
        {"InceptionResNetV2", "inception_resnet_v2"},
        {"GoogLeNet", "googlenet"},
        {"MobileNetV2", "mobilenet_v2"},
        {"MobileNetV3-Large", "mobilenet_v3_large"},
        {"SqueezeNet 1.0", "squeezenet1_0"},
        {"ShuffleNetV2", "shufflenet_v2_x1_0"},
        {"RegNetY-8GF", "regnet_y_8gf"},
        {"ConvNeXt-T", "convnext_tiny"},
        {"DenseNet-121", "densenet121"},
        {"U-Net", "unet"},
        {"3D-UNet", "unet3d"},
        {"U-Net3D", "unet3d"},
        {"DeepCAM", "deepcam"},
        {"VGG16-BN", "vgg16_bn"},
        {"resnet50", "resnet50"},
        // A size that the model has may follow a name without it.
        {"DeepSeek V3 671B", "deepseek-v3"},
        {"deepseek-ai/Kimi-K2-1T", "kimi-k2"},
        {"SDXL 2.6B", "sdxl"},
        // A dot in a number makes another number.
        {"GPT-3 13B", "gpt3-13b"},
        {"gpt3 1.3b", "gpt3-1.3b"},
        {"SqueezeNet 1.0", "squeezenet1_0"},
        // names of Hugging Face's repositories
        {"stabilityai/stable-diffusion-xl-base-1.0", "sdxl"},
        {"stable-diffusion-v1-5/stable-diffusion-v1-5", "sd-1.5"},
        {"runwayml/stable-diffusion-v1-5", "sd-1.5"},
        {"stabilityai/stable-diffusion-3.5-large", "sd3.5-large"},
        {"stabilityai/stable-diffusion-3-medium-diffusers", "sd3-medium"},
        {"black-forest-labs/FLUX.1-dev", "flux.1-dev"},
        {"black-forest-labs/FLUX.1-schnell", "flux.1-schnell"},
        {"Qwen/Qwen-Image", "qwen-image"},
        {"Wan-AI/Wan2.1-T2V-14B-Diffusers", "wan2.1-14b"},
        {"Wan-AI/Wan2.2-T2V-A14B", "wan2.1-14b"},
        {"Wan-AI/Wan2.1-T2V-1.3B", "wan2.1-1.3b"},
        {"Wan-AI/Wan2.2-TI2V-5B", "wan2.2-5b"},
        {"Wan2.2-I2V-A14B", "wan2.2-i2v-14b"},
        {"Wan-AI/Wan2.1-I2V-14B-480P", "wan2.1-i2v-14b"},
        {"black-forest-labs/FLUX.2-dev", "flux.2-dev"},
        {"black-forest-labs/FLUX.2-klein-base-4B", "flux.2-klein-4b"},
        {"Tongyi-MAI/Z-Image-Turbo", "z-image"},
        {"Qwen/Qwen-Image-Edit-2511", "qwen-image-edit"},
        {"zai-org/CogVideoX-5b", "cogvideox-5b"},
        {"unsloth/gemma-3n-E2B-unsloth-bnb-4bit", "gemma3n-e2b"},
        {"google/gemma-3n-E4B-it", "gemma3n-e4b"},
        {"stepfun-ai/step3", "step-3"},
        {"zai-org/GLM-5.2", "glm-5"},
        {"tencent/HunyuanVideo", "hunyuan-video"},
        {"hunyuanvideo-community/HunyuanVideo", "hunyuan-video"},
        {"Lightricks/LTX-Video", "ltx-video"},
        {"Qwen/Qwen2.5-VL-7B-Instruct", "qwen2.5-vl-7b"},
        {"Qwen/Qwen3-VL-30B-A3B-Instruct", "qwen3-vl-30b-a3b"},
        {"llava-hf/llava-1.5-7b-hf", "llava-1.5-7b"},
        {"OpenGVLab/InternVL3-8B", "internvl3-8b"},
        {"openai/whisper-large-v3", "whisper-large-v3"},
        {"openai/whisper-large-v3-turbo", "whisper-large-v3-turbo"},
        {"facebook/wav2vec2-base-960h", "wav2vec2-base"},
        {"facebook/detr-resnet-50", "detr-resnet50"},
        // names of timm
        {"timm/resnet50.a1_in1k", "resnet50"},
        {"gluon_resnet50_v1d", "resnet50d"},
        {"tv_resnet34", "resnet34"},
        {"ssl_resnext50_32x4d", "resnext50_32x4d"},
        {"swsl_resnet18", "resnet18"},
        {"ig_resnext101_32x8d", "resnext101_32x8d"},
        {"legacy_seresnet50", "seresnet50"},
        {"tf_efficientnet_b2_ns", "tf_efficientnet_b2_ns"},
        {"tf_efficientnet_b3.ap_in1k", "tf_efficientnet_b3"},
        {"convnext_tiny.fb_in22k_ft_in1k_384", "convnext_tiny_384"},
        {"vit_base_patch16_224_sam", "vit_b_16"},
        // A tag of another number of classes, or of a size that no model has, is not left out.
        {"vit_base_patch16_224.augreg_in21k", "vit_base_patch16_224.augreg_in21k"},
        {"resnet50.some_in1k_999", "resnet50.some_in1k_999"},
        {"nothing-like-it", "nothing-like-it"},
        // A mixture may be named without its active parameters, but its number of parameters is needed.
        {"Qwen3 30B", "qwen3-30b-a3b"},
        {"qwen3.5-35b", "qwen3.5-35b-a3b"},
        {"Qwen 330B", "Qwen 330B"},
        {"B", "B"},
        {"b", "b"},
        {"qwen3-b", "qwen3-b"},
        {"", ""}}) {
    CHECK(canonical_model_name(spelling) == name);
  }
  CHECK(load_model("ResNet-50").name == "resnet50");
  // These tags give the outputs of the head.
  CHECK(load_model("vit_base_patch16_224.augreg_in21k").name == "vit_b_16@classes=21843");
  CHECK(load_model("convnext_base.fb_in22k@skipped=0.1").name == "convnext_base@skipped=0.1@classes=21841");
  CHECK(load_model("convnext_base.fb_in22k@classes=7").name == "convnext_base@classes=7");
  CHECK(load_model("vit_large_patch14_clip_224.openai").name == "vit_large_patch14_clip_224@classes=768");
}

TEST_CASE("names are sorted, and each is its own canonical name") {
  const std::vector<std::string> names = model_names();
  CHECK(std::is_sorted(names.begin(), names.end()));
  for (const std::string& name : names) CHECK(canonical_model_name(name) == name);
}

TEST_CASE("a model's name may set parameters to other values") {
  const Model as_it_is = load_model("bert-large");
  const Model shorter = load_model("BERT@tokens=128");
  CHECK(as_it_is.sequence_length == 512);
  CHECK(shorter.sequence_length == 128);
  CHECK(shorter.name == "bert-large@tokens=128");
  // The table of positions has as many rows as the sequence has tokens.
  CHECK(as_it_is.parameters() - shorter.parameters() == (512 - 128) * 1024);
  const Model smaller = load_model("gpt2@tokens=64@layers=2");
  CHECK(smaller.sequence_length == 64);
  CHECK(smaller.blocks * 6 == load_model("gpt2").blocks);
  CHECK(load_model("ViT-B/16@layers=1").name == "vit_b_16@layers=1");

  CHECK(error_of([] { (void)load_model("bert-large@token=128"); }) ==
        "bert-large@token=128:1:1: the family 'bert' has no parameter 'token'\n  token: 128\n  ^\nhint: did you mean "
        "'tokens'? known parameters: layers, hidden, heads, feed_forward, vocabulary, tokens, positions, types, word_size, "
        "norms, embedding_norm, turned, buckets, shared, gated, bias, up_bias, down_bias, activation, composed, fused, "
        "dropout, "
        "attention_dropout, pooler_activation, head, masked, classes");
  for (const std::string wrong : {"@=1", "@tokens=1@tokens=2", "@tokens={a: b}", "@tokens=", "@tokens=1@", "@a=[1"}) {
    INFO(wrong);
    CHECK(error_of([&] { (void)load_model("gpt2" + wrong); }).starts_with("'" + wrong + "' has no parameter after '@'\n"));
  }
  CHECK(error_of([] { (void)load_model("gpt2@tokens"); }).starts_with("unknown model 'gpt2@tokens'"));
  CHECK(error_of([] { (void)load_model("alexnet@tokens=1"); }) ==
        "alexnet has no parameter 'tokens'\nhint: the model has no parameters");
}

TEST_CASE("sequence models may have samples of another length, other models have none") {
  for (const std::string& name : model_names()) {
    INFO(name);
    const Model own = load_model(name);
    if (own.sequence_length > 0) {
      const Model shorter = load_model(name, 16);
      CHECK(shorter.sequence_length == 16);
      CHECK(shorter.name == name + "@tokens=16");
      CHECK(shorter.layers.size() == own.layers.size());
      CHECK(load_model(name, own.sequence_length).parameters() == own.parameters());
    } else {
      CHECK(error_of([&] { (void)load_model(name, 16); }) ==
            "the sequence length of " + name +
                " cannot be set\nhint: only sequence models have a sequence length, such as gpt2 or llama3-8b");
    }
  }
  // Only a table of trained positions depends on the length of the sequence.
  CHECK(load_model("llama3-8b", 131'072).parameters() == load_model("llama3-8b").parameters());
  CHECK(load_model("gpt2", 2048).parameters() - load_model("gpt2").parameters() == 1024 * 768);
  CHECK(load_model("gpt2@layers=2", 64).name == "gpt2@layers=2@tokens=64");
  CHECK(error_of([] { (void)load_model("gpt2@tokens=64", 64); }) ==
        "'gpt2@tokens=64' already sets the sequence length, but 64 is requested\nhint: leave out one of the two lengths");
}

TEST_CASE("vision models may have samples of another size") {
  // With twice the edge, a convolution has 4 times (8 times in volumes) the multiply-adds. The fully connected layer of
  // ResNet-50 keeps its 2,048 x 1,000, behind a global pooling.
  const Model usual = load_model("resnet50"), large = load_model("resnet50@input=3x448x448");
  CHECK(large.name == "resnet50@input=3x448x448");
  CHECK(large.input.extent[1] == 448);
  CHECK(large.parameters() == usual.parameters());
  CHECK(large.macs() == 4 * (usual.macs() - 2'048'000) + 2'048'000);
  CHECK(load_model("unet3d@input=1x256x256x256").macs() == 8 * load_model("unet3d").macs());
  CHECK(load_model("vgg16@input=3x224x224").macs() == load_model("vgg16").macs());
  CHECK_THAT(error_of([] { static_cast<void>(load_model("gpt2@input=3x448x448")); }),
             ContainsSubstring("no images or volumes as its input"));
  CHECK_THAT(error_of([] { static_cast<void>(load_model("resnet50@input=448x448")); }),
             ContainsSubstring("another number of sizes than the input of resnet50, 3x224x224"));
  // Parameters give the size of some models: patches of a ViT, and the images of detectors.
  CHECK(load_model("vit_b_16@input=3x384x384").macs() == load_model("vit_b_16@size=384").macs());
  CHECK(load_model("vit_b_16@input=1x224x224").parameters() == load_model("vit_b_16").parameters() - 2 * 16 * 16 * 768);
  CHECK(load_model("retinanet_resnet50_fpn@input=3x512x640").macs() ==
        load_model("retinanet_resnet50_fpn@height=512@width=640").macs());
  CHECK_THAT(error_of([] { static_cast<void>(load_model("vit_b_16@input=3x384x512")); }),
             ContainsSubstring("some sizes of the input of vit_b_16 are equal: 3 x $size x $size"));
  CHECK_THAT(error_of([] { static_cast<void>(load_model("hunyuan-video@input=16x33x90x160")); }),
             ContainsSubstring("follows from its parameters"));
}

TEST_CASE("sizes that other parameters follow from can be changed alone") {
  CHECK(load_model("cogvideox1.5-5b").input.extent[0] == 22);
  CHECK(load_model("cogvideox1.5-5b@frames=49").input.extent[0] == 14);
  CHECK(load_model("cogvideox-5b").input.extent[0] == 13);
  CHECK_NOTHROW(load_model("yolo11n@input=3x320x640"));
  for (const char* changes : {"@glyph_tokens=0", "@picture_tokens=0", "@glyph_tokens=0@picture_tokens=0"})
    CHECK_NOTHROW(load_model("hunyuan-video-1.5" + std::string(changes)));
}

TEST_CASE("an unknown model is an error that suggests a known one, the nearest of its family, or a configuration") {
  CHECK(error_of([] { (void)load_model("resnet5O"); }) == "unknown model 'resnet5O'\nhint: did you mean 'resnet50'?");
  CHECK(error_of([] { (void)load_model("xyz"); }) ==
        "unknown model 'xyz'\nhint: see 'models list' for bundled models, or name the model by the path of its config.json: "
        "./net/config.json");
  const std::string sized = error_of([] { (void)load_model("openai/whisper-gigantic-v4"); });
  INFO(sized);
  CHECK(sized.find("nearest of its family: whisper-large-v3, ") != std::string::npos);
  CHECK(sized.find("download its config.json and name the model by its path: ./net/config.json") != std::string::npos);
  // Another version is not a typing error.
  CHECK(error_of([] { (void)load_model("DeepSeek-V4"); }).find("nearest of its family: deepseek-v3.2") != std::string::npos);
  CHECK(error_of([] { (void)load_model("glm-6"); }).find("nearest of its family: glm-5") != std::string::npos);
  CHECK(error_of([] { (void)load_model("vit_base_patch16_224.some_in21k"); })
            .ends_with("hint: the architecture is vit_b_16; set other classes or sizes after the name: "
                       "vit_b_16@classes=21843"));
  CHECK(error_of([] { (void)load_model("vit_base_patch16_224_miil_in21k"); }).ends_with("vit_b_16@classes=11221"));
  CHECK(error_of([] { (void)load_model("convnext_base_in22k"); }).ends_with("convnext_base@classes=21841"));
  CHECK(error_of([] {
          (void)load_model("vit_base_patch16_224_dino");
        }).ends_with("hint: the architecture is vit_b_16: use this name"));
  CHECK(error_of([] { (void)load_model("./none.yaml"); }).find("./none.yaml") != std::string::npos);
}

TEST_CASE("models load fast enough to be loaded at every start") {
  // The limits are 2 ms and 10 ms on one core of 2020 in a release build, times ten for builds with
  // sanitizers and busy machines.
  for (const auto& [name, limit] : {std::pair{"resnet50", 0.002}, {"gpt3-175b", 0.010}}) {
    double best = 1;
    for (int run = 0; run < 10; ++run) {
      const auto start = std::chrono::steady_clock::now();
      const Model model = load_model(name);
      best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    INFO(name << " took " << best << " s");
    CHECK(best < 10 * limit);
  }
}

}  // namespace bundled_models_tests
