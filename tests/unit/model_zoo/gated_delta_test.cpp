#include <array>
#include <string>

#include "model_zoo/network/model.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"
#include "tests/unit/model_zoo/one_layer.hpp"

namespace gated_delta_tests {

using namespace ddl;

namespace {

// There are 512 tokens, 8 heads of values of 6 channels, and 4 heads of keys of 3 channels: queries
// and keys of 12 channels each, values and a gate of 48, and two numbers of each head.
constexpr double tokens = 512, chunk = 64;
const std::string delta =
    "  - embedding: {vocabulary: 10, features: 136}\n"
    "  - gated_delta: {heads: 8, head_size: 6, key_heads: 4, key_size: 3}\n";

Layer delta_layer() { return layer_of("{tokens: 512}", delta); }

constexpr std::array passes{Pass::forward, Pass::backward_data, Pass::backward_weight};

}  // namespace

TEST_CASE("a gated delta rule has the parameters and products of its definition") {
  const Layer layer = delta_layer();
  CHECK(to_string(layer.output_shape) == "48 over 512 tokens");
  // There are a window of 4 tokens for each of 12 + 12 + 48 channels, a scale of 6, and two numbers of each head.
  CHECK(layer.parameters() == 72 * 4 + 6 + 2 * 8);
  // The multiply-adds are those of the window; for each pair of tokens of a chunk and head, of keys with keys and with
  // queries; a third of the cube of each chunk for the inverse; for half of the pairs, of the inverse with keys and values,
  // and of the queries; and of three products with the states.
  const double macs = tokens * 72 * 4 + 2 * tokens * chunk * 8 * 3 + tokens * 8 * chunk * chunk / 3 +
                      tokens * chunk * 8 * (3 + 2 * 6) / 2 + 3 * tokens * 8 * 3 * 6;
  CHECK(layer.operation->macs(layer.input_shapes, layer.output_shape) == Approx(macs).epsilon(1e-12));
  CHECK(layer.operation->attributes() == "heads=8 head_size=6 key_heads=4 key_size=3 kernel=4 chunk=64");
}

TEST_CASE("the work of a gated delta rule is the sum of its kernels, and the products of forward are its multiply-adds") {
  const Layer layer = delta_layer();
  for (const Pass pass : passes) {
    double flops = 0, items = 0;
    for (const Work& kernel : layer.operation->kernels(pass, layer.input_shapes, layer.output_shape)) {
      flops += kernel.flops;
      items += kernel.activation_items;
    }
    CHECK(flops == Approx(work_of(layer, pass).flops).epsilon(1e-12));
    CHECK(items == Approx(work_of(layer, pass).activation_items).epsilon(1e-12));
  }
  const auto products = [&](Pass pass) {
    double flops = 0;
    for (const Work& kernel : layer.operation->kernels(pass, layer.input_shapes, layer.output_shape))
      if (kernel.kernel_kind() == KernelKind::chunk_scan) flops += kernel.flops;
    return flops;
  };
  const double macs = layer.operation->macs(layer.input_shapes, layer.output_shape) - tokens * 72 * 4;
  CHECK(products(Pass::forward) == Approx(2 * macs).epsilon(1e-12));
  // Backward has the recomputed states, and at least two gradients of each product.
  CHECK(products(Pass::backward_data) > 4 * macs);
}

TEST_CASE("a gated delta rule keeps the tensors that its backward reads") {
  const Layer layer = delta_layer();
  const Kept kept = kept_of(layer);
  CHECK(kept.input);
  // Kept are the convolved channels, queries and keys of all heads, a row of a chunk's matrix for each head, and the result.
  CHECK(kept.extra_items == tokens * (72 + 2 * 8 * 3 + 8 * chunk + 48));
  CHECK(kept.statistics == 5 * tokens * 8);
  CHECK(layer.operation->scratch_items(Pass::forward, layer.input_shapes, layer.output_shape) > 0);
}

TEST_CASE("a rank has whole heads of keys with their values") {
  const Layer layer = delta_layer();
  CHECK(layer.operation->divisible().channel_units == 4);
  TensorShape half = layer.output_shape;
  half.channels /= 2;
  const auto local = layer.operation->local(layer.input_shapes, half);
  CHECK(local.operation->attributes() == "heads=4 head_size=6 key_heads=2 key_size=3 kernel=4 chunk=64");
}

TEST_CASE("parts of a gated delta rule that do not belong together are refused") {
  const auto error = [](const std::string& item) {
    return error_of([&] {
      static_cast<void>(layer_of("{tokens: 16}", "  - embedding: {vocabulary: 10, features: 136}\n  - " + item + "\n"));
    });
  };
  CHECK(error("gated_delta: {heads: 8, head_size: 6, key_heads: 3}").find("8 heads do not divide into 3 heads of keys") !=
        std::string::npos);
  CHECK(
      error("gated_delta: {heads: 8, head_size: 5, key_heads: 4, key_size: 3}")
          .find(
              "the input has 136 channels, but queries and keys of 4 heads of 3, values and a gate of 8 heads of 5, and two "
              "numbers of each head need 120") != std::string::npos);
  CHECK(error_of([] {
          static_cast<void>(layer_of("{features: 8}", "  - gated_delta: {heads: 1, head_size: 1, key_size: 2}\n"));
        }).find("gated_delta needs a sequence") != std::string::npos);
}

TEST_CASE("each channel of a key may have a decay of its own") {
  // 16 tokens of two heads of 3: queries, keys, values and gates of 6 channels, and of each head a strength and three
  // decays.
  const Layer layer =
      layer_of("{channels: 32, tokens: 16}", "  - gated_delta: {heads: 2, head_size: 3, channel_decay: yes}\n");
  CHECK(to_string(layer.output_shape) == "6 over 16 tokens");
  // A window of 4 tokens for each of 18 channels, a scale of 3, a decay of each head, and a bias of each of six decays.
  CHECK(layer.biases == 4 * 18 + 3 + 2 + 6);
  CHECK(kept_of(layer).statistics == 5 * 16 * 2 * 4 / 2);
  CHECK(error_of([] {
          (void)layer_of("{channels: 28, tokens: 16}", "  - gated_delta: {heads: 2, head_size: 3, channel_decay: yes}\n");
        }).find("4 numbers of each head need 32") != std::string::npos);
}

}  // namespace gated_delta_tests
