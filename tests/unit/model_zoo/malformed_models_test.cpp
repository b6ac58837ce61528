#include <array>
#include <random>
#include <string>

#include "core/source_text.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

namespace malformed_models_tests {

using namespace ddl;

// The tests check that a model file of any bytes is a model or an Error.

namespace {

/// The file is small, so that thousands of variants run in a second, but contains every construct of the language.
const std::string small =
    "format: 1\n"
    "model: small\n"
    "input: {channels: 4, size: 8x8}\n"
    "parameters: {width: 8, kind: unit}\n"
    "blocks:\n"
    "  unit:\n"
    "    parameters: {filters: , stride: 1}\n"
    "    checkpoint: yes\n"
    "    layers:\n"
    "      - residual:\n"
    "          body:\n"
    "            - convolution: {filters: $filters, kernel: 3, stride: $stride, padding: 1}\n"
    "            - norm: batch\n"
    "          shortcut:\n"
    "            - convolution: {filters: $filters * 1, kernel: 1, stride: $stride}\n"
    "              when: $stride != 1 or $channels != $filters\n"
    "layers:\n"
    "  - repeat:\n"
    "      times: 2\n"
    "      layers:\n"
    "        - block: {use: $kind, filters: $width}\n"
    "    name: round\n"
    "  - pattern: {of: ab, a: [{activation: relu}], b: [{dropout: 0.1}]}\n"
    "  - concat: {branches: [[{pool: {kind: max, kernel: 2}}], [{pool: {kind: average, kernel: 2}}]]}\n"
    "    name: both\n"
    "  - flatten:\n"
    "    from: both\n"
    "  - fully_connected: 10\n"
    "  - loss: cross_entropy\n";

enum class Outcome { model, error };

Outcome outcome_of(const std::string& text) {
  try {
    const Model model = parse_model(text, "m.yaml");
    REQUIRE_FALSE(model.layers.empty());
    return Outcome::model;
  } catch (const Error& error) {
    REQUIRE(std::string(error.what()).size() > 0);
    return Outcome::error;
  }
}

}  // namespace

TEST_CASE("the file that the other tests break is valid") {
  REQUIRE(error_of([] { (void)parse_model(small, "m.yaml"); }) == "no error");
}

TEST_CASE("a truncated file is a model or an error") {
  for (std::size_t length = 0; length <= small.size(); ++length) static_cast<void>(outcome_of(small.substr(0, length)));
  for (const std::string file : {"resnet50.yaml", "bert-large.yaml", "googlenet.yaml"}) {
    const std::string text = read_file(MODELS_FOLDER + file);
    for (std::size_t length = 0; length <= text.size(); length += 7) static_cast<void>(outcome_of(text.substr(0, length)));
  }
}

TEST_CASE("a file with bytes changed, lost or doubled is a model or an error") {
  std::mt19937 random(7);
  constexpr std::string_view letters = "{}[]:,-$*/+()=!<>#'\"&|%@ \n\t0123456789abx\x01\xFF";
  int models = 0;
  for (int run = 0; run < 4000; ++run) {
    std::string text = small;
    for (unsigned edits = random() % 4 + 1; edits > 0; --edits) {
      const std::size_t at = random() % text.size();
      const std::size_t length = std::min<std::size_t>(random() % 12, text.size() - at);
      switch (random() % 4) {
        case 0:
          text[at] = letters[random() % letters.size()];
          break;
        case 1:
          text.erase(at, length);
          break;
        case 2:
          text.insert(at, text.substr(random() % text.size(), length));
          break;
        default:
          text.insert(at, 1, letters[random() % letters.size()]);
      }
      if (text.empty()) text = "x";
    }
    INFO(text);
    models += outcome_of(text) == Outcome::model ? 1 : 0;
  }
  // Some edits are harmless. If there were none, the test would prove little.
  CHECK(models > 50);
}

TEST_CASE("a model file with an extreme value gives a model or an error") {
  const std::array<std::string, 14> extremes{"0",
                                             "-1",
                                             "1",
                                             "10000",
                                             "2147483648",
                                             "9223372036854775807",
                                             "99999999999999999999",
                                             "1e9",
                                             "''",
                                             "~",
                                             "[]",
                                             "{}",
                                             "$width",
                                             "$width * $width * $width * 99999999999999"};
  for (const std::string& extreme : extremes) {
    for (std::size_t at = small.find(": "); at != std::string::npos; at = small.find(": ", at + 1)) {
      const std::size_t end = small.find_first_of(",}\n", at);
      std::string text = small;
      text.replace(at + 2, end - at - 2, extreme);
      INFO(text);
      static_cast<void>(outcome_of(text));
    }
  }
}

}  // namespace malformed_models_tests
