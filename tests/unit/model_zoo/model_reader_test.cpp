#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"
#include "tests/unit/model_zoo/one_layer.hpp"

namespace model_reader_tests {

using namespace ddl;

namespace {

using Names = std::vector<std::string>;

const std::string image = "{channels: 6, size: 8x8}";

Names names_of(const Model& model) {
  Names names;
  for (const Layer& layer : model.layers) names.push_back(layer.name);
  return names;
}

const Layer& find_layer(const Model& model, const std::string& name) {
  for (const Layer& layer : model.layers) {
    if (layer.name == name) return layer;
  }
  FAIL("no layer " << name);
  return model.layers.front();
}

Names inputs_of(const Model& model, const std::string& name) {
  Names names;
  for (const int input : find_layer(model, name).inputs) {
    names.push_back(input < 0 ? "input" : model.layers[static_cast<std::size_t>(input)].name);
  }
  return names;
}

}  // namespace

TEST_CASE("the metadata of a model file is kept") {
  const Model model = parse_model(
      "format: 1\nmodel: tiny\ndescription: a test\nsource: nowhere\ninput: {features: 4}\nlayers: [softmax]\n", "m.yaml");
  CHECK(model.name == "tiny");
  CHECK(model.description == "a test");
  CHECK(model.source == "nowhere");
  CHECK(model.input == TensorShape{.channels = 4});
  CHECK(model.sequence_length == 0);
}

TEST_CASE("inputs are images, sequences or vectors") {
  CHECK(model_of("{channels: 3, size: 5}", "  - identity\n").input ==
        TensorShape{.channels = 3, .extent = {5, 1, 1}, .rank = 1});
  CHECK(model_of("{channels: 3, size: 5x6}", "  - identity\n").input ==
        TensorShape{.channels = 3, .extent = {5, 6, 1}, .rank = 2});
  CHECK(model_of("{channels: 3, size: 5x6x7}", "  - identity\n").input ==
        TensorShape{.channels = 3, .extent = {5, 6, 7}, .rank = 3});
  CHECK(model_of("{features: 9}", "  - identity\n").input == TensorShape{.channels = 9});
  const Model tokens = model_of("{tokens: 16}", "  - identity\n");
  CHECK(tokens.input == TensorShape{.channels = 1, .extent = {16, 1, 1}, .rank = 1, .sequence = true});
  CHECK(tokens.sequence_length == 16);
  CHECK(model_of("{channels: 80, tokens: 16}", "  - identity\n").input ==
        TensorShape{.channels = 80, .extent = {16, 1, 1}, .rank = 1, .sequence = true});
}

TEST_CASE("a layer reads the layer before it, and the first layer reads the input") {
  const Model model = model_of(image, "  - activation: relu\n  - dropout: 0.1\n  - flatten\n");
  CHECK(inputs_of(model, "relu1") == Names{"input"});
  CHECK(inputs_of(model, "dropout1") == Names{"relu1"});
  CHECK(inputs_of(model, "flatten1") == Names{"dropout1"});
}

TEST_CASE("unnamed layers get the name of their operation and a number") {
  const Model model = model_of(image,
                               "  - convolution: {filters: 4, kernel: 1}\n"
                               "  - activation: relu\n"
                               "  - convolution: {filters: 4, kernel: 1}\n"
                               "    name: conv3\n"
                               "  - activation: tanh\n"
                               "  - convolution: {filters: 4, kernel: 1}\n"
                               "  - convolution: {filters: 4, kernel: 1}\n");
  CHECK(names_of(model) == Names{"conv1", "relu1", "conv3", "tanh1", "conv2", "conv4"});
}

TEST_CASE("a layer can read any layer before it, by name") {
  const Model model = model_of(image,
                               "  - activation: relu\n    name: a\n"
                               "  - activation: tanh\n    name: b\n    from: input\n"
                               "  - add:\n    from: [a, b, input]\n    name: sum\n"
                               "  - dropout: 0.1\n    from: b\n");
  CHECK(inputs_of(model, "a") == Names{"input"});
  CHECK(inputs_of(model, "b") == Names{"input"});
  CHECK(inputs_of(model, "sum") == Names{"a", "b", "input"});
  CHECK(inputs_of(model, "dropout1") == Names{"b"});
}

TEST_CASE("a residual adds its shortcut, or its input") {
  const Model model = model_of(image,
                               "  - activation: relu\n"
                               "  - residual:\n      - activation: tanh\n      - dropout: 0.1\n"
                               "  - residual:\n      body: [{activation: gelu}]\n      shortcut: [{activation: silu}]\n"
                               "  - flatten\n");
  CHECK(names_of(model) == Names{"relu1", "tanh1", "dropout1", "add1", "gelu1", "silu1", "add2", "flatten1"});
  CHECK(inputs_of(model, "add1") == Names{"dropout1", "relu1"});
  CHECK(inputs_of(model, "gelu1") == Names{"add1"});
  CHECK(inputs_of(model, "silu1") == Names{"add1"});
  CHECK(inputs_of(model, "add2") == Names{"gelu1", "silu1"});
}

TEST_CASE("branches start from one tensor and are joined") {
  const Model model = model_of(image,
                               "  - activation: relu\n"
                               "  - concat: {branches: [[{activation: tanh}], [{activation: gelu}, {dropout: 0.1}], []]}\n"
                               "  - activation: silu\n");
  CHECK(inputs_of(model, "tanh1") == Names{"relu1"});
  CHECK(inputs_of(model, "gelu1") == Names{"relu1"});
  CHECK(inputs_of(model, "concat1") == Names{"tanh1", "dropout1", "relu1"});
  CHECK(find_layer(model, "concat1").output_shape.channels == 18);
  CHECK(inputs_of(model, "silu1") == Names{"concat1"});
}

TEST_CASE("a repeat chains its rounds") {
  const std::string layers = "      layers:\n        - activation: relu\n        - dropout: 0.1\n";
  const Model unnamed = model_of(image, "  - repeat:\n      times: 2\n" + layers);
  CHECK(names_of(unnamed) == Names{"relu1", "dropout1", "relu2", "dropout2"});
  CHECK(inputs_of(unnamed, "relu2") == Names{"dropout1"});
  const Model named =
      model_of(image, "  - repeat:\n      times: 2\n" + layers + "    name: round\n  - flatten:\n    from: round0\n");
  CHECK(names_of(named) == Names{"round0.relu1", "round0.dropout1", "round1.relu1", "round1.dropout1", "flatten1"});
  // The name of a part refers to its output.
  CHECK(inputs_of(named, "flatten1") == Names{"round0.dropout1"});
  CHECK(names_of(model_of(image, "  - flatten\n  - repeat: {times: 0, layers: [flatten]}\n")) == Names{"flatten1"});
}

TEST_CASE("a pattern has the layers of each of its letters, one after the other") {
  const std::string text =
      "format: 1\nmodel: m\ninput: {tokens: 4}\nparameters: {order: a-*a}\n"
      "blocks:\n  part: {layers: [{activation: tanh}, {dropout: 0.1}]}\n"
      "layers:\n  - embedding: {vocabulary: 10, features: 6}\n"
      "  - pattern:\n      of: $order\n      a: [{block: part}]\n      \"-\": [{activation: relu}]\n      \"*\": [{norm: "
      "layer}]\n";
  const Model model = parse_model(text, "m.yaml");
  CHECK(names_of(model) ==
        Names{"embedding1", "part0.tanh1", "part0.dropout1", "relu1", "norm1", "part1.tanh1", "part1.dropout1"});
  CHECK(inputs_of(model, "relu1") == Names{"part0.dropout1"});
  CHECK(inputs_of(model, "part1.tanh1") == Names{"norm1"});
  // A name is one element of a path, and refers to the output of the last letter.
  const Model named = parse_model(text + "    name: body\n  - dropout: 0.5\n    from: body\n", "m.yaml");
  CHECK(inputs_of(named, "dropout1") == Names{"body.part1.dropout1"});
  const auto error = [](const std::string& pattern) {
    return error_of([&] { static_cast<void>(model_of(image, "  - pattern: " + pattern + "\n")); });
  };
  CHECK(error("{of: ab, a: [flatten]}").find("the pattern has the letter 'b', which is not defined") != std::string::npos);
  CHECK(error("{of: ab, a: [flatten]}").find("the defined letters are a") != std::string::npos);
  CHECK(error("{of: a, ab: [flatten]}").find("'ab' is not a letter of a pattern") != std::string::npos);
  CHECK(error("{of: a, a: []}").find("this list of layers is empty") != std::string::npos);
  CHECK(error("{of: a}").find("a pattern needs a list of layers for each of its letters") != std::string::npos);
  CHECK(error("{a: [flatten]}").find("of") != std::string::npos);
}

TEST_CASE("each use of a block has separate parameter values") {
  const Model model = parse_model(
      "format: 1\nmodel: m\ninput: {channels: 6, size: 8x8}\n"
      "parameters: {width: 4, kernel: 3}\n"
      "blocks:\n"
      "  conv:\n"
      "    parameters: {filters: , kernel: $kernel, bias: no}\n"
      "    layers:\n"
      "      - convolution: {filters: $filters, kernel: $kernel, padding: same, bias: $bias}\n"
      "        name: main\n"
      "      - activation: relu\n"
      "  pair:\n"
      "    parameters: {filters: $width * 8}\n"
      "    layers:\n"
      "      - block: {use: conv, filters: $filters}\n"
      "      - block: {use: conv, filters: $channels / 2, bias: yes}\n"
      "        name: second\n"
      "layers:\n"
      "  - block: {use: conv, filters: $width, kernel: 1}\n"
      "  - block: pair\n"
      "  - block: {use: pair, filters: 10}\n"
      "    name: last\n"
      "  - add:\n"
      "    from: [last.second, last.second.main]\n",
      "m.yaml");
  CHECK(names_of(model) == Names{"conv0.main", "conv0.relu1", "pair0.conv0.main", "pair0.conv0.relu1", "pair0.second.main",
                                 "pair0.second.relu1", "last.conv0.main", "last.conv0.relu1", "last.second.main",
                                 "last.second.relu1", "add1"});
  CHECK(find_layer(model, "conv0.main").operation->attributes() == "filters=4 kernel=1x1 padding=same bias=no");
  CHECK(find_layer(model, "pair0.conv0.main").operation->attributes() == "filters=32 kernel=3x3 padding=same bias=no");
  CHECK(find_layer(model, "pair0.second.main").operation->attributes() == "filters=16 kernel=3x3 padding=same");
  CHECK(find_layer(model, "last.second.main").output_shape.channels == 5);
  CHECK(inputs_of(model, "add1") == Names{"last.second.relu1", "last.second.main"});
}

TEST_CASE("the block to use may be a parameter") {
  const std::string file =
      "format: 1\nmodel: m\ninput: {features: 4}\nparameters: {kind: KIND}\n"
      "blocks:\n  one: {layers: [softmax]}\n  two: {layers: [softmax, softmax]}\nlayers: [{block: $kind}]\n";
  const auto layers = [&file](const std::string& kind) {
    std::string text = file;
    return parse_model(text.replace(text.find("KIND"), 4, kind), "m.yaml").layers.size();
  };
  CHECK(layers("one") == 1);
  CHECK(layers("two") == 2);
}

TEST_CASE("items are left out if their condition is false") {
  const std::string items =
      "  - convolution: {filters: 4, kernel: 1}\n    when: $channels == 4\n"
      "  - residual:\n"
      "      body: [{convolution: {filters: 8, kernel: 1}}]\n"
      "      shortcut:\n"
      "        - convolution: {filters: 8, kernel: 1}\n"
      "          name: projection\n"
      "          when: $channels != 8\n";
  CHECK(names_of(model_of("{channels: 4, size: 8}", items)) == Names{"conv1", "conv2", "projection", "add1"});
  const Model eight = model_of("{channels: 8, size: 8}", items);
  CHECK(names_of(eight) == Names{"conv1", "add1"});
  CHECK(inputs_of(eight, "add1") == Names{"conv1", "input"});
}

TEST_CASE("an omitted item may read an omitted item") {
  const std::string items =
      "  - fully_connected: 4\n    name: a\n"
      "  - fully_connected: 4\n    name: b\n    when: $both == yes\n"
      "  - loss: mse\n    from: [a, b]\n    when: $both == yes\n"
      "  - loss: mse\n    when: $both == no\n";
  const auto model = [&items](const std::string& both) {
    return parse_model("format: 1\nmodel: m\ninput: {features: 4}\nparameters: {both: " + both + "}\nlayers:\n" + items,
                       "m.yaml");
  };
  CHECK(names_of(model("no")) == Names{"a", "loss1"});
  CHECK(inputs_of(model("yes"), "loss1") == Names{"a", "b"});
}

TEST_CASE("auxiliary parts are included in all sums except published multiply-adds") {
  const Model model = model_of("{features: 4}",
                               "  - fully_connected: 8\n    name: a\n"
                               "  - residual: [{fully_connected: 8}]\n    name: side\n    auxiliary: yes\n"
                               "  - fully_connected: 2\n    from: a\n    auxiliary: no\n"
                               "  - loss: mse\n    from: [fc1, side]\n");
  CHECK(names_of(model) == Names{"a", "side.fc1", "side.add1", "fc1", "loss1"});
  CHECK_FALSE(find_layer(model, "a").auxiliary);
  CHECK(find_layer(model, "side.fc1").auxiliary);
  CHECK(find_layer(model, "side.add1").auxiliary);
  CHECK_FALSE(find_layer(model, "fc1").auxiliary);
  CHECK(model.macs() == 4 * 8 + 8 * 2);
  CHECK(model.parameters() == 4 * 8 + 8 + 8 * 8 + 8 + 8 * 2 + 2);
  CHECK(model.flops_forward() > 2 * (4 * 8 + 8 * 8 + 8 * 2));
}

TEST_CASE("a layer's name is looked up in the same part of the network, then in the enclosing parts") {
  const Model model = parse_model(
      "format: 1\nmodel: m\ninput: {channels: 6, size: 8x8}\n"
      "blocks:\n"
      "  inner:\n"
      "    layers:\n"
      "      - activation: relu\n"
      "        name: a\n"
      "      - add:\n"
      "        from: [a, b, other.a]\n"
      "        name: sum\n"
      "  other: {layers: [{activation: silu, name: a}]}\n"
      "  outer: {layers: [{activation: gelu, name: b}, {block: inner}]}\n"
      "layers:\n"
      "  - activation: tanh\n    name: a\n"
      "  - activation: tanh\n    name: b\n"
      "  - block: other\n    name: other\n"
      "  - block: outer\n",
      "m.yaml");
  CHECK(inputs_of(model, "outer0.inner0.sum") == Names{"outer0.inner0.a", "outer0.b", "other.a"});
}

TEST_CASE("each residual, and each block with 'checkpoint', is a unit of checkpointing: the outermost counts") {
  const Model model = parse_model(
      "format: 1\nmodel: m\ninput: {features: 4}\n"
      "blocks:\n"
      "  unit:\n"
      "    checkpoint: yes\n"
      "    layers: [softmax, {residual: [softmax]}, {residual: [softmax]}]\n"
      "  part:\n"
      "    layers: [softmax, {residual: [{residual: [softmax]}]}, {block: unit}]\n"
      "layers:\n"
      "  - softmax\n  - block: unit\n  - repeat: {times: 2, layers: [{block: unit}]}\n  - block: part\n",
      "m.yaml");
  CHECK(model.blocks == 5);
  for (const Layer& layer : model.layers) {
    INFO(layer.name);
    int expected = -1;
    if (layer.name.starts_with("unit")) expected = layer.name[4] - '0';
    if (layer.name.starts_with("part0.") && layer.name != "part0.softmax1") expected = 3;
    if (layer.name.starts_with("part0.unit0.")) expected = 4;
    CHECK(layer.block == expected);
  }
}

TEST_CASE("layers of equal operation, attributes and shapes are one class") {
  const Model model = model_of(image,
                               "  - convolution: {filters: 6, kernel: 3, padding: 1}\n"
                               "  - convolution: {filters: 6, kernel: 3, padding: 1x1}\n"
                               "  - convolution: {filters: 6, kernel: 3, padding: 1, bias: no}\n"
                               "  - convolution: {filters: 6, kernel: 3}\n"
                               "  - convolution: {filters: 6, kernel: 3, padding: 1}\n");
  CHECK(model.layers[0].shape_class == model.layers[1].shape_class);
  CHECK(model.layers[0].shape_class != model.layers[2].shape_class);
  CHECK(model.layers[0].shape_class != model.layers[3].shape_class);
  CHECK(model.layers[0].shape_class != model.layers[4].shape_class);
  CHECK(model.shape_classes == 4);
}

TEST_CASE("a model of a family sets the family's parameters, and may set the input") {
  const std::string file =
      "format: 1\nmodel: mine\nsource: me\nfamily: resnet\ninput: {channels: 1, size: 64x64}\n"
      "parameters: {unit: basic, stage1: 1, stage2: 1, stage3: 1, stage4: 1, classes: 7}\n";
  const Model model = parse_model(file, "m.yaml");
  CHECK(model.name == "mine");
  CHECK(model.source == "me");
  CHECK_FALSE(model.description.empty());  // the description of the family
  CHECK(model.input == TensorShape{.channels = 1, .extent = {64, 64, 1}, .rank = 2});
  CHECK(find_layer(model, "fc1").output_shape.channels == 7);
  CHECK(model.blocks == 4);
}

TEST_CASE("the file of a family may be in the folder of the model that uses it") {
  const std::filesystem::path folder = std::filesystem::path(SCRATCH_FOLDER) / "reader";
  std::filesystem::create_directories(folder / "families");
  std::ofstream(folder / "families" / "chain.yaml")
      << "format: 1\nfamily: chain\nparameters: {length: }\ninput: {features: 4}\nlayers:\n"
         "  - repeat: {times: $length, layers: [{fully_connected: 4}]}\n";
  std::ofstream(folder / "three.yaml") << "format: 1\nmodel: three\nfamily: families/chain.yaml\nparameters: {length: 3}\n";
  const Model model = load_model((folder / "three.yaml").string());
  CHECK(model.layers.size() == 3);
  CHECK(model.parameters() == 3 * 20);
}

TEST_CASE("figures of a model are sums over its layers") {
  const Model model = model_of(
      "{features: 4}", "  - fully_connected: 8\n  - activation: relu\n  - fully_connected: {features: 2, bias: no}\n");
  CHECK(model.parameters() == 40 + 16);
  CHECK(model.macs() == 32 + 16);
  CHECK(model.flops_forward() == 2 * 48 + 8);
  CHECK(model.flops(Pass::backward_weight) == 2 * 48);
  CHECK(model.buffers() == 0);
  CHECK(shape_of(model, -1) == model.input);
  CHECK(shape_of(model, 0).channels == 8);
}

}  // namespace model_reader_tests
