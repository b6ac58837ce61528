#include "model_zoo/network/work_depth.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/input_gradient.hpp"
#include "model_zoo/operations/registry.hpp"
#include "tests/catch.hpp"
#include "tests/unit/model_zoo/one_layer.hpp"

namespace work_depth_tests {

using namespace ddl;

namespace {

constexpr double samples = 4;

struct Depths {
  std::string operation;  ///< key in the model file
  std::string input, items;
  double forward, backward_data, backward_weight;  ///< 0 if there is no such pass
};

const std::string image = "{channels: 6, size: 8x10}";  // 80 positions: ⌈log2 80⌉ = 7, ⌈log2 6⌉ = 3
const std::string vector = "{features: 12}";            // ⌈log2 12⌉ = 4
const std::string sequence = "{channels: 24, tokens: 16}";
const std::string words = "{tokens: 16}";

/// Returns layers that copy tokens for `active` of eight experts.
std::string copies(int active) {
  const std::string number = std::to_string(active);
  return "  - identity:\n    name: tokens\n"
         "  - router: {experts: 8, active: " +
         number + "}\n    name: router\n  - dispatch: " + number + "\n    from: [tokens, router]\n    name: copies\n";
}
/// Returns layers that copy tokens for experts and combine the copies again.
std::string mixture(int active) { return copies(active) + "  - combine:\n    from: [copies, router]\n"; }

/// Depths for 4 samples (log2 4 = 2), by [BH18, Table 4]. Operations that are not in that table
/// count as a reduction of n elements in ⌈log2 n⌉ steps.
const std::vector<Depths> golden{
    {"activation", image, "  - activation: gelu\n", 1, 1, 0},
    // Three tensors take ⌈log2 3⌉ steps.
    {"add", image, "  - add:\n    from: [input, input, input]\n", 2, 2, 0},
    {"append", sequence, "  - append:\n    from: [input, input]\n", 1, 1, 0},
    // A projection takes ⌈log2 24⌉ steps, and the product with v log2 8; softmax and mean span 16
    // keys. The weights' gradient is summed over 4 · 16 queries.
    {"additive_attention", sequence, "  - additive_attention: 8\n    from: [input, input]\n", 16, 16, 6},
    // Heads have 24 / (2 + 2·2) = 4 channels. A score takes log2 4 steps, its softmax log2 16 and the values log2 16.
    {"attention", sequence, "  - attention: 2\n", 10, 10, 0},
    // There is a bias for each distance and head. Its gradient is summed over the samples and 16 · 16 pairs.
    {"attention", sequence, "  - attention: {heads: 2, buckets: 8}\n", 10, 10, 10},
    // The gradient of a sink is summed over 4 · 16 queries.
    {"attention", sequence, "  - attention: {heads: 2, sinks: yes}\n", 10, 10, 6},
    {"channel_shuffle", image, "  - channel_shuffle: 3\n", 1, 1, 0},
    {"class_token", sequence, "  - class_token\n", 1, 1, 2},
    // The gradient is summed over 4 samples with 4 images.
    {"class_token", sequence, "  - class_token: {each: 4}\n", 1, 1, 4},
    // Each token has two copies, or five. The gradient of their weights is summed over 24 channels.
    {"combine", sequence, mixture(2), 1, 5, 0},
    {"combine", sequence, mixture(5), 3, 5, 0},
    {"concat", image, "  - concat:\n    from: [input, input]\n", 1, 1, 0},
    // ⌈log2 3⌉ + log2 1 + ⌈log2 6⌉, in all three passes.
    {"convolution", image, "  - convolution: {filters: 5, kernel: 3x1}\n", 5, 5, 5},
    // Groups of two channels take 2 + 2 + 1 steps.
    {"convolution", image, "  - convolution: {filters: 6, kernel: 3, groups: 3}\n", 5, 5, 5},
    // There is one channel and one position, but a depth is at least 1.
    {"convolution", "{channels: 1, size: 8x8}", "  - convolution: {filters: 5, kernel: 1}\n", 1, 1, 1},
    {"crop", image, "  - crop: 4x6\n", 1, 1, 0},
    // The gradient of a token is the sum over its copies, in log2 2 or ⌈log2 5⌉ steps.
    {"dispatch", sequence, copies(2), 1, 1, 0},
    {"dispatch", sequence, copies(5), 1, 3, 0},
    {"dropout", image, "  - dropout: 0.1\n", 1, 1, 0},
    {"elementwise", image, "  - elementwise\n", 1, 1, 0},
    // Every token of the batch may be the same word, so the gradient takes log2 16 + log2 4 steps.
    {"embedding", words, "  - embedding: {vocabulary: 100, features: 8}\n", 1, 0, 6},
    {"flatten", image, "  - flatten\n", 1, 1, 0},
    // log Cin, log Cout and log N are ⌈log2 12⌉, ⌈log2 5⌉ and log2 4.
    {"fully_connected", vector, "  - fully_connected: 5\n", 4, 3, 2},
    // N counts every token: log2 16 + log2 4.
    {"fully_connected", sequence, "  - fully_connected: 5\n", 5, 3, 6},
    // Each of four experts has four of the 16 tokens: log2 4 + log2 4.
    {"fully_connected", sequence, "  - fully_connected: {features: 5, experts: 4}\n", 5, 3, 4},
    // There are a window of 4 tokens, a prefix of 16 products of matrices over keys of 4 channels, a state, and a norm of 3
    // channels: 2 + 4 · 2 + 2 + 2. The gradients of the parameters take log2 16 + log2 4 steps.
    {"gated_delta", sequence, "  - gated_delta: {heads: 2, head_size: 3, key_heads: 1, key_size: 4}\n", 14, 14, 6},
    {"identity", image, "  - identity\n", 1, 1, 0},
    {"input", image, "  - input: {tokens: 5}\n", 1, 1, 0},
    // A product of two vectors is summed over ⌈log2 12⌉ steps. The gradient of one of three vectors is a sum over the three.
    {"interaction", vector, "  - interaction:\n    from: [input, input, input]\n", 4, 2, 0},
    // The matrix maps 20 of the channels to 2 · (3 + 5): ⌈log2 20⌉ and log2 16. The weights'
    // gradient is summed over 4 · 16 tokens.
    {"latent_keys_and_values", sequence, "  - latent_keys_and_values: {heads: 2, key_size: 3, shared: 4, value_size: 5}\n",
     5, 4, 6},
    // All outputs of all samples are summed to one number: ⌈log2 12⌉ + log2 4.
    {"loss", vector, "  - loss: mse\n", 6, 1, 0},
    // Each of 16 steps has the product with a state of 8 channels and the gates, in log2 8 + 1 steps. Before that, the
    // product with the input takes ⌈log2 24⌉.
    //
    // In backward, the gradient of each step's state is summed over 4 · 8 gates: 16·(log2 32 + 1) = 96 steps. Then the
    // input's gradient is summed over 4 · 8 gates, and the matrices' gradients over 4 · 16 tokens.
    {"lstm", sequence, "  - lstm: 8\n", 69, 101, 102},
    // Both directions run concurrently. The gradient of the input is summed over 2 · 4 · 8 gates.
    {"lstm", sequence, "  - lstm: {features: 8, bidirectional: yes}\n", 69, 102, 102},
    // There are a prefix sum over 16 tokens, a state of 4 channels and a norm of 8: 4 + 2 + 3. The gradients of the norm's
    // scale take log2 16 + log2 4 steps.
    {"linear_attention", sequence, "  - linear_attention: {heads: 2, norm: yes}\n", 9, 9, 6},
    // There are a window of 4 tokens, a matrix of 12 channels and one of 2, a prefix sum over 16 tokens, and a state of 5
    // channels: 2 + 4 + 1 + 4 + 3.
    {"mamba1", sequence, "  - mamba1: {state: 5, rank: 2}\n", 14, 14, 6},
    // There are a window of 4 tokens, a prefix sum over 16 tokens, a state of 5 channels and a norm
    // of 6: 2 + 4 + 3 + 3. The gradients of the parameters take log2 16 + log2 4 steps.
    {"mamba2", sequence, "  - mamba2: {heads: 2, head_size: 3, state: 5}\n", 12, 12, 6},
    // The softmax and the sum take log2 2 steps each, and interpolation log2 4. All 16 · 2 points may be one position.
    {"deformable_attention", sequence,
     "  - fully_connected: 12\n    name: points\n"
     "  - deformable_attention: {heads: 2, points: 2}\n    from: [input, points]\n",
     4, 5, 0},
    // Heads have 4 channels: the depth of attention, and log2 3 for the sum of three terms. The gradient of a position is
    // summed over 4 samples, 16 tokens and 8 channels.
    {"disentangled_attention", sequence, "  - disentangled_attention: {heads: 2, positions: 32}\n", 12, 12, 9},
    // Both transforms take 7 steps, and each matrix ⌈log2 3⌉. Its gradient is a sum over 8 · 6 frequencies and 4 samples.
    {"fourier_mixing", image, "  - fourier_mixing: 2\n", 18, 18, 8},
    // A score takes log2 12 steps over channels and log2 2 over heads, and the selection log2 16.
    {"index_scores", sequence,
     "  - fully_connected: 12\n    name: keys\n  - fully_connected: 2\n    name: weights\n"
     "  - index_scores: {heads: 2, selected: 4}\n    from: [input, keys, weights]\n",
     9, 9, 0},
    // All 32 tokens may have read one token.
    {"gather", sequence, "  - gather: 32\n", 1, 5, 0},
    {"multiply", image, "  - multiply:\n    from: [input, input]\n", 1, 1, 0},
    // The gradient of a channel's factor is summed over 80 positions: log2 2 + 7.
    {"multiply", image, "  - multiply: {branches: [[], [{pool: {kind: average, global: yes}}]]}\n", 1, 8, 0},
    // The statistics of a channel span its positions in all samples.
    {"norm", image, "  - norm: batch\n", 9, 9, 0},
    {"norm", image, "  - norm: {kind: group, groups: 3}\n", 8, 8, 0},
    {"norm", image, "  - norm: layer\n", 3, 3, 9},
    // The kernel takes ⌈log2 3⌉ steps along both sides. An element is in up to ⌈3/2⌉ = 2 windows along each side.
    {"pick", sequence, "  - pick: 3\n", 1, 1, 0},
    {"pool", image, "  - pool: {kind: max, kernel: 3, stride: 2}\n", 4, 2, 0},
    {"pool", image, "  - pool: {kind: average, global: yes}\n", 7, 1, 0},
    {"position_embedding", words, "  - position_embedding: 32\n", 1, 0, 2},
    // Heads have 4 channels: log2 4. The gradient of the scale of the two query heads is summed over 4 · 16 · 2 heads.
    {"query_key_norm", sequence, "  - query_key_norm: 2\n", 2, 2, 7},
    // There are a prefix of 16 products of matrices over 12 channels, a state and a norm of 12: 4 · 4 + 4 + 4.
    {"rwkv7", sequence, "  - rwkv7: 2\n    from: [input, input, input, input, input, input]\n", 24, 24, 6},
    // The gradient of a weight is summed over 4 · 16 tokens.
    {"token_shift", sequence, "  - token_shift\n", 1, 1, 6},
    {"reshape", image, "  - reshape: {channels: 480}\n", 1, 1, 0},
    {"resize", image, "  - resize: {kind: nearest, factor: 2}\n", 1, 1, 0},
    {"rotary_embedding", sequence, "  - rotary_embedding: 2\n", 1, 1, 0},
    // The product takes ⌈log2 24⌉ steps, and softmax and selection log2 8 each. The gradient of the
    // product follows, and the weights' gradient is summed over 4 · 16 tokens.
    {"router", sequence, "  - router: {experts: 8, active: 2}\n", 11, 6, 6},
    // There are 80 positions in 4 samples.
    {"scale", image, "  - scale: trained\n", 1, 1, 9},
    // All 16 tokens may be added to one token.
    {"scatter", sequence, "  - scatter: 3\n", 4, 1, 0},
    {"select", sequence, "  - select: first\n", 1, 1, 0},
    // The gradient of a value is a sum over 80 positions.
    {"shift", image, "  - pool: {kind: average, global: yes}\n    name: values\n  - shift:\n    from: [input, values]\n", 1,
     7, 0},
    // A product sums over 24 channels, and its gradients over 16 tokens.
    {"similarities", sequence, "  - similarities:\n    from: [input, input]\n", 5, 4, 0},
    {"slice", image, "  - slice: {channels: 2}\n", 1, 1, 0},
    {"softmax", vector, "  - softmax\n", 4, 4, 0},
    {"space_to_depth", image, "  - space_to_depth: 2\n", 1, 1, 0},
    // 2 + 2 + ⌈log2 6⌉ forward, 2 + 2 + ⌈log2 5⌉ for the input's gradient, and 7 + 2 for the
    // weights' gradient, over the positions of the input and the samples.
    {"transposed_convolution", image, "  - transposed_convolution: {filters: 5, kernel: 3, stride: 2}\n", 7, 7, 9},
    // Heads of 1 channel in windows of 4 positions take no step for a score, log2 4 for the softmax
    // and log2 4 for the values. The gradient of the table is summed over 20 windows in 4 samples.
    {"window_attention", image, "  - window_attention: {heads: 2, window: 2}\n", 4, 4, 7},
};

}  // namespace

TEST_CASE("every operation has the depth of its longest reduction") {
  for (const Depths& expected : golden) {
    INFO(expected.items);
    const Layer layer = layer_of(expected.input, expected.items);
    const auto depth = [&](Pass pass) {
      return layer.operation->depth(pass, layer.input_shapes, layer.output_shape, samples);
    };
    CHECK(layer.operation->type() == expected.operation);
    CHECK(depth(Pass::forward) == expected.forward);
    if (expected.backward_data > 0) CHECK(depth(Pass::backward_data) == expected.backward_data);
    CHECK((work_of(layer, Pass::backward_weight).flops > 0) == (expected.backward_weight > 0));
    if (expected.backward_weight > 0) CHECK(depth(Pass::backward_weight) == expected.backward_weight);
  }
}

TEST_CASE("the table of depths contains every operation") {
  for (const OperationKind& kind : operation_kinds()) {
    INFO(kind.key);
    CHECK(std::any_of(golden.begin(), golden.end(), [&](const Depths& each) { return each.operation == kind.key; }));
  }
}

TEST_CASE("the depth of a chain is the sum of the depths of its layers, forward and back to the first weights") {
  const Model model = model_of(vector,
                               "  - fully_connected: 5\n"
                               "  - activation: relu\n"
                               "  - fully_connected: 3\n"
                               "  - loss: cross_entropy\n");
  // Forward takes ⌈log2 12⌉ + 1 + ⌈log2 5⌉ + (⌈log2 3⌉ + log2 4) = 4 + 1 + 3 + 4 steps. A sample
  // has 2·12·5 + 5 + 2·5·3 + 5·3 FLOPs.
  const WorkDepth forward = forward_work_depth(model, samples);
  CHECK(forward.depth == 12);
  CHECK(forward.work == samples * 170);
  CHECK(forward.parallelism() == Approx(680.0 / 12));
  // Backward takes 1 step for the loss, ⌈log2 3⌉ for the input of the second matrix, 1 for relu, and log2 4 for the weights
  // of the first matrix. FLOPs are 2·3 for the loss, twice 30 for the second matrix, 2·5 for relu and once 120 for the first
  // matrix, because the gradient of the input is not needed.
  const WorkDepth training = training_work_depth(model, samples);
  CHECK(training.depth == 12 + 1 + 2 + 1 + 2);
  CHECK(training.work == samples * (170 + 6 + 60 + 10 + 120));
  // The loss has 15 FLOPs and relu has 5. The largest tensors are the outputs of the first matrix and of relu, with 5
  // elements.
  const GraphGrain grain = graph_grain(model);
  CHECK(grain.smallest_node == 1);
  CHECK(grain.largest_edge == 0);
}

TEST_CASE("the gradient of an LSTM's input waits for backward through time") {
  const Model model = model_of(sequence, "  - lstm: 8\n  - lstm: 4\n");
  // Forward takes 16·(log2 8 + 1) steps after ⌈log2 24⌉, then 16·(log2 4 + 1) after log2 8.
  // Backward takes 16·(log2 16 + 1) and log2 16 for the input of the second LSTM, then 16·(log2 32
  // + 1) and log2 (4 · 16) for the matrices of the first LSTM.
  const double forward = 64 + 5 + 48 + 3;
  CHECK(forward_work_depth(model, samples).depth == forward);
  CHECK(training_work_depth(model, samples).depth == forward + (80 + 4) + (96 + 6));
}

TEST_CASE("layers that depend only on the sample need no gradient") {
  // The first matrix reads the sample after a relu. Neither the matrix nor the relu has a backward-data pass.
  const std::string head = "  - activation: relu\n  - fully_connected: 5\n  - fully_connected: 3\n";
  const Model model = model_of(vector, head);
  CHECK(needs_input_gradient(model) == std::vector<bool>{false, false, true});
  // Forward has 12 + 2·12·5 + 2·5·3 FLOPs, the weights have 120 and 30, and the input of the second matrix has 30.
  const WorkDepth training = training_work_depth(model, 1);
  CHECK(training.work == 162 + 150 + 30);
  // Forward takes 1 + 4 + 3 steps. Backward takes ⌈log2 3⌉, and, for one sample, one step for the first matrix.
  CHECK(training.depth == 8 + 2 + 1);
  // Shared weights are trained as well.
  const Model tied = model_of(words,
                              "  - embedding: {vocabulary: 9, features: 24}\n    name: words\n"
                              "  - embedding: {vocabulary: 9, features: 24, tied: words}\n    from: input\n"
                              "  - activation: relu\n");
  CHECK(needs_input_gradient(tied) == std::vector<bool>{false, false, true});
}

TEST_CASE("the longest branch determines the depth") {
  // ⌈log2 12⌉ = 4, then 4 + 1 + 4 in parallel with 4, then log2 2 = 1.
  const Model model = model_of(vector,
                               "  - fully_connected: 12\n"
                               "  - residual:\n"
                               "      body: [{fully_connected: 12}, {activation: relu}, {fully_connected: 12}]\n"
                               "      shortcut: [{fully_connected: 12}]\n");
  CHECK(forward_work_depth(model, 1).depth == 4 + 9 + 1);
}

TEST_CASE("depth grows with the logarithm of the samples, work linearly") {
  for (const std::string& name : model_names()) {
    INFO(name);
    const Model model = load_model(name);
    const WorkDepth one = training_work_depth(model, 1);
    const WorkDepth many = training_work_depth(model, 1024);
    CHECK(many.work == Approx(1024 * one.work));
    CHECK(many.depth >= one.depth);
    // The depth of a layer grows by at most the ten steps of 1,024 samples in each of its two passes.
    CHECK(many.depth <= one.depth + 20 * static_cast<double>(model.layers.size()));
    // Backward has the reductions of forward in reverse order, and also sums over samples. Backward has shorter reductions
    // for means, sums, losses, and pools of windows that do not overlap, whose gradients are only copied. MLPerf's CosmoFlow
    // has five such pools in three dimensions among few other layers.
    const double forward = forward_work_depth(model, 1024).depth;
    // Backward leaves out layers below all trained layers. One value per channel, which scales or shifts a tensor, is only
    // copied in forward; its gradient is a sum over positions.
    const bool has_values = std::any_of(model.layers.begin(), model.layers.end(), [](const Layer& layer) {
      const bool is_scaled =
          layer.operation->type() == "multiply" && layer.input_shapes.front().items() != layer.input_shapes.back().items();
      return is_scaled || layer.operation->type() == "shift";
    });
    CHECK(many.depth >= (model.trained_parameters() < model.parameters() ? 1.4 : 1.65) * forward);
    CHECK(many.depth <= (has_values ? 2.75 : 2.25) * forward);
    double work = model.flops_forward() + model.flops(Pass::backward_weight);
    const std::vector<bool> needs_gradient = needs_input_gradient(model);
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
      if (needs_gradient[i]) work += work_of(model.layers[i], Pass::backward_data).flops;
    }
    CHECK(one.work == Approx(work));
  }
}

TEST_CASE("a model whose layers have no tensor between them has no edge") {
  const GraphGrain grain = graph_grain(model_of(vector, "  - softmax\n"));
  CHECK(grain.smallest_node == 0);
  CHECK(grain.largest_edge == -1);
  CHECK(graph_grain(model_of(image, "  - flatten\n")).smallest_node == -1);
}

}  // namespace work_depth_tests
