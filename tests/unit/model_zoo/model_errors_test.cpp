#include <filesystem>
#include <fstream>
#include <string>

#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

namespace model_errors_tests {

using namespace ddl;

namespace {

/// Returns position and message, and the hint after a bar: the output of `main`, without the line and the caret.
std::string brief(const std::string& error) {
  const std::size_t end = error.find('\n');
  const std::size_t hint = error.find("\nhint: ");
  return error.substr(0, end) + (hint == std::string::npos ? "" : " | " + error.substr(hint + 7));
}

std::string error_in(const std::string& text) {
  return brief(error_of([&] { (void)parse_model(text, "m.yaml"); }));
}

/// Returns the error of a file whose fourth line is `layers:`.
std::string error_in_layers(const std::string& items, const std::string& input = "{channels: 6, size: 8x8}") {
  return error_in("format: 1\nmodel: m\ninput: " + input + "\nlayers:\n" + items);
}

/// Returns the error of a file whose blocks start in line 5, followed by its layers.
std::string error_in_blocks(const std::string& blocks, const std::string& layers = "layers: [flatten]\n") {
  return error_in("format: 1\nmodel: m\ninput: {channels: 6, size: 8x8}\nblocks:\n" + blocks + layers);
}

}  // namespace

TEST_CASE("an error shows the line, marks the position, and has a hint") {
  CHECK(error_of([] {
          (void)parse_model(
              "format: 1\nmodel: m\ninput: {channels: 6, size: 8x8}\nlayers:\n  - convolution: {filters: 6, kernal: 3}\n",
              "mine/m.yaml");
        }) ==
        "mine/m.yaml:5:31: unknown key 'kernal'\n"
        "    - convolution: {filters: 6, kernal: 3}\n"
        "                                ^\n"
        "hint: did you mean 'kernel'?");
}

TEST_CASE("the head of a file is strict") {
  CHECK(error_in("model: m\ninput: {features: 2}\nlayers: [softmax]\n") ==
        "m.yaml:1:1: the key 'format' is missing | add 'format: 1'");
  CHECK(error_in("format: 2\nmodel: m\ninput: {features: 2}\nlayers: [softmax]\n") ==
        "m.yaml:1:9: format 2 needs a newer version of ddl-oracle: this version reads format 1");
  CHECK(error_in("format: 1\ninput: {features: 2}\nlayers: [softmax]\n") ==
        "m.yaml:1:1: the key 'model' is missing | add 'model: ...'");
  CHECK(error_in("format: 1\nmodel: m\nlayers: [softmax]\n") == "m.yaml:1:1: the key 'input' is missing | add 'input: ...'");
  CHECK(error_in("format: 1\nmodel: m\ninput: {features: 2}\n") ==
        "m.yaml:1:1: the key 'layers' is missing | add 'layers: ...'");
  CHECK(error_in("format: 1\nmodel: m\ninput: {features: 2}\nlayer: [softmax]\n") ==
        "m.yaml:4:1: unknown key 'layer' | did you mean 'layers'?");
  CHECK(error_in("format: 1\nmodel: m\ninput: {features: 2}\nlayers: []\n") ==
        "m.yaml:4:9: this list of layers is empty | write one operation per line: - convolution: {filters: 64, kernel: 3}");
  CHECK(error_in("format: 1\nmodel: m\ninput: {features: 2}\nlayers: softmax\n") ==
        "m.yaml:4:9: expected a list of layers, found text | write one '- operation: ...' per line");
  CHECK(error_in("format: 1\nmodel: m\ninput: {features: 2}\nlayers: [{softmax: , when: no}]\n") ==
        "m.yaml:4:9: the model has no layers: conditions exclude all");
  CHECK(error_in("[1]\n") == "m.yaml:1:1: expected a map, found a list | write one 'key: value' per line");
}

TEST_CASE("the input is strict") {
  const auto error_of_input = [](const std::string& input) { return error_in_layers("  - identity\n", input); };
  CHECK(error_of_input("{channels: 3}") ==
        "m.yaml:3:8: the shape of a sample is not clear | write {channels: 3, size: 224x224}, {tokens: 1024} or {features: "
        "100}");
  CHECK(error_of_input("3x32x32") ==
        "m.yaml:3:8: expected a map, found text | write {channels: 3, size: 224x224}, {tokens: 1024} or {features: 100}");
  CHECK(error_of_input("[3, 32, 32]").starts_with("m.yaml:3:8: expected a map, found a list | write {channels: 3"));
  CHECK(error_of_input("{channels: 3, size: 2x2, tokens: 4}").starts_with("m.yaml:3:8: the shape of a sample is not clear"));
  CHECK(error_of_input("{channels: 3, features: 4}") == "m.yaml:3:19: 'channels' and 'features' exclude each other");
  CHECK(error_of_input("{chanels: 3, size: 4}") == "m.yaml:3:9: unknown key 'chanels' | did you mean 'channels'?");
  CHECK(error_of_input("{channels: 3, size: 2x2x2x2}") ==
        "m.yaml:3:28: '2x2x2x2' is not a size | write one number for each dimension: 224x224");
  CHECK(error_of_input("{channels: 0, size: 2}") == "m.yaml:3:19: '0' is too small: at least 1");
  CHECK(error_of_input("{tokens: $n}") == "m.yaml:3:17: unknown parameter '$n' in '$n'");
}

TEST_CASE("an item is one known operation with its own attributes") {
  CHECK(error_in_layers("  - convolutoin: {filters: 6, kernel: 3}\n") ==
        "m.yaml:5:5: unknown operation 'convolutoin' | did you mean 'convolution'?");
  CHECK(error_in_layers("  - convolution: {filters: 6, kernel: 3}\n    activation: relu\n") ==
        "m.yaml:6:5: a layer has a single operation: 'convolution' or 'activation' | start each layer with its own '-'");
  CHECK(error_in_layers("  - name: a\n") ==
        "m.yaml:5:5: this layer has no operation | use for example '- convolution: {filters: 64, kernel: 3}'");
  CHECK(error_in_layers("  - [flatten]\n") ==
        "m.yaml:5:5: expected a layer, found list | use for example '- convolution: {filters: 64, kernel: 3}'");
  CHECK(error_in_layers("  - \n") ==
        "m.yaml:5:3: expected a layer, found nothing | use for example '- convolution: {filters: 64, kernel: 3}'");
  CHECK(error_in_layers("  - flatten: 3\n") == "m.yaml:5:14: flatten has no attributes");
  CHECK(
      error_in_layers("  - convolution: 3\n") ==
      "m.yaml:5:18: convolution needs the names of its attributes | write its attributes in braces: 'convolution: {filters: "
      "...}'");
  CHECK(error_in_layers("  - norm: [batch]\n") == "m.yaml:5:11: expected attributes of norm, found list");
  CHECK(error_in_layers("  - norm: {kind: batch, eps: 1}\n") ==
        "m.yaml:5:25: unknown key 'eps' | known: kind, groups, scale, bias");
  CHECK(error_in_layers("  - activation: rleu\n") == "m.yaml:5:17: unknown kind 'rleu' | did you mean 'relu'?");
  CHECK(error_in_layers("  - activation\n") == "m.yaml:5:5: activation needs 'kind'");
  CHECK(error_in_layers("  - convolution: {filters: 6.5, kernel: 3}\n")
            .starts_with("m.yaml:5:28: '6.5' is not a whole number"));
  CHECK(error_in_layers("  - convolution: {filters: 6, kernel: 3, bias: maybe}\n")
            .starts_with("m.yaml:5:48: 'maybe' is neither yes nor no"));
}

TEST_CASE("errors about inputs that do not fit name the layer and its inputs") {
  CHECK(error_in_layers("  - convolution: {filters: 5, kernel: 3, groups: 4}\n") ==
        "m.yaml:5:50: the 6 channels of the input do not divide into 4 groups");
  CHECK(error_in_layers("  - convolution: {filters: 5, kernel: 9}\n") ==
        "m.yaml:5:5: layer 'conv1': the kernel 9x9 does not fit the input 6×8×8: it spans 9 positions, but the padded input "
        "has 8 | use a smaller kernel, or padding");
  CHECK(error_in_layers("  - convolution: {filters: 5, kernel: 3}\n  - residual:\n    - convolution: {filters: 8, kernel: "
                        "3, padding: 1}\n") ==
        "m.yaml:6:5: layer 'add1': add needs inputs of the same shape, not 8×6×6 and 5×6×6 (it reads 'conv2', 'conv1') | "
        "make the shapes equal, for example by a 1x1 convolution on one branch");
  CHECK(error_in_layers("  - fully_connected: 10\n") ==
        "m.yaml:5:5: layer 'fc1': fully_connected needs a flat vector or a sequence, not 6×8×8 | put '- flatten' before it");
}

TEST_CASE("a layer can only read layers before it") {
  CHECK(error_in_layers("  - activation: relu\n    name: a\n    from: b\n  - activation: relu\n    name: b\n") ==
        "m.yaml:7:11: the layer 'b' comes later: this would be a cycle | a layer can only read layers before it");
  CHECK(error_in_layers("  - activation: relu\n    name: a\n    from: a\n")
            .starts_with("m.yaml:7:11: the layer 'a' comes later"));
  // The error is the same if the rest of the file would not fit.
  CHECK(error_in_layers("  - flatten:\n    from: c\n  - convolution: {filters: 4, kernel: 3}\n    name: c\n")
            .starts_with("m.yaml:6:11: the layer 'c' comes later"));
  CHECK(error_in_layers("  - activation: relu\n  - flatten:\n    from: relu2\n") ==
        "m.yaml:7:11: unknown layer 'relu2' | did you mean 'relu1'?");
  CHECK(error_in_layers("  - residual:\n      - add:\n        from: [input, part]\n    name: part\n") ==
        "m.yaml:7:23: 'part' contains this layer: this would be a cycle | a layer can only read layers before it");
  CHECK(error_in_layers("  - flatten:\n    from: []\n") == "m.yaml:6:11: 'from' does not name a layer");
  CHECK(error_in_layers("  - flatten:\n    from: [{}]\n") ==
        "m.yaml:6:12: expected text, found a map | write a single value");
  CHECK(error_in_layers("  - residual: [flatten]\n    from: [input, input]\n") == "m.yaml:6:19: residual reads one tensor");
}

TEST_CASE("names are unique, and plain") {
  CHECK(error_in_layers("  - activation: relu\n    name: a\n  - activation: relu\n    name: a\n") ==
        "m.yaml:8:11: two layers are named 'a', the other at line 5 | leave the name out, or name the enclosing 'repeat' or "
        "'block'");
  CHECK(error_in_layers("  - repeat:\n      times: 2\n      layers:\n        - activation: relu\n          name: a\n")
            .starts_with("m.yaml:9:17: two layers are named 'a', the other at line 8"));
  CHECK(error_in_layers("  - repeat: {times: 1, layers: [flatten]}\n    name: a\n  - flatten:\n    name: a0\n")
            .starts_with("m.yaml:8:11: two layers are named 'a0'"));
  CHECK(error_in_layers("  - flatten:\n    name: a.b\n") ==
        "m.yaml:6:11: 'a.b' is not a valid name of a layer | a name has letters, digits, '_' and '-'");
  CHECK(error_in_layers("  - flatten:\n    name: input\n") ==
        "m.yaml:6:11: 'input' is the name of the model's input | choose another name");
  CHECK(error_in_layers("  - flatten:\n    name: " + std::string(101, 'a') + "\n") ==
        "m.yaml:6:11: a name of more than 100 characters");
}

TEST_CASE("repeats and residuals must have contents") {
  CHECK(error_in_layers("  - repeat: {times: 10001, layers: [flatten]}\n") ==
        "m.yaml:5:21: '10001' is too large: at most 10000");
  CHECK(error_in_layers("  - repeat: {times: -1, layers: [flatten]}\n") == "m.yaml:5:21: '-1' is too small: at least 0");
  CHECK(error_in_layers("  - repeat: {times: $channels * 2000, layers: [flatten]}\n") ==
        "m.yaml:5:21: '$channels * 2000' is 12000: at most 10000");
  CHECK(error_in_layers("  - repeat: {layers: [flatten]}\n") ==
        "m.yaml:5:13: the key 'times' is missing | add 'times: ...'");
  CHECK(error_in_layers("  - repeat: {times: 2, layers: []}\n") ==
        "m.yaml:5:32: this list of layers is empty | write one operation per line: - convolution: {filters: 64, kernel: 3}");
  CHECK(error_in_layers("  - repeat: {times: 2, layer: [flatten]}\n") ==
        "m.yaml:5:24: unknown key 'layer' | did you mean 'layers'?");
  CHECK(error_in_layers("  - repeat\n") == "m.yaml:5:5: 'repeat' needs a value");
  CHECK(error_in_layers("  - residual: {boddy: [flatten]}\n") == "m.yaml:5:16: unknown key 'boddy' | did you mean 'body'?");
  CHECK(error_in_layers("  - residual: {body: []}\n") ==
        "m.yaml:5:22: this list of layers is empty | write one operation per line: - convolution: {filters: 64, kernel: 3}");
  CHECK(error_in_layers("  - concat: {branches: [[flatten]]}\n") == "m.yaml:5:24: concat needs two or more branches");
  CHECK(error_in_layers("  - concat: {branches: [[flatten], []], axis: 1}\n") ==
        "m.yaml:5:41: unknown key 'axis' | known: branches");
}

TEST_CASE("blocks are checked, used or not") {
  CHECK(error_in_blocks("  a: {layers: [{convolution: {filters: 6, kernal: 3}}]}\n") ==
        "m.yaml:5:43: unknown key 'kernal' | did you mean 'kernel'?");
  CHECK(error_in_blocks("  a: {layer: [flatten]}\n") == "m.yaml:5:7: unknown key 'layer' | did you mean 'layers'?");
  CHECK(error_in_blocks("  a: {parameters: {w: }, layers: [{dropout: $u}]}\n") ==
        "m.yaml:5:45: unknown parameter '$u' in '$u' | known: w");
  CHECK(error_in_blocks("  a: {parameters: {w: }, layers: [{dropout: $w +}]}\n") ==
        "m.yaml:5:45: the expression ends where a value should follow in '$w +'");
  CHECK(error_in_blocks("  a: {layers: [{block: bb}]}\n  b: {layers: [flatten]}\n") ==
        "m.yaml:5:24: unknown block 'bb' | did you mean 'b'?");
  CHECK(error_in_blocks("  a: {parameters: {channels: 2}, layers: [flatten]}\n") ==
        "m.yaml:5:20: the parameter 'channels' is reserved for the channels of a layer's input | choose another name");
  CHECK(error_in_blocks("  a: {parameters: {use: 2}, layers: [flatten]}\n") ==
        "m.yaml:5:20: a block's parameter cannot be named 'use'");
  CHECK(error_in_blocks("  a: {parameters: {a-b: 2}, layers: [flatten]}\n") ==
        "m.yaml:5:20: 'a-b' is not a valid name of a parameter | a parameter's name has letters, digits and '_'");
  CHECK(error_in_blocks("  a b: {layers: [flatten]}\n") ==
        "m.yaml:5:3: 'a b' is not a valid name of a block | a name has letters, digits, '_' and '-'");
  CHECK(error_in_blocks("  a: {checkpoint: 2, layers: [flatten]}\n").starts_with("m.yaml:5:19: '2' is neither yes nor no"));
  CHECK(error_in_layers("  - block: a\n") == "m.yaml:5:12: unknown block 'a' | this file defines no 'blocks:'");
}

TEST_CASE("a use of a block must give the block's parameters, and no others") {
  const std::string block = "  a: {parameters: {w: , v: 1}, layers: [{convolution: {filters: $w / 2, kernel: $v}}]}\n";
  CHECK(error_in_blocks(block, "layers:\n  - block: a\n") == "m.yaml:7:12: the block 'a' needs 'w'");
  CHECK(error_in_blocks(block, "layers:\n  - block: {use: a, w: 4, vv: 3}\n") ==
        "m.yaml:7:27: the block 'a' has no parameter 'vv' | did you mean 'v'?");
  CHECK(error_in_blocks(block, "layers:\n  - block: {w: 4}\n") == "m.yaml:7:12: the key 'use' is missing | add 'use: ...'");
  CHECK(error_in_blocks(block, "layers:\n  - block: {use: a, w: 3}\n") ==
        "m.yaml:5:65: 3 / 2 is not a whole number in '$w / 2'");
  CHECK(error_in_blocks(block, "layers:\n  - block: {use: a, w: x}\n") ==
        "m.yaml:5:65: 'x' is not a whole number in '$w / 2'");
  CHECK(error_in_blocks(block, "layers:\n  - block: {use: a, w: 2, v: x}\n") ==
        "m.yaml:5:81: 'x' is not a size (in 'a0') | write one number, or one for each dimension: 3x3");
  CHECK(error_in_blocks(block, "layers:\n  - block: {use: $w, w: 2}\n") == "m.yaml:7:18: unknown parameter '$w' in '$w'");
}

TEST_CASE("a block that uses itself is refused, also through other blocks") {
  CHECK(error_in_blocks("  a: {layers: [{block: a}]}\n", "layers: [{block: a}]\n") ==
        "m.yaml:5:24: the block 'a' uses itself: a -> a | a block may contain other blocks, but not itself");
  CHECK(error_in_blocks("  a: {layers: [{block: b}]}\n  b: {layers: [{repeat: {times: 1, layers: [{block: a}]}}]}\n",
                        "layers: [{block: a}]\n") ==
        "m.yaml:6:53: the block 'a' uses itself: a -> b -> a | a block may contain other blocks, but not itself");
}

TEST_CASE("a file expands to a limited number of layers and steps, to a limited depth") {
  CHECK(error_in_layers("  - repeat: {times: 10000, layers: [{repeat: {times: 11, layers: [identity]}}]}\n") ==
        "m.yaml:5:67: the model has more than 100000 layers");
  CHECK(error_in_layers(
            "  - repeat: {times: 10000, layers: [{repeat: {times: 10000, layers: [{identity: , when: no}]}}]}\n") ==
        "m.yaml:5:71: the model expands to more than 1000000 steps");
  std::string blocks;
  for (int i = 0; i < 70; ++i)
    blocks += "  a" + std::to_string(i) + ": {layers: [{block: a" + std::to_string(i + 1) + "}]}\n";
  CHECK(error_in_blocks(blocks + "  a70: {layers: [flatten]}\n", "layers: [{block: a0}]\n") ==
        "m.yaml:68:19: nested deeper than 64 levels");
  CHECK(error_in_layers("  - repeat: {times: 10000, layers: [{repeat: {times: 10, layers: [identity]}}]}\n") == "no error");
}

TEST_CASE("expansions that take long count as several") {
  const auto rounds = [](const std::string& item) { return "  - repeat: {times: 10000, layers: [" + item + "]}\n"; };
  const std::string more = " + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1";
  std::string sum = "$channels";
  for (int i = 0; i < 24; ++i) sum += more;
  // Each item costs 974 / 20 letters and one step: 10,000 × 2 × 49 steps are below the limit of
  // 1,000,000, and half as many again are above.
  const std::string item = "{identity: , when: " + sum + " == 0}";
  CHECK(error_in_layers(rounds(item + ", " + item) + "  - flatten\n") == "no error");
  CHECK(error_in_layers(rounds(item + ", " + item + ", " + item)) ==
        "m.yaml:5:2030: the model expands to more than 1000000 steps");
  CHECK(error_in("format: 1\nmodel: m\ninput: {features: 8}\nparameters: {a: " + std::string(1001, 'x') +
                 "}\nlayers: [flatten]\n") == "m.yaml:4:17: a value of more than 1000 characters");
}

TEST_CASE("conditions are true or false") {
  CHECK(error_in_layers("  - identity:\n    when: $channels\n") ==
        "m.yaml:6:11: '6' is neither yes nor no in '$channels' | compare with ==, !=, <, <=, > or >=");
  CHECK(error_in_layers("  - identity:\n    when: $width > 3\n") ==
        "m.yaml:6:11: unknown parameter '$width' in '$width > 3'");
}

TEST_CASE("weights can only be shared with an embedding of the same size") {
  const auto tied = [](const std::string& head) {
    return error_in_layers("  - embedding: {vocabulary: 10, features: 4}\n    name: words\n  - " + head, "{tokens: 8}");
  };
  CHECK(tied("fully_connected: {features: 11, bias: no, tied: words}\n") ==
        "m.yaml:7:53: layer 'fc1' cannot share the weights of 'words': the owner's table is 10 × 4, not 11 × 4 | 'tied' "
        "must name an "
        "embedding with matching vocabulary and features");
  CHECK(tied("fully_connected: {features: 10, tied: wrods}\n") ==
        "m.yaml:7:43: unknown layer 'wrods' | did you mean 'words'?");
  CHECK(tied("fully_connected: {features: 10, tied: input}\n")
            .starts_with("m.yaml:7:43: layer 'fc1' cannot share the weights of 'input': the model's input has no weights"));
  CHECK(tied("activation: relu\n    name: a\n  - fully_connected: {features: 10, tied: a}\n")
            .starts_with("m.yaml:9:43: layer 'fc1' cannot share the weights of 'a': the owner of the weights is not "
                         "embedding but activation"));
}

TEST_CASE("the keys of a model of a family are checked") {
  const std::string head = "format: 1\nmodel: m\nfamily: resnet\n";
  CHECK(error_in("format: 1\nmodel: m\nfamily: resnt\n") == "m.yaml:3:9: unknown family 'resnt' | did you mean 'resnet'?");
  CHECK(error_in(head + "layers: [flatten]\n") ==
        "m.yaml:4:9: 'layers' come from the family 'resnet' | a model of a family gives its 'parameters:' and 'input:'");
  CHECK(error_in(head + "parameters: {unit: basic, stage1: 1, stage2: 1, stage3: 1}\n") ==
        "m.yaml:3:9: the family 'resnet' needs the parameter 'stage4' | add 'parameters: {stage4: ...}'");
  CHECK(
      error_in(head + "parameters: {stage5: 1}\n") ==
      "m.yaml:4:14: the family 'resnet' has no parameter 'stage5' | did you mean 'stage1'? known parameters: unit, stage1, "
      "stage2, stage3, stage4, groups, base_width, stem, stem1, stem2, stem3, stem_pool, shortcut, shortcut_kernel, "
      "halved, gate, least_squeezed, squeezed, first_divisor, classes");
  CHECK(error_in(head + "parameters: {stage1: }\n") == "m.yaml:4:14: the parameter 'stage1' has no value");
  CHECK(error_in("format: 1\nfamily: mine\nlayers: [flatten]\n") ==
        "m.yaml:2:9: this file is a family, not a model | a model of a family has 'model: name', 'family: ...' and "
        "'parameters:'");
}

TEST_CASE("an error in a family's file states the position in that file and names the model that uses the family") {
  CHECK(error_of([] {
          (void)parse_model(
              "format: 1\nmodel: m\nfamily: resnet\nparameters: {unit: botleneck, stage1: 1, stage2: 1, stage3: 1, stage4: "
              "1}\n",
              "m.yaml");
        }) ==
        "model_zoo/models/families/resnet.yaml:124:22: unknown block 'botleneck'\n"
        "        - block: {use: $unit, width: $width, stride: $stride}\n"
        "                       ^\n"
        "used by the model 'm', m.yaml:3:9\n"
        "hint: did you mean 'bottleneck'?");
  CHECK(
      error_of([] {
        (void)parse_model(
            "format: 1\nmodel: m\nfamily: gpt\nparameters: {layers: 2, hidden: 100, heads: 12, vocabulary: 50, tokens: 8}\n",
            "m.yaml");
      })
          .starts_with("model_zoo/models/families/gpt.yaml:33:32: the 300 channels of the input do not divide into 12 query "
                       "and 2 × 12 key and"
                       " value heads (in 'layer0')\n"));
}

TEST_CASE("errors in a family's file name both files") {
  const std::filesystem::path folder = std::filesystem::path(SCRATCH_FOLDER) / "errors";
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "model.yaml").string();
  const auto error_with = [&](const std::string& family) {
    std::ofstream(folder / "family.yaml") << family;
    std::ofstream(path) << "format: 1\nmodel: m\nfamily: ./family.yaml\n";
    std::string error = error_of([&] { (void)load_model(path); });
    for (std::size_t at = error.find(folder.string()); at != std::string::npos; at = error.find(folder.string())) {
      error.replace(at, folder.string().size(), "F");
    }
    return error;
  };
  CHECK(error_with("format: 1\nfamily: f\ninput: {features: 2}\nlayers: [sofmax]\n") ==
        "F/family.yaml:4:10: unknown operation 'sofmax'\n  layers: [sofmax]\n           ^\nused by the model 'm', "
        "F/model.yaml:3:9\n"
        "hint: did you mean 'softmax'?");
  CHECK(brief(error_with("format: 1\nmodel: f\ninput: {features: 2}\nlayers: [softmax]\n")) ==
        "F/family.yaml:2:8: this file is a model, not a family | a family has 'family: name' instead");
  CHECK(error_with("format: 1\nfamily: f\ninput: {features: 2}\nlayers: [softmax]\n") == "no error");
  std::filesystem::remove(folder / "family.yaml");
  CHECK(error_of([&] { (void)load_model(path); }).starts_with(path + ":3:9: cannot read "));
}

}  // namespace model_errors_tests
