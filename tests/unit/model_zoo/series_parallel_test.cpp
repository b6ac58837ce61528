#include "model_zoo/network/series_parallel.hpp"

#include <string>

#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/unit/model_zoo/one_layer.hpp"

namespace series_parallel_tests {

using namespace ddl;

namespace {

const std::string vector = "{features: 12}";

/// Returns a series as text, such as `a b (c d | e | -) add<x`. Branches are in parentheses, `-` is a branch without layers,
/// `<x` is an input from outside the branches, and `[e]` is a branch that ends.
std::string text_of(const Model& model, const Series& series) {
  std::string text;
  const auto name = [&](int layer) { return layer < 0 ? "input" : model.layers[static_cast<std::size_t>(layer)].name; };
  for (const SeriesElement& element : series) {
    if (!text.empty()) text += ' ';
    const bool joins = element.layer >= 0;
    for (std::size_t b = 0; b < element.branches.size(); ++b) {
      text += !joins ? "[" : b == 0 ? "(" : " | ";
      text += element.branches[b].empty() ? "-" : text_of(model, element.branches[b]);
    }
    if (!element.branches.empty()) text += joins ? ") " : "]";
    if (joins) text += name(element.layer);
    for (const int from : element.from) text += '<' + name(from);
  }
  return text;
}

std::string series_text(const std::string& items) {
  const Model model = model_of(vector, items);
  return text_of(model, series_of(model));
}

std::size_t count_layers(const Series& series) {
  std::size_t count = 0;
  for (const SeriesElement& element : series) {
    if (element.layer >= 0) ++count;
    for (const Series& branch : element.branches) count += count_layers(branch);
  }
  return count;
}

}  // namespace

TEST_CASE("a chain of layers is a series") {
  CHECK(series_text("  - fully_connected: 3\n  - activation: relu\n  - softmax\n") == "fc1 relu1 softmax1");
}

TEST_CASE("a residual is two branches, one of which may be the tensor itself") {
  CHECK(series_text("  - softmax\n"
                    "  - residual: [{fully_connected: 12}, {activation: relu}]\n"
                    "  - residual: {body: [{fully_connected: 12}], shortcut: [{activation: tanh}]}\n") ==
        "softmax1 (fc1 relu1 | -) add1 (fc2 | tanh1) add2");
}

TEST_CASE("branches may contain branches, and start at the model's input") {
  CHECK(series_text("  - concat:\n"
                    "      branches:\n"
                    "        - [{fully_connected: 3}]\n"
                    "        - - activation: relu\n"
                    "          - residual: [{activation: tanh}]\n"
                    "        - []\n") == "(fc1 | relu1 (tanh1 | -) add1 | -) concat1");
}

TEST_CASE("a long skip connection is a branch") {
  // A skip connection of a U-Net, from the first level to the last level.
  CHECK(series_text("  - fully_connected: 8\n    name: down\n"
                    "  - fully_connected: 4\n    name: bottom\n"
                    "  - fully_connected: 8\n    name: up\n"
                    "  - concat:\n    from: [up, down]\n"
                    "  - softmax\n") == "down (bottom up | -) concat1 softmax1");
}

TEST_CASE("a tensor with many readers is an input from outside the branches") {
  // Each layer of a decoder reads the output of an encoder.
  CHECK(series_text("  - fully_connected: 8\n    name: encoder\n"
                    "  - fully_connected: 8\n    name: a\n    from: input\n"
                    "  - add:\n    from: [a, encoder]\n    name: b\n"
                    "  - activation: relu\n    name: c\n"
                    "  - add:\n    from: [c, encoder]\n    name: d\n"
                    "  - activation: relu\n    name: e\n"
                    "  - add:\n    from: [e, encoder]\n    name: f\n") == "(encoder | a) b c d<encoder e f<encoder");
}

TEST_CASE("a branch whose last tensor is not read does not join") {
  CHECK(series_text("  - fully_connected: 8\n    name: fork\n"
                    "  - fully_connected: 2\n    name: side\n"
                    "  - fully_connected: 3\n    name: main\n    from: fork\n"
                    "  - softmax\n") == "fork [side] main softmax1");
}

TEST_CASE("a branch that joins at several layers ends at the last of these layers") {
  CHECK(series_text("  - fully_connected: 8\n    name: a\n"
                    "  - activation: relu\n    name: b\n"
                    "  - activation: relu\n    name: c\n"
                    "  - fully_connected: 8\n    name: d\n    from: a\n"
                    "  - concat:\n    from: [b, c, d]\n") == "a (b c | d) concat1<b");
}

TEST_CASE("each layer of a model is in its series exactly once") {
  for (const std::string& name : model_names()) {
    const Model model = load_model(name);
    INFO(name);
    CHECK(count_layers(series_of(model)) == model.layers.size());
  }
}

TEST_CASE("graphs that are not series-parallel, and deep ones, are handled in finite time") {
  // Each layer reads the two previous layers. The graph has no cut.
  std::string ladder = "  - identity:\n    name: l0\n  - identity:\n    name: l1\n";
  // Each residual contains the next residual, 60 levels deep.
  std::string nest;
  for (int i = 2; i < 500; ++i) {
    ladder += "  - add:\n    from: [l" + std::to_string(i - 1) + ", l" + std::to_string(i - 2) + "]\n    name: l" +
              std::to_string(i) + '\n';
  }
  for (int i = 0; i < 25; ++i) nest += "[{residual: ";
  nest += "[softmax]";
  for (int i = 0; i < 25; ++i) nest += "}]";
  for (const Model& model : {model_of(vector, ladder), model_of(vector, "  - residual: " + nest + '\n')}) {
    CHECK(count_layers(series_of(model)) == model.layers.size());
  }
}

}  // namespace series_parallel_tests
