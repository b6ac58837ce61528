#include "estimator/facts/model_facts.hpp"

#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/unit/estimator/small_models.hpp"

namespace {

using namespace ddl;

/// Returns a model with 8 channels over 6 × 6 in all layers, which are 288 elements. The input has 108 elements.
Model residual() {
  return parse_model(R"(format: 1
model: residual
input: {channels: 3, size: 6x6}
layers:
  - convolution: {filters: 8, kernel: 3, padding: same, bias: no}
    name: stem
  - residual:
      - convolution: {filters: 8, kernel: 3, padding: same, bias: no}
        name: first
      - activation: relu
        name: relu
      - convolution: {filters: 8, kernel: 3, padding: same, bias: no}
        name: second
    name: sum
  - pool: {kind: average, global: yes}
    name: pool
  - flatten:
    name: flat
  - fully_connected: {features: 10, bias: no}
    name: classes
  - loss: cross_entropy
    name: loss
)",
                     "residual.yaml");
}

std::size_t find(const Model& model, const std::string& name) {
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const std::string& full = model.layers[i].name;
    if (full == name || (full.size() > name.size() && full.ends_with("." + name))) return i;
  }
  FAIL("no layer " << name);
  return 0;
}

/// Returns the names of the layers with a property, in order.
std::vector<std::string> names_where(const Model& model, const std::vector<bool>& property) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    if (property[i]) names.push_back(model.layers[i].name);
  }
  return names;
}

std::string name_of(const Model& model, int layer) { return model.layers.at(static_cast<std::size_t>(layer)).name; }

using Names = std::vector<std::string>;

TEST_CASE("an output is kept if its own backward or a reader's needs it") {
  const Model model = residual();
  const ModelFacts facts = facts_of(model);
  // The kept outputs are read by convolutions, pooling and a matrix: stem (by first), relu (by second, and by its own
  // backward), the sum (by pool), flat (by classes). The loss keeps a softmax of its own. Sums and views keep nothing.
  Names kept = names_where(model, facts.output_kept);
  CHECK(kept.size() == 4);
  for (const std::string name : {"stem", "relu", "flat"}) {
    INFO(name);
    CHECK(facts.output_kept[find(model, name)]);
  }
  CHECK(facts.output_kept[find(model, "pool") - 1]);  // the sum
  for (const std::string name : {"first", "second", "pool", "classes", "loss"}) {
    INFO(name);
    CHECK_FALSE(facts.output_kept[find(model, name)]);
  }
}

TEST_CASE("an activation keeps the tensor that determines its derivative: relu its output, gelu its input") {
  for (const std::string kind : {"relu", "gelu"}) {
    INFO(kind);
    const Model model = parse_model("format: 1\nmodel: m\ninput: {features: 5}\nlayers:\n  - fully_connected: 9\n" +
                                        ("  - activation: " + kind) + "\n  - loss: cross_entropy\n",
                                    "m.yaml");
    const ModelFacts facts = facts_of(model);
    CHECK(facts.output_kept == std::vector<bool>{kind == "gelu", kind == "relu", false});
  }
}

TEST_CASE("readers of the model's input compute no gradient of it") {
  const Model model = residual();
  const ModelFacts facts = facts_of(model);
  CHECK_FALSE(facts.needs_input_gradient[find(model, "stem")]);
  CHECK(std::count(facts.needs_input_gradient.begin(), facts.needs_input_gradient.end(), false) == 1);
}

TEST_CASE("a cut inside a residual branch also carries the tensor of the other branch") {
  const Model model = residual();
  const ModelFacts facts = facts_of(model);
  const std::size_t first = find(model, "first");
  // The cuts are between: input | stem | first relu second sum | pool | flat | classes | loss |
  const std::vector<double> expected{
      108,               // the input
      288,               // stem's output
      288 + 288,         // output of first, and of stem for the sum
      288 + 288,         // outputs of relu and stem
      288 + 288,         // outputs of second and stem
      288,               // the sum
      8,         8, 10,  // outputs of pool, flat and classes
      0                  // no layer reads the loss
  };
  REQUIRE(first == 1);
  CHECK(facts.live_items == expected);
}

TEST_CASE("an input is live until its last reader") {
  const Model model = parse_model(R"(format: 1
model: late
input: {features: 7}
layers:
  - fully_connected: 7
    name: a
  - fully_connected: 7
    name: b
  - add:
    from: [b, input]
  - fully_connected: 2
)",
                                  "late.yaml");
  // The live tensors are: input before a; a and input before b; b and input before the sum; the sum before the last layer.
  CHECK(facts_of(model).live_items == std::vector<double>{7, 14, 14, 7, 0});
}

/// Returns an encoder of 6 tokens, and a decoder of 4 tokens that reads the encoder's output. All tensors have 8 channels.
Model two_sequences() {
  return parse_model(R"(format: 1
model: two
input: {tokens: 6}
layers:
  - embedding: {vocabulary: 50, features: 8}
    name: source
  - fully_connected: 8
    name: encoder
  - select: last
    name: meaning
  - input: {tokens: 4}
    name: target
  - embedding: {vocabulary: 50, features: 8}
    name: words
  - fully_connected: 8
    name: decoder
  - select: last
    name: end
  - add:
    from: [meaning, end]
    name: sum
)",
                     "two.yaml");
}

TEST_CASE("an additional input of the sample is read by the stage that needs it, is never sent, and has no gradient") {
  const Model model = two_sequences();
  const ModelFacts facts = facts_of(model);
  CHECK(model.parameters() == 2 * (50 * 8) + 2 * (8 * 8 + 8));
  CHECK(names_where(model, facts.of_sample) == Names{"target"});
  CHECK(facts.sample_items == 6 + 4);
  // The cuts are between: input | source | encoder | meaning | target | words | decoder | end | sum
  CHECK(facts.live_items == std::vector<double>{6, 48, 48, 8, 8, 8 + 32, 8 + 32, 8 + 8, 0});
  CHECK(names_where(model, facts.needs_input_gradient) == Names{"encoder", "meaning", "decoder", "end", "sum"});
  // Backward finds the rows of the tables by the tokens, which belong to the sample.
  CHECK(names_where(model, facts.output_kept) == Names{"source", "target", "words"});
}

TEST_CASE("tensors computed from the sample without weights need no gradient") {
  const Model model = parse_model(
      "format: 1\nmodel: m\ninput: {channels: 3, size: 4x4}\nlayers:\n  - pool: {kind: average, kernel: 2}\n"
      "    name: pool\n  - flatten\n  - fully_connected: 5\n    name: first\n  - fully_connected: 5\n    name: second\n",
      "m.yaml");
  CHECK(names_where(model, facts_of(model).needs_input_gradient) == Names{"second"});
}

TEST_CASE("layers with weights, and layers whose filters or channels can be split, are listed in order") {
  const Model model = small_transformer();
  const ModelFacts facts = facts_of(model);
  Names weighted;
  for (const int layer : facts.weighted) weighted.push_back(name_of(model, layer));
  Names matrix;
  for (const int layer : facts.matrix) matrix.push_back(name_of(model, layer));
  // Positions have a table, but no matrix that mixes channels. The tied head has no weights of its own, but it has work.
  CHECK(weighted == Names{"embedding", "positions1", "layer0.qkv", "layer0.projection", "layer0.fc1", "layer0.fc2", "head"});
  CHECK(matrix == Names{"embedding", "layer0.qkv", "layer0.projection", "layer0.fc1", "layer0.fc2", "head"});
  CHECK(name_of(model, facts.first_matrix) == "embedding");
  CHECK(name_of(model, facts.last_matrix) == "head");
  // The parameters are 100 · 24 + 8 · 24 of tables, 12h² + 13h of the block, and 2h of the last norm.
  CHECK(facts.parameters == 2400 + 192 + 12 * 24 * 24 + 13 * 24 + 2 * 24);
}

TEST_CASE("a transformer's block pairs qkv with projection and the two layers of its perceptron") {
  const Model model = small_transformer();
  const ModelFacts facts = facts_of(model);
  const auto role = [&](const std::string& name) { return facts.tensor_role[find(model, name)]; };
  const auto units = [&](const std::string& name) { return facts.tensor_units[find(model, name)]; };
  CHECK(role("embedding") == TensorSplitRole::lookup);
  CHECK(role("qkv") == TensorSplitRole::column);
  CHECK(role("attention1") == TensorSplitRole::inside);
  CHECK(role("projection") == TensorSplitRole::row);
  CHECK(role("fc1") == TensorSplitRole::column);
  CHECK(role("gelu1") == TensorSplitRole::inside);
  CHECK(role("fc2") == TensorSplitRole::row);
  CHECK(role("head") == TensorSplitRole::head);
  // Every rank computes all of the tensors between the pairs.
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const std::string_view type = model.layers[i].operation->type();
    if (type == "norm" || type == "dropout" || type == "add" || type == "loss" || type == "position_embedding") {
      INFO(model.layers[i].name);
      CHECK(facts.tensor_role[i] == TensorSplitRole::whole);
      CHECK(facts.tensor_units[i] == 0);
    }
  }
  // Heads stay whole. The MLP is split by its 96 features.
  for (const std::string name : {"qkv", "attention1", "projection"}) CHECK(units(name) == 6);
  for (const std::string name : {"fc1", "gelu1", "fc2"}) CHECK(units(name) == 96);
  // One Allreduce of an input's gradient for each pair, at its column.
  CHECK(facts.sends_input_gradient[find(model, "qkv")]);
  CHECK(facts.sends_input_gradient[find(model, "fc1")]);
}

TEST_CASE("selective recomputation of products leaves out attention and every second product of a block") {
  const Model model = load_model("llama3-8b@layers=2");
  const ModelFacts facts = facts_of(model);
  std::string again;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const Layer& layer = model.layers[i];
    if (layer.block < 0) CHECK_FALSE(facts.again_with_products[i]);
    if (layer.name.starts_with("layer1.") && facts.again_with_products[i]) again += layer.name.substr(7) + ' ';
  }
  CAPTURE(again);
  for (const std::string name : {"projection ", "perceptron.up ", "perceptron.silu1 "})
    CHECK(again.find(name) != std::string::npos);
  for (const std::string name : {"qkv ", "attention1 ", "perceptron.gate ", "perceptron.down "})
    CHECK(again.find(name) == std::string::npos);
}

// torchtitan saves aten.mm, but not aten._grouped_mm, which runs the products of experts.
TEST_CASE("selective recomputation of products recomputes all products of experts, and does not count them") {
  const Model model = load_model("mixtral-8x7b@layers=2");
  const ModelFacts facts = facts_of(model);
  int experts = 0;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const Layer& layer = model.layers[i];
    if (layer.operation->experts() > 1) {
      ++experts;
      CHECK(facts.again_with_products[i]);
    }
    if (layer.name.ends_with(".qkv")) CHECK_FALSE(facts.again_with_products[i]);
    if (layer.name.ends_with(".projection")) CHECK(facts.again_with_products[i]);
  }
  CHECK(experts == 2 * 3);
}

// The gradients of the last product of a block need its input, and the addition after it needs nothing. A dropout between
// them keeps its mask, which only its own forward makes.
TEST_CASE("recomputation of a block can end before its last product, unless dropout follows") {
  const auto spared_of = [](const std::string& name) {
    const Model model = load_model(name);
    const ModelFacts facts = facts_of(model);
    std::string spared;
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
      const Layer& layer = model.layers[i];
      if (layer.block < 0) CHECK_FALSE(facts.spared[i]);
      if (layer.block == 1 && facts.spared[i]) spared += layer.operation->type().data() + std::string(" ");
    }
    return spared;
  };
  CHECK(spared_of("llama3-8b@layers=2") == "fully_connected add ");
  CHECK(spared_of("gpt2@layers=2") == "add ");
}

TEST_CASE("query heads are cut between groups that share keys and values") {
  const Model model = parse_model(R"(format: 1
model: grouped
input: {tokens: 8}
layers:
  - embedding: {vocabulary: 50, features: 16}
  - fully_connected: 32
    name: qkv
  - attention: {heads: 4, kv_heads: 2}
    name: attention
  - fully_connected: 16
    name: projection
  - fully_connected: 50
  - loss: cross_entropy
)",
                                  "grouped.yaml");
  const ModelFacts facts = facts_of(model);
  for (const std::string name : {"qkv", "attention", "projection"}) CHECK(facts.tensor_units[find(model, name)] == 2);
}

TEST_CASE("if two column-parallel layers read the same tensor, only one of the layers sends the gradient") {
  const Model model = parse_model(R"(format: 1
model: gated
input: {tokens: 8}
layers:
  - embedding: {vocabulary: 50, features: 16}
    name: words
  - fully_connected: 40
    name: gate
  - activation: silu
    name: silu
  - fully_connected: 40
    name: up
    from: words
  - multiply:
    name: product
    from: [silu, up]
  - fully_connected: 16
    name: down
  - fully_connected: 50
    name: head
  - loss: cross_entropy
)",
                                  "gated.yaml");
  const ModelFacts facts = facts_of(model);
  const auto role = [&](const std::string& name) { return facts.tensor_role[find(model, name)]; };
  CHECK(role("gate") == TensorSplitRole::column);
  CHECK(role("up") == TensorSplitRole::column);
  CHECK(role("silu") == TensorSplitRole::inside);
  CHECK(role("product") == TensorSplitRole::inside);
  CHECK(role("down") == TensorSplitRole::row);
  CHECK(facts.sends_input_gradient[find(model, "gate")]);
  CHECK_FALSE(facts.sends_input_gradient[find(model, "up")]);
}

TEST_CASE("a tensor with other readers cannot stay sharded, and its producer forms no pair") {
  const Model model = parse_model(R"(format: 1
model: watched
input: {features: 16}
layers:
  - fully_connected: 16
    name: a
  - activation: relu
    name: relu
  - fully_connected: 16
    name: b
  - add:
    from: [b, relu]
  - fully_connected: 4
    name: c
)",
                                  "watched.yaml");
  const ModelFacts facts = facts_of(model);
  for (const std::string name : {"a", "b", "c"}) {
    INFO(name);
    CHECK(facts.tensor_role[find(model, name)] == TensorSplitRole::lone);
  }
  CHECK(facts.tensor_role[find(model, "relu")] == TensorSplitRole::whole);
}

// [ParaDL, Table III] requires p ≤ min F and p ≤ min C, which limits filter and channel splits of both models to 64 devices.
TEST_CASE("the smallest number of filters and channels in ResNet-50 and VGG16 is 64") {
  const Model resnet = load_model("resnet50");
  const ModelFacts facts = facts_of(resnet);
  CHECK(facts.smallest_filters == 64);
  CHECK(name_of(resnet, facts.smallest_filters_layer) == "conv1");
  CHECK(facts.smallest_channels == 64);
  // The first layer, which has 3 channels, is ignored.
  CHECK(facts.smallest_channels_layer > facts.first_matrix);
  CHECK(facts.parameters == 25557032);  // torchvision 0.14.1
  CHECK(facts.matrix.size() == 54);     // 1 + 3 · (3 + 4 + 6 + 3) + 4 projections + 1

  const Model vgg = load_model("vgg16");
  const ModelFacts of_vgg = facts_of(vgg);
  CHECK(of_vgg.smallest_filters == 64);
  CHECK(name_of(vgg, of_vgg.smallest_filters_layer) == "stage1.conv1");
  CHECK(of_vgg.smallest_channels == 64);
  CHECK(name_of(vgg, of_vgg.smallest_channels_layer) == "stage1.conv2");
  CHECK(of_vgg.parameters == 138357544);  // torchvision 0.14.1
  CHECK(of_vgg.weighted.size() == 16);
}

TEST_CASE("the last layer's filters and the first layer's channels are ignored if other layers have any") {
  const auto model = [](const std::string& layers) {
    return parse_model("format: 1\nmodel: m\ninput: {features: 5}\nlayers:\n" + layers, "m.yaml");
  };
  const Model two = model("  - fully_connected: 9\n  - fully_connected: 2\n");
  const ModelFacts of_two = facts_of(two);
  CHECK(of_two.smallest_filters == 9);
  CHECK(of_two.smallest_filters_layer == 0);
  CHECK(of_two.smallest_channels == 9);
  CHECK(of_two.smallest_channels_layer == 1);
  const Model one = model("  - fully_connected: 2\n");
  const ModelFacts of_one = facts_of(one);
  CHECK(of_one.smallest_filters == 2);
  CHECK(of_one.smallest_channels == 5);
  const Model none = model("  - activation: relu\n");
  const ModelFacts of_none = facts_of(none);
  CHECK(of_none.first_matrix == -1);
  CHECK(of_none.smallest_filters == 0);
  CHECK(of_none.weighted.empty());
}

TEST_CASE("the facts of a model with 33,000 blocks are found block by block") {
  const Model model = parse_model(R"(format: 1
model: long
input: {channels: 3, size: 16x16}
layers:
  - repeat: {times: 10, layers: [{repeat: {times: 3300, layers: [{residual: {body: [{convolution: {filters: same, kernel: 1}}, {activation: relu}]}}]}}]}
  - flatten
  - fully_connected: 10
  - loss: cross_entropy
)",
                                  "long.yaml");
  REQUIRE(model.layers.size() > 99'000);
  const std::clock_t start = std::clock();
  const ModelFacts facts = facts_of(model);
  // Comparing every block with every other block takes a minute. Comparing blocks one after the
  // other takes a fraction of a second, and a few seconds with sanitizers.
  CHECK(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC < 10.0);
  // In the middle, the previous block's sum and the output of the block's own convolution are live: 768 elements each.
  CHECK(facts.live_items[50'002] == 2 * 768.0);
}

}  // namespace
