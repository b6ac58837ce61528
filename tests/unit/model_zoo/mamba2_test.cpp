#include <array>
#include <string>
#include <vector>

#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"
#include "tests/unit/model_zoo/one_layer.hpp"

namespace mamba2_tests {

using namespace ddl;

namespace {

// There are 512 tokens, 8 heads of 4 channels in 2 groups, and states of 3: a gate and values of 32
// channels, B and C of 6, and 8 step sizes.
constexpr double tokens = 512;
const std::string scan =
    "  - embedding: {vocabulary: 10, features: 84}\n  - mamba2: {heads: 8, head_size: 4, state: 3, groups: 2, chunk: 128}\n";

Layer scan_layer() { return layer_of("{tokens: 512}", scan); }

constexpr std::array passes{Pass::forward, Pass::backward_data, Pass::backward_weight};

}  // namespace

TEST_CASE("the mixer of Mamba-2 has the parameters and products of its definition") {
  const Layer layer = scan_layer();
  CHECK(to_string(layer.output_shape) == "32 over 512 tokens");
  // There are a window of 4 tokens and a bias for each of 32 + 6 + 6 channels, a scale of 32, and
  // three numbers of each head.
  CHECK(layer.parameters() == 44 * 5 + 32 + 3 * 8);
  // The multiply-adds are those of the window, of C·Bᵀ for each pair of tokens of a chunk in each group, of half of these
  // pairs with the values, of the values times B, and of the states times C.
  const double macs = tokens * 44 * 4 + tokens * 128 * 2 * 3 + tokens * 64 * 32 + 2 * tokens * 32 * 3;
  CHECK(layer.operation->macs(layer.input_shapes, layer.output_shape) == macs);
  CHECK(layer.operation->attributes() == "heads=8 head_size=4 state=3 groups=2 kernel=4 chunk=128");
}

TEST_CASE("the work of Mamba-2 is the sum of its kernels, and backward recomputes the states") {
  const Layer layer = scan_layer();
  for (const Pass pass : passes) {
    const Work whole = work_of(layer, pass);
    double flops = 0, items = 0;
    for (const Work& kernel : layer.operation->kernels(pass, layer.input_shapes, layer.output_shape)) {
      flops += kernel.flops;
      items += kernel.activation_items;
    }
    CHECK(flops == Approx(whole.flops).epsilon(1e-12));
    CHECK(items == Approx(whole.activation_items).epsilon(1e-12));
  }
  const auto products = [&](Pass pass) {
    double flops = 0;
    for (const Work& kernel : layer.operation->kernels(pass, layer.input_shapes, layer.output_shape))
      if (kernel.kernel_kind() == KernelKind::chunk_scan) flops += kernel.flops;
    return flops;
  };
  const double inside = 2 * tokens * 64 * 32;     // products with the values
  const double through = 2 * tokens * 32 * 3;     // products into or out of states
  const double pairs = 2 * tokens * 128 * 2 * 3;  // C·Bᵀ
  CHECK(products(Pass::forward) == pairs + inside + 2 * through);
  // Backward recomputes the states and C·Bᵀ. Then it computes the gradients of the states; of x, B and C through the states;
  // of x, C·Bᵀ and the step sizes inside the chunks; and of B and C through C·Bᵀ.
  CHECK(products(Pass::backward_data) == (through + pairs) + 4 * through + 3 * inside + 2 * pairs);
}

TEST_CASE("Mamba-2 keeps its input and its result before the norm") {
  const Layer layer = scan_layer();
  const Kept kept = kept_of(layer);
  CHECK(kept.input);
  CHECK_FALSE(kept.output);
  CHECK(kept.extra_items == tokens * 32);
  CHECK(kept.statistics == tokens * 2);
  CHECK(layer.operation->inner(Pass::forward, layer.input_shapes, layer.output_shape).tensors == 0);
}

TEST_CASE("shorter sequences are one chunk") {
  const auto products = [](const std::string& length) {
    const Layer layer = layer_of("{tokens: " + length + "}", scan);
    const std::vector<Work> kernels = layer.operation->kernels(Pass::forward, layer.input_shapes, layer.output_shape);
    return kernels[4].flops;  // C·Bᵀ
  };
  CHECK(products("64") == 2 * 64 * 64 * 2 * 3);
  CHECK(products("256") == 2 * 256 * 128 * 2 * 3);
}

TEST_CASE("Mamba-2 distributed to ranks by groups has all of its work and parameters") {
  const Layer layer = scan_layer();
  CHECK(layer.operation->divisible().channelwise);
  CHECK(layer.operation->divisible().channel_units == 2);
  CHECK_FALSE(layer.operation->divisible().tokens);
  TensorShape input = layer.input_shapes.front();
  input.channels = 42;
  TensorShape output = layer.output_shape;
  output.channels = 16;
  const std::vector<TensorShape> inputs{input};
  const Operation::Local local = layer.operation->local(inputs, output);
  REQUIRE(local.operation);
  CHECK(local.operation->attributes() == "heads=4 head_size=4 state=3 kernel=4 chunk=128");
  CHECK(local.operation->infer(local.inputs) == output);
  CHECK(2 * local.operation->biases(local.inputs, output) == layer.biases);
  for (const Pass pass : passes) {
    CHECK(2 * layer.operation->work(pass, inputs, output).flops == Approx(work_of(layer, pass).flops).epsilon(1e-12));
    CHECK(local.operation->work(pass, inputs, output).flops == layer.operation->work(pass, inputs, output).flops);
  }
}

TEST_CASE("Mamba-2 refuses inputs and attributes that do not match") {
  const auto error = [](const std::string& attributes) {
    return error_of([&] {
      static_cast<void>(
          model_of("{tokens: 16}", "  - embedding: {vocabulary: 10, features: 84}\n  - mamba2: " + attributes));
    });
  };
  CHECK(
      error("{heads: 8, head_size: 4, state: 4, groups: 2}\n")
          .find(
              "the input has 84 channels, but gate and values of 8 heads of 4, two vectors of 4 for each of 2 groups, and 8 "
              "steps need 88") != std::string::npos);
  CHECK(error("{heads: 8, head_size: 4, state: 3, groups: 3}\n").find("8 heads do not divide into 3 groups") !=
        std::string::npos);
  CHECK(error("{heads: 8, head_size: 4}\n").find("state") != std::string::npos);
  for (const std::string huge : {"{heads: 2147483648, head_size: 2147483648, state: 1}\n",
                                 "{heads: 2147483648, head_size: 4, state: 2147483648, groups: 2147483648}\n",
                                 "{heads: 8, head_size: 4, state: 3, groups: 2, kernel: 2147483648}\n"}) {
    CHECK_FALSE(error(huge).empty());
  }
  CHECK(error_of([] {
          static_cast<void>(model_of("{features: 84}", "  - mamba2: {heads: 8, head_size: 4, state: 3, groups: 2}\n"));
        }).find("mamba2 needs a sequence") != std::string::npos);
}

TEST_CASE("hybrids of Mamba have the parameters of the published weights") {
  struct Case {
    std::string name;
    std::int64_t parameters;
  };
  // nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16 has 123,611,012,096 weights in bf16, of which
  // 2,942,324,736 belong to the module that predicts a second token. NVIDIA, arXiv 2512.20848,
  // table 1, prints 31.6 billion; arXiv 2504.03624 prints 8 and 56 billion.
  CHECK(load_model("nemotron3-super@predicted=1").parameters() == 123'611'012'096);
  CHECK(load_model("nemotron3-super").parameters() == 123'611'012'096 - 2'942'324'736);
  CHECK(static_cast<double>(load_model("nemotron3-nano").parameters()) == Approx(31.6e9).margin(0.05e9));
  CHECK(static_cast<double>(load_model("nemotron-h-8b").parameters()) == Approx(8.1e9).margin(0.05e9));
  CHECK(static_cast<double>(load_model("nemotron-h-56b").parameters()) == Approx(56.3e9).margin(0.5e9));
}

TEST_CASE("without its norm, Mamba-2 has no scale and keeps no deviations") {
  const Layer layer = layer_of("{tokens: 512}",
                               "  - embedding: {vocabulary: 10, features: 84}\n"
                               "  - mamba2: {heads: 8, head_size: 4, state: 3, groups: 2, chunk: 128, norm: no}\n");
  CHECK(layer.parameters() == scan_layer().parameters() - 32);
  CHECK(kept_of(layer).statistics == 0);
  CHECK(work_of(layer, Pass::forward).flops != work_of(scan_layer(), Pass::forward).flops);
  CHECK(layer.operation->attributes() == "heads=8 head_size=4 state=3 groups=2 kernel=4 chunk=128 norm=no");
  for (const Pass pass : passes) {
    double flops = 0;
    for (const Work& kernel : layer.operation->kernels(pass, layer.input_shapes, layer.output_shape)) flops += kernel.flops;
    CHECK(flops == Approx(work_of(layer, pass).flops).epsilon(1e-12));
  }
}

}  // namespace mamba2_tests
