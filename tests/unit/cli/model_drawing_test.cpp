#include "cli/documents/model_drawing.hpp"

#include <sstream>
#include <string>

#include "cli/report/figures.hpp"
#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/unit/model_zoo/one_layer.hpp"

namespace model_drawing_tests {

using namespace ddl;

namespace {

/// Returns the drawing without the shapes at the right, and without the line of the input.
std::string drawing_of(const std::string& input, const std::string& items) {
  std::istringstream lines(draw_model(model_of(input, items)));
  std::string text;
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    const std::size_t gap = line.find("   ", line.find_first_not_of(' '));
    text += line.substr(0, gap) + '\n';
  }
  return text;
}

const std::string image = "{channels: 3, size: 8x8}";
const std::string vector = "{features: 12}";

}  // namespace

TEST_CASE("layers are drawn in a row with their distinguishing attributes") {
  CHECK(drawing_of(image,
                   "  - convolution: {filters: 4, kernel: 3, stride: 2, padding: 1, bias: no}\n"
                   "  - norm: batch\n"
                   "  - activation: {kind: relu, in_place: yes}\n"
                   "  - pool: {kind: max, kernel: 2}\n"
                   "  - flatten\n"
                   "  - fully_connected: 10\n") ==
        "conv 4 3x3 stride=2 → norm batch → relu → pool max 2x2 stride=2 → flatten\n"
        "→ fc 10\n");
}

TEST_CASE("a line ends with the shape of its output") {
  CHECK(draw_model(model_of(image, "  - flatten\n")) ==
        "input" + std::string(70, ' ') + "3×8×8\n" + "flatten" + std::string(70, ' ') + "192\n");
}

TEST_CASE("repeated rows are folded, and branches are drawn one below the other") {
  CHECK(drawing_of(vector,
                   "  - repeat: {times: 3, layers: [{fully_connected: 12}, {activation: relu}]}\n"
                   "  - repeat:\n"
                   "      times: 4\n"
                   "      layers:\n"
                   "        - residual: {body: [{fully_connected: 12}, {activation: gelu}], shortcut: [{softmax: }]}\n"
                   "        - residual: [{dropout: 0.1}]\n"
                   "  - loss: mse\n") ==
        "(fc 12 → relu) ×3\n"
        "×4\n"
        "  ┌ fc 12 → gelu\n"
        "  ├ softmax\n"
        "  └ add\n"
        "  ┌ dropout\n"
        "  ├ skip\n"
        "  └ add\n"
        "loss mse\n");
}

TEST_CASE("equal blocks are folded by name, and different blocks are drawn separately") {
  const std::string text = draw_model(load_model("resnet50"));
  CHECK(text.find("stage1: bottleneck ×3") != std::string::npos);
  CHECK(text.find("  bottleneck0\n"
                  "    ┌ conv 64 1x1 → norm batch → relu → conv 64 3x3 → norm batch → relu\n"
                  "    │ → conv 256 1x1 → norm batch\n"
                  "    ├ conv 256 1x1 → norm batch\n"
                  "    └ add → relu") != std::string::npos);
  CHECK(text.find("  bottleneck1–2\n") != std::string::npos);
  CHECK(text.find("stage3: bottleneck ×6") != std::string::npos);
  CHECK(draw_model(load_model("bert-large")).find("layer ×24") != std::string::npos);
}

TEST_CASE("filters 'same' are drawn as a number") {
  CHECK(drawing_of("{channels: 8, size: 4x4}", "  - convolution: {filters: same, kernel: 1x1}\n") == "conv 8 1x1\n");
}

TEST_CASE("branches within branches keep to their lines") {
  CHECK(drawing_of(vector,
                   "  - concat:\n"
                   "      branches:\n"
                   "        - [{residual: [{fully_connected: 12}]}, {activation: relu}]\n"
                   "        - [{fully_connected: 3}]\n") ==
        "┌ ┌ fc 12\n"
        "│ ├ skip\n"
        "│ └ add → relu\n"
        "├ fc 3\n"
        "└ concat\n");
}

TEST_CASE("a side branch and a tensor from a distant layer are marked") {
  CHECK(drawing_of(vector,
                   "  - fully_connected: 12\n    name: fork\n"
                   "  - fully_connected: 2\n    name: side\n"
                   "  - softmax:\n    from: fork\n") ==
        "fc 12\n"
        "╶ fc 2\n"
        "softmax\n");
  CHECK(drawing_of(vector,
                   "  - fully_connected: 12\n    name: a\n"
                   "  - activation: relu\n    name: b\n"
                   "  - activation: relu\n    name: c\n"
                   "  - fully_connected: 12\n    name: d\n    from: a\n"
                   "  - add:\n    from: [b, c, d]\n") ==
        "fc 12\n"
        "┌ relu ×2\n"
        "├ fc 12\n"
        "└ add (from b)\n");
}

TEST_CASE("no line of any drawing is longer than 100 columns") {
  const auto check_lines = [](const Model& model) {
    std::istringstream lines(draw_model(model));
    for (std::string line; std::getline(lines, line);) {
      INFO(model.name << ": " << line);
      CHECK(display_width(line) <= 100);
    }
  };
  for (const std::string& name : model_names()) check_lines(load_model(name));
  const std::string longest(100, 'n');
  // Names are cut, and layers that are nested too deeply are counted.
  std::string deep = "[{fully_connected: 12}]";
  for (int i = 0; i < 28; ++i) deep = "[{residual: " + deep + "}, {activation: relu}]";
  check_lines(model_of(vector, "  - residual: " + deep + '\n'));
  check_lines(model_of(vector, "  - repeat: {times: 2, layers: [{softmax: }]}\n    name: " + longest + '\n'));
}

}  // namespace model_drawing_tests
