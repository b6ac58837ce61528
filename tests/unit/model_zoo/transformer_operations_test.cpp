#include <array>
#include <string>
#include <vector>

#include "model_zoo/network/model.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"
#include "tests/unit/model_zoo/one_layer.hpp"

namespace transformer_operations_tests {

using namespace ddl;

namespace {

const std::string sequence = "{channels: 24, tokens: 16}";
const std::string words = "{tokens: 16}";

/// Returns the error for a model of these elements, without the position.
std::string error_in(const std::string& input, const std::string& items) {
  const std::string message = error_of([&] { static_cast<void>(model_of(input, items)); });
  const std::size_t begin = message.find(": ") + 2;
  return message.substr(begin, message.find('\n') - begin);
}

double macs_of(const Layer& layer) { return layer.operation->macs(layer.input_shapes, layer.output_shape); }
std::string attributes(const std::string& input, const std::string& item) {
  return layer_of(input, "  - " + item + "\n").operation->attributes();
}

/// Returns a model with queries of 12 tokens, keys and values of 20 tokens, four query heads of 6
/// channels and two heads of keys and values.
Model crossed(const std::string& attention) {
  return model_of("{channels: 24, tokens: 20}",
                  "  - fully_connected: 24\n    name: other\n  - input: {channels: 24, tokens: 12}\n    name: queries\n"
                  "  - " +
                      attention + "\n    from: [queries, other]\n");
}

constexpr std::array passes{Pass::forward, Pass::backward_data, Pass::backward_weight};

}  // namespace

TEST_CASE("attention may read queries from one sequence, and keys and values from another") {
  const Layer layer = crossed("attention: {heads: 4, kv_heads: 2}").layers.back();
  CHECK(to_string(layer.output_shape) == "24 over 12 tokens");
  CHECK(macs_of(layer) == 2.0 * 12 * 20 * 24);
  const double scores = 4.0 * 12 * 20;
  CHECK(work_of(layer, Pass::forward).flops == 2 * macs_of(layer) + 5 * scores);
  CHECK(work_of(layer, Pass::forward).activation_items == 24 * 12 + 24 * 20 + 24 * 12 + 4 * scores);
  CHECK(kept_of(layer).extra_items == scores);
  CHECK(layer.operation->divisible().channel_units == 2);

  const auto error = [](const std::string& attention) { return error_of([&] { static_cast<void>(crossed(attention)); }); };
  CHECK(error("attention: 4")
            .find("the second input has 24 channels, but 2 × 4 key and value heads of 6, the size of the 4 query heads, "
                  "need 48") != std::string::npos);
  CHECK(error("attention: 5").find("the 24 channels of the queries do not divide into 5 heads") != std::string::npos);
  CHECK(error("attention: {heads: 4, kv_heads: 2, causal: yes}").find("cannot be causal") != std::string::npos);
}

TEST_CASE("fused attention keeps its output and a number for each head and token, and skips masked pairs") {
  const Layer layer = layer_of(sequence, "  - attention: {heads: 4, fused: yes, dropout: 0.1}\n");
  const double scores = 4.0 * 16 * 16;
  CHECK(macs_of(layer) == 2.0 * 16 * 16 * 8);
  CHECK(work_of(layer, Pass::forward).flops == 2 * macs_of(layer) + 5 * scores);
  // Backward has five products and forward has two, because backward recomputes the scores.
  CHECK(work_of(layer, Pass::backward_data).flops == 5 * macs_of(layer) + 15 * scores);
  CHECK(work_of(layer, Pass::forward).activation_items == (24 + 8) * 16);
  CHECK(work_of(layer, Pass::backward_data).activation_items == 2 * (24 + 8) * 16);
  CHECK(kept_of(layer).input);
  CHECK(kept_of(layer).output);
  CHECK(kept_of(layer).extra_items == 0);
  CHECK(kept_of(layer).mask_items == 4 * 4 * 16);
  // There are 1 + 2 + … + 16 pairs.
  const Layer causal = layer_of(sequence, "  - attention: {heads: 4, causal: yes, fused: yes}\n");
  CHECK(macs_of(causal) == 2.0 * 136 * 8);
  CHECK(work_of(causal, Pass::forward).flops == 2 * macs_of(causal) + 5 * 4 * 136);
}

TEST_CASE("a window limits the tokens to which each token attends, and fused kernels skip all other pairs") {
  // The first four tokens have 1 + 2 + 3 + 4 pairs. Each of the other twelve tokens has 4 pairs.
  const Layer fused = layer_of(sequence, "  - attention: {heads: 4, causal: yes, window: 4, fused: yes}\n");
  CHECK(macs_of(fused) == 2.0 * (10 + 12 * 4) * 8);
  // A window that covers all tokens has no effect. Attention that writes scores writes all of them.
  CHECK(macs_of(layer_of(sequence, "  - attention: {heads: 4, causal: yes, window: 99, fused: yes}\n")) == 2.0 * 136 * 8);
  CHECK(macs_of(layer_of(sequence, "  - attention: {heads: 4, causal: yes, window: 4}\n")) == 2.0 * 256 * 8);
  // Without a causal mask, a window of 5 tokens has two on each side: 16 · 5 pairs, less 1 + 2 at each end.
  CHECK(macs_of(layer_of(sequence, "  - attention: {heads: 4, window: 5, fused: yes}\n")) == 2.0 * (16 * 5 - 6) * 8);
}

TEST_CASE("biases of positions are a table, which counts for the layer that owns it") {
  const Model model = model_of(sequence,
                               "  - attention: {heads: 4, buckets: 32}\n    name: first\n  - fully_connected: 24\n"
                               "  - attention: {heads: 4, buckets: 32, tied: first}\n    name: second\n");
  const Layer& first = model.layers.front();
  const Layer& second = model.layers.back();
  const double scores = 4.0 * 16 * 16;
  CHECK(first.parameters() == 32 * 4);
  CHECK(second.parameters() == 0);
  CHECK(second.tied_to == 0);
  for (const Layer* layer : {&first, &second}) {
    CHECK(work_of(*layer, Pass::forward).flops == 2 * macs_of(*layer) + 6 * scores);
    // Queries, keys and values have 24 channels, and the output has 8. The scores are written, read
    // and written for the bias, read and written for the softmax, and read again.
    CHECK(work_of(*layer, Pass::forward).activation_items == 16 * (24 + 8) + 6 * scores);
    CHECK(work_of(*layer, Pass::forward).weight_items == scores);  // once for all samples
    CHECK(work_of(*layer, Pass::backward_weight).activation_items == scores);
  }
  const auto tied = [](const std::string& attributes, const std::string& name) {
    return error_in(sequence,
                    "  - attention: {heads: 4, buckets: 32}\n    name: first\n  - fully_connected: 24\n    name: fc\n"
                    "  - attention: {" +
                        attributes + ", tied: " + name + "}\n");
  };
  CHECK(tied("heads: 4, buckets: 16", "first") ==
        "layer 'attention1' cannot share the weights of 'first': the owner's table is 32 × 4, not 16 × 4");
  CHECK(
      tied("heads: 4, buckets: 32", "fc") ==
      "layer 'attention1' cannot share the weights of 'fc': the owner of the weights is not attention but fully_connected");
  CHECK(tied("heads: 4", "first") == "this attention has no relative position biases to share");
  CHECK(error_in(sequence, "  - attention: {heads: 4, buckets: 32, fused: yes}\n") ==
        "fused attention does not support trained biases");
}

TEST_CASE("ALiBi adds to each score and has no trained parameters") {
  const Layer layer = layer_of(sequence, "  - attention: {heads: 4, alibi: yes}\n");
  CHECK(layer.parameters() == 0);
  CHECK(work_of(layer, Pass::forward).flops == 2 * macs_of(layer) + 6 * 4.0 * 16 * 16);
  CHECK(work_of(layer, Pass::backward_weight).activation_items == 0);
}

TEST_CASE("rotary positions rotate queries and keys, not values") {
  // There are four query heads and two heads of keys and values, of 3 channels each; or heads of 2
  // channels that are rotated completely.
  const Layer layer = layer_of(sequence, "  - rotary_embedding: 4\n");
  CHECK(layer.output_shape == layer.input_shapes.front());
  CHECK(layer.parameters() == 0);
  CHECK(work_of(layer, Pass::forward).activation_items == 2 * 16 * 16);
  CHECK(work_of(layer, Pass::backward_data).flops == 3 * 16 * 16);
  CHECK(work_of(layer, Pass::backward_weight).activation_items == 0);
  CHECK_FALSE(kept_of(layer).input);
  CHECK_FALSE(kept_of(layer).output);
  const Layer part = layer_of("{channels: 48, tokens: 16}", "  - rotary_embedding: {heads: 4, kv_heads: 2, turned: 4}\n");
  CHECK(work_of(part, Pass::forward).activation_items == 2 * (4 + 2) * 4 * 16);
  CHECK(part.operation->divisible().channel_units == 2);
  CHECK(error_in(sequence, "  - rotary_embedding: {heads: 4, turned: 4}\n") ==
        "heads of 2 channels cannot have 4 rotated channels: an even number up to the head size is needed");
  CHECK(error_in(sequence, "  - rotary_embedding: {heads: 2, turned: 3}\n") ==
        "heads of 4 channels cannot have 3 rotated channels: an even number up to the head size is needed");
  CHECK(error_in(sequence, "  - rotary_embedding: 5\n") ==
        "the 24 channels of the input do not divide into 5 query and 2 × 5 key and value heads");
}

TEST_CASE("experts process the tokens that the router sends to them") {
  const Model model = model_of(sequence,
                               "  - identity:\n    name: tokens\n"
                               "  - router: {experts: 8, active: 2}\n    name: router\n"
                               "  - dispatch: 2\n    from: [tokens, router]\n"
                               "  - fully_connected: {features: 10, experts: 8}\n    name: up\n"
                               "  - fully_connected: {features: 24, experts: 8, bias: no}\n    name: down\n"
                               "  - combine:\n    from: [down, router]\n");
  const Layer& router = model.layers[1];
  const Layer& dispatch = model.layers[2];
  const Layer& up = model.layers[3];
  const Layer& combine = model.layers.back();
  CHECK(router.parameters() == 24 * 8);
  CHECK(macs_of(router) == 16 * 24 * 8);
  // The matrix is a product of its own, which runs on matrix units.
  for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_weight}) {
    const std::vector<Work> kernels = router.operation->kernels(pass, router.input_shapes, router.output_shape);
    const Work all = router.operation->work(pass, router.input_shapes, router.output_shape), sum = sum_of(kernels);
    REQUIRE(kernels.size() == (pass == Pass::backward_weight ? 1 : 2));
    CHECK(kernels.front().kernel_kind() == KernelKind::matrix_product);
    CHECK(kernels.front().m * kernels.front().n * kernels.front().k == 16 * 24 * 8);
    CHECK(kernels.front().flops == 2 * 16 * 24 * 8);
    CHECK(kernels.back().activation_items >= 0);
    CHECK(sum.flops == Approx(all.flops));
    CHECK(sum.activation_items == Approx(all.activation_items));
    CHECK(sum.weight_items == all.weight_items);
  }
  CHECK(to_string(dispatch.output_shape) == "24 over 32 tokens");
  CHECK(kept_of(dispatch).mask_items == 8 * 32);
  CHECK_FALSE(kept_of(dispatch).input);
  // Weights are those of all experts. Work is done for each token and each of its experts.
  CHECK(up.weights == 8 * 24 * 10);
  CHECK(up.biases == 8 * 10);
  CHECK(macs_of(up) == 32 * 24 * 10);
  for (const Pass pass : passes) {
    const Work work = work_of(up, pass);
    CHECK(work.flops == 2 * macs_of(up));
    CHECK(work.weight_items == 8.0 * (24 * 10 + 10));
    CHECK(8 * 2 * work.m * work.n * work.k == work.flops);  // one product per expert
  }
  CHECK(to_string(combine.output_shape) == "24 over 16 tokens");
  CHECK(kept_of(combine).input);
  // Every copy is read and written once. The copies are added when they return.
  CHECK(work_of(dispatch, Pass::forward).activation_items == 2 * 24 * 32);
  CHECK(work_of(combine, Pass::forward).flops == 2 * 24 * 32);
}

TEST_CASE("routers, dispatches and combines that do not match are refused") {
  const std::string router = "  - identity:\n    name: tokens\n  - router: {experts: 8, active: 2}\n    name: router\n";
  CHECK(error_in(sequence, "  - router: {experts: 2, active: 3}\n") == "there are 2 experts, so 3 cannot be active");
  CHECK(error_in(sequence, router + "  - dispatch: 9\n    from: [tokens, router]\n")
            .starts_with("layer 'dispatch1': there are 8 experts, so 9 cannot be active"));
  CHECK(error_in(sequence, router + "  - dispatch: 2\n").starts_with("layer 'dispatch1': dispatch takes tokens"));
  CHECK(error_in(sequence, router + "  - combine\n").starts_with("layer 'combine1': combine takes the output of experts"));
  CHECK(error_in(sequence, router + "  - select: first\n    name: one\n  - dispatch: 1\n    from: [one, router]\n")
            .starts_with("layer 'dispatch1': dispatch needs a sequence"));
  CHECK(error_in(sequence,
                 router + "  - input: {channels: 24, tokens: 17}\n    name: odd\n  - combine:\n    from: [odd, router]\n")
            .starts_with("layer 'combine1': 17 tokens do not match top-k × 16"));
  CHECK(error_in("{features: 24}", "  - router: {experts: 2, active: 1}\n")
            .starts_with("layer 'router1': router needs a sequence"));
  CHECK(error_in("{features: 24}", "  - fully_connected: {features: 2, experts: 2}\n")
            .starts_with("experts need the tokens of a sequence"));
  CHECK(error_in(sequence, router + "  - dispatch: 2147483648\n    from: [tokens, router]\n").find("cannot be active") !=
        std::string::npos);
}

TEST_CASE("an embedding may share the table of another layer") {
  const Model model =
      model_of(words,
               "  - embedding: {vocabulary: 100, features: 24}\n    name: first\n"
               "  - input: {tokens: 4}\n  - embedding: {vocabulary: 100, features: 24, tied: first}\n    name: second\n");
  CHECK(model.parameters() == 2400);
  CHECK(model.layers.back().tied_to == 0);
  // The weight gradient still covers the whole table.
  CHECK(work_of(model.layers.back(), Pass::backward_weight).weight_items == 2400);
  const std::string two =
      "  - embedding: {vocabulary: 100, features: 24}\n    name: first\n"
      "  - embedding: {vocabulary: 100, features: 24, tied: first}\n    name: second\n    from: input\n";
  CHECK(error_in(words, two + "  - fully_connected: {features: 100, tied: second}\n") ==
        "layer 'fc1' cannot share the weights of 'second': the owner's weights are already shared with another layer");
  CHECK(error_in(words, two + "  - embedding: {vocabulary: 99, features: 24, tied: first}\n    from: input\n") ==
        "layer 'embedding1' cannot share the weights of 'first': the owner's table is 100 × 24, not 99 × 24");
}

TEST_CASE("attributes of a transformer's operations can be read back as in model files") {
  CHECK(attributes(sequence, "attention: {heads: 4, causal: yes, window: 4, fused: yes, alibi: yes}") ==
        "heads=4 causal=yes window=4 fused=yes alibi=yes");
  // Settings decide whether attention reads a mask; model files do not.
  CHECK_THROWS_AS(attributes(sequence, "attention: {heads: 4, causal: yes, masked: yes, fused: yes}"), Error);
  CHECK(attributes(sequence, "attention: {heads: 4, buckets: 8, dropout: 0.5}") == "heads=4 buckets=8 dropout=0.5");
  CHECK(attributes(sequence, "rotary_embedding: {heads: 2, turned: 2}") == "heads=2 turned=2");
  CHECK(attributes(sequence, "router: {experts: 4, active: 1}") == "experts=4 active=1");
  CHECK(attributes(sequence, "fully_connected: {features: 3, experts: 4}") == "features=3 experts=4");
  CHECK(attributes(sequence, "attention: {heads: 4, causal: yes, sinks: yes, soft_cap: yes}") ==
        "heads=4 causal=yes sinks=yes soft_cap=yes");
  CHECK(attributes(sequence, "rotary_embedding: {heads: 2, kv_heads: 0, turned: 4}") == "heads=2 kv_heads=0 turned=4");
  CHECK(attributes(sequence, "query_key_norm: {heads: 4, kv_heads: 4}") == "heads=4");
  CHECK(attributes(sequence, "latent_keys_and_values: {heads: 2, key_size: 3, shared: 4, value_size: 5}") ==
        "heads=2 key_size=3 shared=4 value_size=5");
  CHECK(attributes(sequence, "router: {experts: 4, active: 1, scores: sigmoid, correction: yes, groups: 2}") ==
        "experts=4 active=1 scores=sigmoid correction=yes groups=2 active_groups=2");
}

TEST_CASE("values whose size differs from the keys' have a separate product") {
  // Four heads have 6 channels, and their values have 4 channels, as in multi-head latent attention in training.
  const auto model = [](const std::string& attention) {
    return model_of(
        sequence,
        "  - fully_connected: 40\n    name: pairs\n  - fully_connected: 24\n    name: queries\n    from: input\n  - " +
            attention + "\n    from: [queries, pairs]\n");
  };
  const Layer layer = model("attention: {heads: 4, value_size: 4, causal: yes, fused: yes}").layers.back();
  CHECK(to_string(layer.output_shape) == "16 over 16 tokens");
  // In each head, each of 1 + 2 + … + 16 pairs has 6 multiply-adds for its score and 4 for its value.
  const double pairs = 136;
  CHECK(macs_of(layer) == 4 * pairs * (6 + 4));
  CHECK(work_of(layer, Pass::forward).flops == 2 * macs_of(layer) + 5 * 4 * pairs);
  // Backward has two products for each of these two products, and recomputes the scores.
  CHECK(work_of(layer, Pass::backward_data).flops ==
        4 * macs_of(layer) + 10 * 4 * pairs + 2 * 4 * pairs * 6 + 5 * 4 * pairs);
  CHECK(work_of(layer, Pass::forward).activation_items == 16 * (24 + 40 + 16));
  CHECK(kept_of(layer).mask_items == 4 * 4 * 16);
  const Layer written = model("attention: {heads: 4, value_size: 4, causal: yes}").layers.back();
  for (const Pass pass : {Pass::forward, Pass::backward_data}) {
    const Work whole = work_of(written, pass);
    Work sum;
    for (const Work& kernel : written.operation->kernels(pass, written.input_shapes, written.output_shape)) {
      if (kernel.is_separate) continue;
      sum.flops += kernel.flops;
      sum.activation_items += kernel.activation_items;
      if (kernel.m > 0) CHECK(kernel.flops == 2 * kernel.m * kernel.n * kernel.k * kernel.count);
    }
    CHECK(sum.flops == Approx(whole.flops).epsilon(1e-12));
    CHECK(sum.activation_items == Approx(whole.activation_items).epsilon(1e-12));
  }
  const auto error = [&](const std::string& attention) { return error_of([&] { static_cast<void>(model(attention)); }); };
  CHECK(
      error("attention: {heads: 4, value_size: 5}")
          .find(
              "the second input has 40 channels, but 4 keys of 6, the size of the 4 query heads, and values of 5 need 44") !=
      std::string::npos);
  CHECK(error_in(sequence, "  - attention: {heads: 4, value_size: 2}\n") ==
        "values of another size than queries and keys need a separate tensor");
}

TEST_CASE("sinks train a number for each head, and caps take a tanh of each score") {
  const Layer plain = layer_of(sequence, "  - attention: {heads: 4, fused: yes}\n");
  const Layer sinks = layer_of(sequence, "  - attention: {heads: 4, fused: yes, sinks: yes}\n");
  CHECK(sinks.parameters() == 4);
  CHECK(work_of(sinks, Pass::forward).flops == work_of(plain, Pass::forward).flops);
  CHECK(work_of(sinks, Pass::backward_weight).flops == 2 * 4 * 16);
  CHECK(work_of(plain, Pass::backward_weight).flops == 0);
  const double scores = 4.0 * 16 * 16;
  const Layer capped = layer_of(sequence, "  - attention: {heads: 4, fused: yes, soft_cap: yes}\n");
  CHECK(work_of(capped, Pass::forward).flops == work_of(plain, Pass::forward).flops + 12 * scores);
  CHECK(work_of(capped, Pass::forward).activation_items == work_of(plain, Pass::forward).activation_items);
  // If scores are written, the results of tanh are read, written and kept as well.
  const Layer written = layer_of(sequence, "  - attention: {heads: 4, soft_cap: yes}\n");
  CHECK(kept_of(written).extra_items == 2 * scores);
  CHECK(work_of(written, Pass::forward).activation_items == work_of(plain, Pass::forward).activation_items + 6 * scores);
  for (const Pass pass : {Pass::forward, Pass::backward_data}) {
    double flops = 0, moved = 0;
    for (const Work& kernel : written.operation->kernels(pass, written.input_shapes, written.output_shape)) {
      if (kernel.is_separate) continue;
      flops += kernel.flops;
      moved += kernel.activation_items;
    }
    CHECK(flops == Approx(work_of(written, pass).flops).epsilon(1e-12));
    CHECK(moved == Approx(work_of(written, pass).activation_items).epsilon(1e-12));
  }
}

TEST_CASE("operator by operator, attention copies its result from heads to tokens") {
  // Counted on PyTorch 2.4 below autograd, for timm's ViT-B without fused attention: forward copies the result, and backward
  // its gradient (2 elements each). PyTorch's nn.MultiheadAttention copies nothing else. Scales read and write the scores.
  const double scores = 4.0 * 16 * 16, tokens_of_head = 8 * 16;
  const auto separate = [](const Layer& layer, Pass pass) {
    double moved = 0;
    for (const Work& kernel : layer.operation->kernels(pass, layer.input_shapes, layer.output_shape))
      moved += kernel.is_separate ? kernel.activation_items : 0;
    return moved;
  };
  const Layer written = layer_of(sequence, "  - attention: 4\n");
  const Layer fused = layer_of(sequence, "  - attention: {heads: 4, fused: yes}\n");
  for (const Pass pass : {Pass::forward, Pass::backward_data}) {
    CHECK(separate(written, pass) == 2 * scores + 2 * tokens_of_head);
    CHECK(separate(fused, pass) == 0);
  }
}

TEST_CASE("norms of queries and keys do not change the values") {
  // There are four query heads and two heads of keys and values, of 6 channels each. The norm has a
  // scale of 6 elements for the queries and another for the keys.
  const Layer layer = layer_of("{channels: 48, tokens: 16}", "  - query_key_norm: {heads: 4, kv_heads: 2}\n");
  CHECK(layer.output_shape == layer.input_shapes.front());
  CHECK(layer.parameters() == 2 * 6);
  CHECK(work_of(layer, Pass::forward).activation_items == 2 * (4 + 2) * 6 * 16);
  CHECK(kept_of(layer).input);
  CHECK(kept_of(layer).statistics == (4 + 2) * 16);
  CHECK(layer.operation->divisible().channel_units == 2);
  CHECK(layer_of(sequence, "  - query_key_norm: {heads: 4, scale: no}\n").parameters() == 0);
  // A layer norm has a number that it adds for each that it multiplies.
  CHECK(layer_of("{channels: 48, tokens: 16}", "  - query_key_norm: {heads: 4, kv_heads: 2, bias: yes}\n").parameters() ==
        2 * layer.parameters());
  CHECK(error_in(sequence, "  - query_key_norm: {heads: 4, scale: no, bias: yes}\n").find("has no bias") !=
        std::string::npos);
  CHECK(error_in(sequence, "  - query_key_norm: 5\n") ==
        "the 24 channels of the input do not divide into 5 query and 2 × 5 key and value heads");
  CHECK(error_in("{features: 24}", "  - query_key_norm: 4\n").find("query_key_norm needs a sequence") != std::string::npos);
}

TEST_CASE("latent keys and values are a matrix of the compressed channels and copies of the shared channels") {
  // 4 of 24 channels are shared, and 20 are compressed. There are two heads with keys of 3 + 4
  // channels and values of 5 channels.
  const Layer layer = layer_of(sequence, "  - latent_keys_and_values: {heads: 2, key_size: 3, shared: 4, value_size: 5}\n");
  CHECK(layer.output_shape.channels == 2 * (3 + 4 + 5));
  CHECK(layer.parameters() == 20 * 2 * (3 + 5));
  CHECK(macs_of(layer) == 16 * 20 * 2 * (3 + 5));
  const auto kernels = layer.operation->kernels(Pass::forward, layer.input_shapes, layer.output_shape);
  REQUIRE(kernels.size() == 2);
  CHECK(kernels[0].flops == 2 * macs_of(layer));
  CHECK(kernels[0].activation_items == 16 * (20 + 2 * 8));
  // The keys of both heads are read and written. The shared channels are read once and written twice.
  CHECK(kernels[1].activation_items == 16 * (2 * 6 + 4 + 8));
  // The gradient of the shared channels is summed over the heads.
  CHECK(work_of(layer, Pass::backward_data).flops == 2 * macs_of(layer) + 16 * 8);
  CHECK(work_of(layer, Pass::backward_weight).flops == 2 * macs_of(layer));
  CHECK(layer.operation->divisible().channel_units == 2);
  CHECK(error_in(sequence, "  - latent_keys_and_values: {heads: 2, key_size: 3, shared: 24, value_size: 5}\n")
            .find("the input has 24 channels, and 24 of them are shared: none are left to compress") != std::string::npos);
  CHECK(error_in("{features: 24}", "  - latent_keys_and_values: {heads: 2, key_size: 3, value_size: 5}\n")
            .find("latent_keys_and_values needs a sequence") != std::string::npos);
}

TEST_CASE("slices of latent keys and values by heads have all of the matrix, and each slice has the shared channels") {
  const Layer layer = layer_of(sequence, "  - latent_keys_and_values: {heads: 4, key_size: 3, shared: 4, value_size: 5}\n");
  for (const Pass pass : passes) {
    double flops = 0;
    std::int64_t weights = 0;
    for (const std::int64_t heads : {3, 1}) {
      TensorShape output = layer.output_shape;
      output.channels = heads * (3 + 4 + 5);
      flops += layer.operation->work(pass, layer.input_shapes, output).flops;
      weights += layer.operation->weights(layer.input_shapes, output);
      const Operation::Local local = layer.operation->local(layer.input_shapes, output);
      REQUIRE(local.operation);
      CHECK(local.operation->infer(local.inputs) == output);
      CHECK(local.operation->weights(local.inputs, output) == 20 * heads * (3 + 5));
    }
    CHECK(flops == Approx(work_of(layer, pass).flops).epsilon(1e-12));
    CHECK(weights == layer.weights);
  }
}

TEST_CASE("a router may have sigmoid scores, a bias, corrections and groups") {
  const Layer plain = layer_of(sequence, "  - router: {experts: 8, active: 2}\n");
  const double scores = 8 * 16;
  CHECK(layer_of(sequence, "  - router: {experts: 8, active: 2, bias: yes}\n").parameters() == 24 * 8 + 8);
  const Layer corrected = layer_of(sequence, "  - router: {experts: 8, active: 2, scores: sigmoid, correction: yes}\n");
  CHECK(corrected.parameters() == plain.parameters());
  CHECK(corrected.buffers == 8);  // not trained
  CHECK(work_of(corrected, Pass::forward).flops == work_of(plain, Pass::forward).flops + (12 - 5 + 1) * scores);
  const Layer grouped = layer_of(sequence, "  - router: {experts: 8, active: 2, groups: 4, active_groups: 2}\n");
  CHECK(work_of(grouped, Pass::forward).flops == work_of(plain, Pass::forward).flops + 2 * scores + 2 * 4 * 16);
  CHECK(error_in(sequence, "  - router: {experts: 8, active: 2, groups: 3}\n") == "8 experts do not divide into 3 groups");
  CHECK(error_in(sequence, "  - router: {experts: 8, active: 2, groups: 2, active_groups: 3}\n") ==
        "there are 2 groups, so 3 cannot be active");
  CHECK(error_in(sequence, "  - router: {experts: 8, active: 3, groups: 4, active_groups: 1}\n") ==
        "there are 2 experts in the 1 active groups, so 3 cannot be active");
}

TEST_CASE("a capped output needs one pass before the loss and one pass after it") {
  const Layer plain = layer_of("{features: 24}", "  - loss: cross_entropy\n");
  const Layer capped = layer_of("{features: 24}", "  - loss: {kind: cross_entropy, soft_cap: yes}\n");
  CHECK(work_of(capped, Pass::forward).flops == work_of(plain, Pass::forward).flops + 12 * 24);
  CHECK(work_of(capped, Pass::forward).activation_items == work_of(plain, Pass::forward).activation_items + 2 * 24);
  CHECK(kept_of(capped).extra_items == 24);
}

TEST_CASE("heads distributed to ranks have all of the work, the biases and the kept memory") {
  for (const auto& [channels, item] : {std::pair<int, std::string>{24, "rotary_embedding: 4"},
                                       {48, "rotary_embedding: {heads: 8, kv_heads: 4, turned: 2}"},
                                       {24, "attention: {heads: 4, fused: yes, causal: yes}"},
                                       {24, "attention: {heads: 4, buckets: 8}"},
                                       {48, "attention: {heads: 8, kv_heads: 4, alibi: yes, dropout: 0.1}"},
                                       {24, "rotary_embedding: {heads: 4, kv_heads: 0}"},
                                       {24, "attention: {heads: 4, sinks: yes}"},
                                       {24, "attention: {heads: 4, soft_cap: yes, fused: yes}"}}) {
    const Layer layer = layer_of("{channels: " + std::to_string(channels) + ", tokens: 16}", "  - " + item + "\n");
    INFO(item);
    for (const Pass pass : passes) {
      // One rank has three of four parts, and the other rank has one.
      double flops = 0, moved = 0, kept = 0;
      std::int64_t parameters = 0;
      for (const std::int64_t part : {3, 1}) {
        std::vector<TensorShape> in = layer.input_shapes;
        TensorShape out = layer.output_shape;
        in.front().channels = in.front().channels * part / 4;
        out.channels = out.channels * part / 4;
        const Work work = layer.operation->work(pass, in, out);
        const Kept own = layer.operation->kept(in, out);
        flops += work.flops;
        moved += work.activation_items;
        kept += own.mask_items + own.extra_items;
        parameters += layer.operation->biases(in, out);
      }
      CHECK(flops == Approx(work_of(layer, pass).flops).epsilon(1e-12));
      CHECK(moved == Approx(work_of(layer, pass).activation_items).epsilon(1e-12));
      CHECK(kept == Approx(kept_of(layer).mask_items + kept_of(layer).extra_items).epsilon(1e-12));
      CHECK(parameters == layer.biases);
    }
  }
}

TEST_CASE("norms of queries and keys may have separate scales for each head, or span all heads") {
  const std::string input = "{channels: 48, tokens: 16}";
  // There are 4 heads of queries and 2 heads of keys, of 6 channels each.
  const Layer own = layer_of(input, "  - query_key_norm: {heads: 4, kv_heads: 2, of: each_head}\n");
  CHECK(own.parameters() == 6 * 6);
  CHECK(own.operation->attributes() == "heads=4 kv_heads=2 of=each_head");
  CHECK(kept_of(own).statistics == 16 * 6);
  CHECK(own.operation->divisible().channelwise);
  const Layer whole = layer_of(input, "  - query_key_norm: {heads: 4, kv_heads: 2, of: all_heads}\n");
  CHECK(whole.parameters() == 6 * 6);
  CHECK(kept_of(whole).statistics == 2 * 16);
  CHECK_FALSE(whole.operation->divisible().channelwise);
  CHECK(layer_of(input, "  - query_key_norm: {heads: 4, kv_heads: 2, of: head}\n").operation->attributes() ==
        "heads=4 kv_heads=2");
  // Queries alone have one scale of 12 channels, and 4 norms for each token.
  const Layer alone = layer_of(input, "  - query_key_norm: {heads: 4, kv_heads: 0}\n");
  CHECK(alone.parameters() == 12);
  CHECK(kept_of(alone).statistics == 16 * 4);
  CHECK(work_of(alone, Pass::forward).activation_items == 2 * 48 * 16);
  TensorShape half = alone.output_shape;
  half.channels /= 2;
  CHECK(alone.operation->local(std::vector{half}, half).operation->attributes() == "heads=2 kv_heads=0");
}

TEST_CASE("a product may have one factor for each token") {
  const Model model = model_of(sequence, "  - fully_connected: 1\n    name: gate\n  - multiply:\n    from: [input, gate]\n");
  const Layer& layer = model.layers.back();
  CHECK(to_string(layer.output_shape) == "24 over 16 tokens");
  CHECK(work_of(layer, Pass::forward).flops == 24 * 16);
  CHECK(work_of(layer, Pass::forward).activation_items == 2 * 24 * 16 + 16);
  // The gradient of each factor is summed over the channels.
  CHECK(work_of(layer, Pass::backward_data).flops == 3 * 24 * 16);
  CHECK(layer.operation->depth(Pass::backward_data, layer.input_shapes, layer.output_shape, 1) == 1 + 5);
}

TEST_CASE("xielu has two trained parameters") {
  const Layer layer = layer_of(sequence, "  - activation: xielu\n");
  CHECK(layer.parameters() == 2);
  CHECK(work_of(layer, Pass::backward_weight).flops == 4 * 24 * 16);
  CHECK(kept_of(layer).input);
  CHECK(layer_of(sequence, "  - activation: gelu\n").parameters() == 0);
}

}  // namespace transformer_operations_tests
