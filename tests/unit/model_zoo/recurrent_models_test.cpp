#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "model_zoo/files/dataset.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"
#include "tests/unit/model_zoo/one_layer.hpp"

namespace recurrent_models_tests {

using namespace ddl;

namespace {

const std::string sequence = "{channels: 24, tokens: 16}";

std::string error_in(const std::string& input, const std::string& items) {
  return error_of([&] { (void)model_of(input, items); });
}

}  // namespace

TEST_CASE("GNMT has the parameters of MLPerf's GNMT") {
  // nn.LSTM has 4h(inputs + h) weights and 2·4h biases for each direction.
  const std::int64_t h = 1024;
  const std::int64_t vocabulary = 32320;  // 32,317 words, padded to a multiple of 8
  const auto lstm = [&](std::int64_t inputs) { return 4 * h * (inputs + h) + 8 * h; };
  const std::int64_t encoder = 2 * lstm(h) + lstm(2 * h) + 2 * lstm(h);
  const std::int64_t decoder = lstm(h) + 3 * lstm(2 * h);  // the later layers also read the context
  const std::int64_t attention = 2 * h * h + h + (h + 1);  // two matrices, v, and the bias and length of the normalization
  const std::int64_t head = vocabulary * h + vocabulary;
  const Model model = load_model("gnmt");
  CHECK(model.parameters() == vocabulary * h + encoder + attention + decoder + head);
  // github.com/NVIDIA/apex states this number for MLPerf's GNMT in its tests of distributed optimizers.
  CHECK(model.parameters() == 160'671'297);
  CHECK(model.input == load_dataset("wmt16-en-de").sample);
}

TEST_CASE("GNMT's decoder reads the words of the target, and all layers after the first also read the context") {
  const Model model = load_model("gnmt");
  const auto at = [&](const std::string& name) -> const Layer& {
    const auto found =
        std::find_if(model.layers.begin(), model.layers.end(), [&](const Layer& layer) { return layer.name == name; });
    REQUIRE(found != model.layers.end());
    return *found;
  };
  CHECK(at("encoder1").output_shape.channels == 2048);
  CHECK(at("encoder2").input_shapes.front().channels == 2048);
  CHECK(at("target_words").weights == 0);
  CHECK(at("target_words").tied_to == 0);
  CHECK(model.layers[static_cast<std::size_t>(at("target_words").inputs.front())].name == "target");
  CHECK(at("decoder1").input_shapes.front().channels == 1024);
  CHECK(at("decoder2").input_shapes.front().channels == 2048);
  for (const Layer& layer : model.layers) {
    if (layer.operation->type() != "concat") continue;
    CHECK(model.layers[static_cast<std::size_t>(layer.inputs[1])].name == "context");
  }
}

TEST_CASE("an LSTM has four gates, each with two matrices and two biases") {
  // 24 input channels and 5 output channels have 4·5·(24 + 5) weights and 2·4·5 biases.
  const Layer one = layer_of(sequence, "  - lstm: 5\n");
  CHECK(to_string(one.output_shape) == "5 over 16 tokens");
  CHECK(one.weights == 580);
  CHECK(one.biases == 40);
  CHECK(one.operation->attributes() == "features=5");
  const Layer both = layer_of(sequence, "  - lstm: {features: 5, bidirectional: yes}\n");
  CHECK(to_string(both.output_shape) == "10 over 16 tokens");
  CHECK(both.weights == 2 * 580);
  CHECK(both.biases == 2 * 40);
  CHECK(both.operation->attributes() == "features=5 bidirectional=yes");
  for (const Layer& layer : {one, both}) {
    // Each token uses every weight once.
    CHECK(layer.operation->macs(layer.input_shapes, layer.output_shape) == 16.0 * static_cast<double>(layer.weights));
  }
}

TEST_CASE("an LSTM's backward has twice the products of forward, and always runs back through time") {
  const Layer layer = layer_of(sequence, "  - lstm: 5\n");
  const double of_input = 2.0 * 16 * 4 * 5 * 24;
  const double of_state = 2.0 * 16 * 4 * 5 * 5;
  // Each of four gates has three additions. Three sigmoids have 12 operations each, and two tanh,
  // of gate and cell, have 10 each. The cell has three products and an addition.
  const double gates = (4 * 3 + 3 * 12 + 2 * 10 + 4) * 16.0 * 5;
  // Backward adds the gradients of the state, recomputes the tanh of the cell, and multiplies (1 −
  // tanh²) by two factors and adds the result. Each of four gates takes four operations, such as
  // g·s·(1 − s). One product is for the previous cell, and the biases of each gate are summed.
  const double back = (1 + 10 + 5 + 4 * 4 + 1 + 4) * 16.0 * 5;
  CHECK(work_of(layer, Pass::forward).flops == of_input + of_state + gates);
  CHECK(work_of(layer, Pass::backward_data).flops == of_input);
  CHECK(work_of(layer, Pass::backward_weight).flops == of_state + of_input + of_state + back);
  // The matrix of the state is read in each of the 16 steps. The matrix of the input is read once, as are the 2·4·5 biases.
  CHECK(work_of(layer, Pass::forward).weight_items == 4 * 5 * 24 + 16 * 4 * 5 * 5 + 40);
  // Input and states are kept, and four gates and the cell for each step.
  CHECK(kept_of(layer).input);
  CHECK(kept_of(layer).output);
  CHECK(kept_of(layer).extra_items == 5 * 5 * 16);
  CHECK_FALSE(layer.operation->divisible().matrix);
  CHECK(error_in("{features: 12}", "  - lstm: 5\n").find("lstm needs a sequence, not 12") != std::string::npos);
  CHECK(error_in(sequence, "  - lstm\n").find("lstm needs 'features'") != std::string::npos);
}

TEST_CASE("an LSTM has a kernel for each time step, and one for all time steps") {
  for (const std::string directions : {"", ", bidirectional: yes"}) {
    const Layer layer = layer_of(sequence, "  - lstm: {features: 5" + directions + "}\n");
    const double count = directions.empty() ? 1 : 2;
    for (const Pass pass : {Pass::forward, Pass::backward_weight}) {
      const std::vector<Work> kernels = layer.operation->kernels(pass, layer.input_shapes, layer.output_shape);
      REQUIRE(static_cast<double>(kernels.size()) == count * 16 + 1);
      const Work sum = sum_of(kernels), all = work_of(layer, pass);
      CHECK(std::abs(sum.flops - all.flops) < 1e-9 * all.flops);
      CHECK(std::abs(sum.activation_items - all.activation_items) < 1e-9 * all.activation_items);
      CHECK(std::abs(sum.weight_items - all.weight_items) < 1e-9 * all.weight_items);
      // A time step multiplies the state of one direction by its matrix, or the gradients of the gates by its transpose.
      CHECK(kernels.front().m == 1);
      CHECK(kernels.front().n == (pass == Pass::forward ? 4 * 5 : 5));
      CHECK(kernels.front().k == (pass == Pass::forward ? 5 : 4 * 5));
      CHECK(kernels.front().weight_items == 4 * 5 * 5);
      // The last kernel is the product with the input, or has the gradients of both matrices, which sum over all tokens.
      CHECK(kernels.back().n == (pass == Pass::forward ? count * 4 * 5 : 24 + 5));
      CHECK(kernels.back().batched == (pass == Pass::forward ? Work::Batched::m : Work::Batched::k));
    }
    CHECK(layer.operation->kernels(Pass::backward_data, layer.input_shapes, layer.output_shape).size() == 1);
  }
  // A long sequence has one kernel.
  const Layer longest = layer_of("{channels: 2, tokens: 8193}", "  - lstm: 2\n");
  CHECK(longest.operation->kernels(Pass::forward, longest.input_shapes, longest.output_shape).size() == 1);
}

TEST_CASE("additive attention adds each query to each key") {
  // There are 16 queries of 24 channels and 9 keys of 6 channels.
  const std::string keys = "  - input: {channels: 6, tokens: 9}\n    name: keys\n";
  const Layer layer =
      layer_of(sequence, keys + "  - additive_attention: {features: 5, normalized: yes}\n    from: [input, keys]\n");
  CHECK(to_string(layer.output_shape) == "6 over 16 tokens");
  CHECK(layer.weights == (24 + 6) * 5);
  CHECK(layer.biases == 5 + 5 + 1);
  CHECK(layer_of(sequence, keys + "  - additive_attention: 5\n    from: [input, keys]\n").biases == 5);
  const double projections = 16 * 24 * 5 + 9 * 6 * 5;
  const double pairs = 16 * 9;
  CHECK(layer.operation->macs(layer.input_shapes, layer.output_shape) == projections + pairs * 5 + pairs * 6);
  // Each of 5 features of a pair has two additions, a tanh (10) and a product with v. Each pair
  // also has a softmax (5) and multiply-adds for the mean over 6 channels.
  CHECK(work_of(layer, Pass::forward).flops == 2 * projections + (2 + 10 + 2) * 5 * pairs + 5 * pairs + 2 * 6 * pairs);
  CHECK(work_of(layer, Pass::backward_data).flops == 2 * projections + 2 * 2 * 6 * pairs + 4 * pairs + 6 * 5 * pairs);
  CHECK(work_of(layer, Pass::backward_weight).flops == 2 * projections + 2 * 5 * pairs);
  // The tanh of all sums and the softmax are kept. PyTorch 1.13 saves 2,880 and 576 bytes for them,
  // 1,536 and 216 bytes for the inputs, and 44 bytes for v, for any batch.
  CHECK(kept_of(layer).input);
  CHECK(4 * kept_of(layer).extra_items == 2880 + 576);
  CHECK(kept_of(layer).extra_items == 5 * pairs + pairs);
  CHECK_FALSE(layer.operation->divisible().matrix);
  CHECK(layer.operation->attributes() == "features=5 normalized=yes");
}

TEST_CASE("additive attention reads two sequences") {
  CHECK(error_in(sequence, "  - additive_attention: 5\n").find("additive_attention takes two inputs, not 1") !=
        std::string::npos);
  CHECK(error_in(sequence, "  - select: last\n    name: one\n  - additive_attention: 5\n    from: [input, one]\n")
            .find("additive_attention needs two sequences, not 24") != std::string::npos);
}

}  // namespace recurrent_models_tests
