#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "estimator/strategies/spatial.hpp"
#include "estimator/strategies/strategy.hpp"
#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/unit/estimator/small_models.hpp"

namespace {

using namespace ddl;

/// Returns a model of three layers. conv1: 4 → 8 channels over 16 × 16, 288 weights and 8 biases.
/// conv2: 8 → 12, 5 × 5, 2,400 weights. fc: 768 → 6, 4,608 weights and 6 biases.
Model small_network() {
  return parse_model(R"(format: 1
model: small
input: {channels: 4, size: 16x16}
layers:
  - convolution: {filters: 8, kernel: 3, padding: same}
    name: conv1
  - activation: relu
    name: relu
  - convolution: {filters: 12, kernel: 5, padding: same, bias: no}
    name: conv2
  - pool: {kind: max, kernel: 2, stride: 2}
    name: pool
  - flatten:
    name: flat
  - fully_connected: 6
    name: fc
  - loss: cross_entropy
    name: loss
)",
                     "small.yaml");
}

std::string axes_text(Family axes) { return axes == 0 ? "nobody" : family_name(axes); }

/// Returns an exchange as text: `forward allgather of 2048 among filter`, `backward 2 x
/// point-to-point of 64 among spatial (halo)`
std::string text_of(const Exchange& exchange) {
  const auto phase = [&] {
    switch (exchange.phase) {
      case Phase::forward:
        return "forward";
      case Phase::backward:
        return "backward";
      case Phase::gradient:
        break;
    }
    return "gradient";
  };
  const auto purpose = [&] {
    switch (exchange.purpose) {
      case Purpose::layer:
        return "";
      case Purpose::halo:
        return " (halo)";
      case Purpose::gradient:
        return " (gradient)";
      case Purpose::pipeline:
        break;
    }
    return " (pipeline)";
  };
  return fmt::format("{} {}{} of {} among {}{}", phase(),
                     exchange.messages > 1 ? fmt::format("{} x ", exchange.messages) : "", to_string(exchange.operation),
                     exchange.items, axes_text(exchange.axes), purpose());
}

using Texts = std::vector<std::string>;

Texts exchanges_of(const LayerShard& shard) {
  Texts texts;
  for (const Exchange& exchange : shard.exchanges) texts.push_back(text_of(exchange));
  return texts;
}

/// A model divided by one plan.
struct Divided {
  Divided(Model a_model, Plan a_plan, const Assumptions& some_assumptions = {})
      : model(std::move(a_model)), facts(facts_of(model)), plan(std::move(a_plan)), assumptions(some_assumptions) {}
  Divided(const Divided&) = delete;
  Divided& operator=(const Divided&) = delete;

  [[nodiscard]] LayerShard shard(const std::string& name) const {
    ShardContext context{facts, plan, assumptions, 0, replicated_layers(facts, plan, {})};
    while (model.layers.at(context.index()).name != name) ++context.layer;
    LayerShard shard;
    shard_layer(context, shard);
    return shard;
  }

  Model model;
  ModelFacts facts;
  Plan plan;
  Assumptions assumptions;
};

Plan plan_of(Axis axis, int degree, std::int64_t batch = 8) {
  Plan plan;
  plan.mesh.set(axis, degree);
  plan.global_batch = batch;
  return plan;
}

Plan spatial_plan(const std::array<int, 3>& split) {
  Plan plan;
  plan.mesh.set_tiles(split);
  return plan;
}

/// Returns the kind of a limit and its two numbers.
std::string describe_limit(const Limit& limit) {
  const std::string kind = limit.kind == Limit::Kind::context           ? "context"
                           : limit.kind == Limit::Kind::experts         ? "experts"
                           : limit.kind == Limit::Kind::heads           ? "heads"
                           : limit.kind == Limit::Kind::whole_experts   ? "whole_experts"
                           : limit.kind == Limit::Kind::tokens          ? "tokens"
                           : limit.kind == Limit::Kind::virtual_stages  ? "virtual_stages"
                           : limit.kind == Limit::Kind::interleaving    ? "interleaving"
                           : limit.kind == Limit::Kind::not_interleaved ? "not_interleaved"
                           : limit.kind == Limit::Kind::filled_bubbles  ? "filled_bubbles"
                                                                        : "another";
  return kind + " " + std::to_string(std::lround(limit.wanted)) + " of " + std::to_string(std::lround(limit.available));
}

TEST_CASE("a serial layer is the whole layer, without exchanges") {
  const Divided divided(small_network(), plan_of(Axis::data, 1));
  const LayerShard conv = divided.shard("conv1");
  CHECK(to_string(conv.inputs.front()) == "4×16×16");
  CHECK(to_string(conv.output) == "8×16×16");
  CHECK(conv.kept_input == conv.inputs.front());
  CHECK(conv.kept_output == conv.output);
  CHECK(conv.weights == 288);
  CHECK(conv.biases == 8);
  CHECK(conv.samples == 8);
  CHECK(conv.share == 1);
  CHECK(conv.exchanges.empty());
}

TEST_CASE("data: each rank has whole layers and a share of the batch, and gradients are summed over all replicas") {
  const Divided divided(small_network(), plan_of(Axis::data, 4));
  const LayerShard conv = divided.shard("conv1");
  CHECK(to_string(conv.inputs.front()) == "4×16×16");
  CHECK(conv.samples == 2);
  CHECK(exchanges_of(conv) == Texts{"gradient allreduce of 296 among data (gradient)"});
  CHECK(exchanges_of(divided.shard("conv2")) == Texts{"gradient allreduce of 2400 among data (gradient)"});
  CHECK(divided.shard("relu").exchanges.empty());
}

TEST_CASE("an indivisible batch is predicted with its largest share") {
  CHECK(Divided(small_network(), plan_of(Axis::data, 3)).shard("conv1").samples == 3);  // samples: 3 + 3 + 2
  Plan plan = plan_of(Axis::data, 2, 9);
  plan.micro_batches = 2;
  CHECK(Divided(small_network(), plan).shard("conv1").samples == 3);  // samples are distributed as 3 + 2 + 2 + 2
}

TEST_CASE("spatial: each rank has a tile and whole weights, and exchanges halos of half a window") {
  const Divided divided(small_network(), spatial_plan({2, 2, 1}));
  const LayerShard conv1 = divided.shard("conv1");
  CHECK(to_string(conv1.inputs.front()) == "4×8×8");
  CHECK(to_string(conv1.output) == "8×8×8");
  CHECK(to_string(conv1.kept_output) == "8×8×8");
  CHECK(conv1.weights == 288);
  CHECK(conv1.share == 0.25);
  // A window of 3 × 3 extends one row and one column further: 4 · 8 elements each, to both sides. The
  // model's input has no gradient.
  CHECK(exchanges_of(conv1) == Texts{"forward 2 x point-to-point of 64 among spatial (halo)",
                                     "gradient allreduce of 296 among spatial (gradient)"});
  // A window of 5 × 5 extends two positions further: 2 · (8 · 8) elements in each direction of the
  // input, and 2 · (12 · 8) of the output's gradient.
  CHECK(exchanges_of(divided.shard("conv2")) == Texts{"forward 2 x point-to-point of 256 among spatial (halo)",
                                                      "backward 2 x point-to-point of 384 among spatial (halo)",
                                                      "gradient allreduce of 2400 among spatial (gradient)"});
  // Windows that do not overlap need no halo.
  const LayerShard pool = divided.shard("pool");
  CHECK(to_string(pool.inputs.front()) == "12×8×8");
  CHECK(to_string(pool.output) == "12×4×4");
  CHECK(pool.exchanges.empty());
  CHECK(divided.shard("relu").exchanges.empty());
}

TEST_CASE("spatial: tiles are gathered at the last layer with positions, and later layers are replicated") {
  const Divided divided(small_network(), spatial_plan({2, 2, 1}));
  CHECK(replicated_layers(divided.facts, divided.plan, {}).first == 4);
  const LayerShard flat = divided.shard("flat");
  CHECK(to_string(flat.inputs.front()) == "12×8×8");
  // The pooled tensor has 12 · 8 · 8 elements.
  CHECK(exchanges_of(flat) ==
        Texts{"forward allgather of 768 among spatial (halo)", "backward reduce-scatter of 768 among spatial (halo)"});
  const LayerShard fc = divided.shard("fc");
  CHECK(to_string(fc.inputs.front()) == "768");
  CHECK(fc.share == 1);
  CHECK(exchanges_of(fc) == Texts{"gradient allreduce of 4614 among spatial (gradient)"});
}

TEST_CASE("spatial: layers whose tiles are too small are replicated, and later layers are split again") {
  // 4 channels of 4 × 4 skip over the layers of 2 × 2. The layers of 2 × 2 cannot be split into four tiles in a row.
  const Model model = parse_model(
      "format: 1\nmodel: unet\ninput: {channels: 2, size: 8x8}\nlayers:\n"
      "  - convolution: {filters: 4, kernel: 3, stride: 2, padding: same}\n    name: fine\n"
      "  - concat:\n      branches:\n        - []\n"
      "        - - pool: {kind: max, kernel: 2, stride: 2}\n            name: down\n"
      "          - convolution: {filters: 6, kernel: 3, padding: same}\n            name: coarse\n"
      "          - resize: {kind: nearest, factor: 2}\n            name: up\n    name: skip\n"
      "  - convolution: {filters: 5, kernel: 3, padding: same}\n    name: last\n",
      "unet.yaml");
  const Divided divided(model, spatial_plan({4, 1, 1}));
  const ReplicatedLayers replicated = replicated_layers(divided.facts, divided.plan, {});
  REQUIRE(model.layers.at(static_cast<std::size_t>(replicated.first)).name == "skip.down");
  REQUIRE(model.layers.at(static_cast<std::size_t>(replicated.last)).name == "skip.concat1");
  CHECK(replicated.has_tiles_before(replicated.first));
  CHECK_FALSE(replicated.has_tiles_before(replicated.first + 1));
  CHECK(replicated.has_tiles_before(replicated.last));
  // The pooled tensor has 4 · 4 · 4 elements. The skip connection stays in tiles.
  CHECK(exchanges_of(divided.shard("skip.down")) ==
        Texts{"forward allgather of 64 among spatial (halo)", "backward reduce-scatter of 64 among spatial (halo)"});
  const LayerShard coarse = divided.shard("skip.coarse");
  CHECK(coarse.output == TensorShape{.channels = 6, .extent = {2, 2, 1}, .rank = 2});
  CHECK(coarse.share == 1);
  // The rank has all 6 · 4 · 4 elements of `up`, and needs the whole gradient.
  const LayerShard skip = divided.shard("skip.concat1");
  CHECK(skip.output == TensorShape{.channels = 10, .extent = {1, 4, 1}, .rank = 2});
  CHECK(exchanges_of(skip) == Texts{"backward allgather of 96 among spatial (halo)"});
  // Each neighbor gets 10 channels and 5 filters of a row of 4 positions.
  const LayerShard last = divided.shard("last");
  CHECK(last.share == 0.25);
  CHECK(exchanges_of(last) == Texts{"forward 2 x point-to-point of 40 among spatial (halo)",
                                    "backward 2 x point-to-point of 20 among spatial (halo)",
                                    "gradient allreduce of 455 among spatial (gradient)"});
}

TEST_CASE("spatial: software may stop splitting earlier") {
  const Divided divided(small_network(), spatial_plan({2, 2, 1}));
  Software software;
  software.spatial_layers = {{"other", 2}, {"small", 1}};
  CHECK(replicated_layers(divided.facts, divided.plan, software).first == 1);
  software.spatial_layers = {{"small", 2}};
  CHECK(replicated_layers(divided.facts, divided.plan, software).first == 3);
  CHECK(replicated_layers(divided.facts, Plan{}, software) == ReplicatedLayers{});
}

TEST_CASE("spatial: the host starts the copies that join tiles with their halos, too") {
  const auto kernels = [](const std::array<int, 3>& split) {
    std::vector<int> starts;
    for (const Exchange& exchange : Divided(small_network(), spatial_plan(split)).shard("conv2").exchanges) {
      if (exchange.purpose == Purpose::halo) starts.push_back(exchange.kernels);
    }
    return starts;
  };
  CHECK(kernels({4, 1, 1}) == std::vector<int>{2, 3});
  CHECK(kernels({2, 2, 1}) == std::vector<int>{4, 6});
}

TEST_CASE("spatial: an indivisible extent is predicted with its longest tile") {
  const Divided divided(small_network(), spatial_plan({3, 1, 1}));
  // 16 rows are distributed as 6 + 6 + 4.
  const LayerShard conv2 = divided.shard("conv2");
  CHECK(to_string(conv2.inputs.front()) == "8×6×16");
  // Halos are two rows of 16, because the tiles are one above the other.
  CHECK(exchanges_of(conv2)[0] == "forward 2 x point-to-point of 256 among spatial (halo)");
}

TEST_CASE("spatial: halos of a strided window") {
  const auto halos = [](const std::string& attributes) {
    const Model model =
        parse_model("format: 1\nmodel: m\ninput: {channels: 1, size: 64x64}\nlayers:\n" +
                        std::string("  - convolution: {filters: 1, kernel: 1}\n  - convolution: {filters: 1, ") +
                        attributes + ", padding: same}\n    name: conv\n",
                    "m.yaml");
    const LayerShard shard = Divided(model, spatial_plan({2, 1, 1})).shard("conv");
    return std::pair(shard.exchanges.at(0).items, shard.exchanges.at(1).items);
  };
  // The halo is half of the window's overlap: (K-s)/2 rows of 64 positions, rounded up. Backward needs the rows of the
  // output, with 64/s positions each, that contribute to the halo.
  CHECK(halos("kernel: 3") == std::pair(64.0, 64.0));
  CHECK(halos("kernel: 3, stride: 2") == std::pair(64.0, 32.0));
  CHECK(halos("kernel: 7, stride: 2") == std::pair(3 * 64.0, 2 * 32.0));
  CHECK(halos("kernel: 3, dilation: 2") == std::pair(2 * 64.0, 2 * 64.0));
}

TEST_CASE("spatial: halos of a transposed convolution") {
  struct Case {
    std::string item;
    Texts exchanges;
  };
  // A tile of 4 × 8 × 16 becomes a tile of 4 × 16 × 32. A row of the input has 64 elements, and a row
  // of the output's gradient has 128.
  for (const auto& [item, exchanges] :
       {Case{"transposed_convolution: {filters: 4, kernel: 2, stride: 2, bias: no}", {}},
        Case{"resize: {kind: nearest, factor: 2}", {}},
        // Row i contributes to rows 2i − 1 to 2i + 1, so the first row after the tile contributes
        // to the tile's last output row.
        Case{"transposed_convolution: {filters: 4, kernel: 3, stride: 2, padding: 1, output_padding: 1, bias: no}",
             {"forward 2 x point-to-point of 64 among spatial (halo)",
              "backward 2 x point-to-point of 128 among spatial (halo)"}},
        // Row i contributes to rows 2i − 2 to 2i + 3.
        Case{"transposed_convolution: {filters: 4, kernel: 6, stride: 2, padding: 2, bias: no}",
             {"forward 2 x point-to-point of 64 among spatial (halo)",
              "backward 2 x point-to-point of 256 among spatial (halo)"}},
        Case{"resize: {kind: linear, factor: 2}",
             {"forward 2 x point-to-point of 64 among spatial (halo)",
              "backward 2 x point-to-point of 128 among spatial (halo)"}}}) {
    const Model model = parse_model(
        "format: 1\nmodel: m\ninput: {channels: 4, size: 16x16}\nlayers:\n"
        "  - convolution: {filters: 4, kernel: 1}\n  - " +
            item + "\n    name: up\n  - loss: mse\n",
        "m.yaml");
    INFO(item);
    const Divided divided(model, spatial_plan({2, 1, 1}));
    CHECK(replicated_layers(divided.facts, divided.plan, {}).first == 3);
    const LayerShard up = divided.shard("up");
    Texts found;
    for (const Exchange& exchange : up.exchanges) {
      if (exchange.purpose == Purpose::halo) found.push_back(text_of(exchange));
    }
    CHECK(found == exchanges);
    CHECK(up.output == TensorShape{.channels = 4, .extent = {16, 32, 1}, .rank = 2});
    CHECK(divided.shard("loss1").inputs.front() == up.output);
  }
}

TEST_CASE("spatial: sums over all positions are reduced, and all ranks compute the layers after them") {
  const Model model = parse_model(R"(format: 1
model: excited
input: {channels: 4, size: 16x16}
layers:
  - convolution: {filters: 8, kernel: 1}
  - norm: instance
    name: norm
  - multiply:
      branches:
        - []
        - - pool: {kind: average, global: yes}
            name: squeeze
          - convolution: {filters: 2, kernel: 1, bias: no}
            name: reduce
          - activation: relu
          - convolution: {filters: 8, kernel: 1}
    name: excite
  - pool: {kind: average, global: yes}
    name: head
  - flatten
  - fully_connected: 10
  - loss: cross_entropy
)",
                                  "excited.yaml");
  const Divided divided(model, spatial_plan({2, 2, 1}));
  // Replicated are the layers up to the mean before the classifier, because no larger tensor joins the mean's output.
  CHECK(replicated_layers(divided.facts, divided.plan, {}).first == 7);
  CHECK(divided.model.layers[7].name == "head");
  // The sums are mean and variance of 8 channels, and the sums of their gradients.
  CHECK(exchanges_of(divided.shard("norm")) == Texts{"forward allreduce of 16 among spatial (halo)",
                                                     "backward allreduce of 16 among spatial (halo)",
                                                     "gradient allreduce of 16 among spatial (gradient)"});
  const LayerShard squeeze = divided.shard("excite.squeeze");
  CHECK(squeeze.inputs.front() == TensorShape{.channels = 8, .extent = {8, 8, 1}, .rank = 2});
  CHECK(squeeze.output == TensorShape{.channels = 8, .extent = {1, 1, 1}, .rank = 2});
  CHECK(exchanges_of(squeeze) == Texts{"forward allreduce of 8 among spatial (halo)"});
  const LayerShard reduce = divided.shard("excite.reduce");
  CHECK(reduce.output.channels == 2);
  CHECK(exchanges_of(reduce) == Texts{"gradient allreduce of 16 among spatial (gradient)"});
  const LayerShard excite = divided.shard("excite.multiply1");
  CHECK(excite.output == TensorShape{.channels = 8, .extent = {8, 8, 1}, .rank = 2});
  CHECK(exchanges_of(excite) == Texts{"backward allreduce of 8 among spatial (halo)"});
  // No strategy divides the small layers on the branch. Their few filters therefore do not limit the degree.
  CHECK(divided.facts.matrix == std::vector<int>{0, 9});
  CHECK(exchanges_of(Divided(model, plan_of(Axis::filter, 2)).shard("excite.reduce")).empty());
  CHECK(exchanges_of(Divided(model, plan_of(Axis::channel, 2)).shard("excite.reduce")).empty());
  CHECK(exchanges_of(Divided(model, plan_of(Axis::tensor, 2)).shard("excite.reduce")).empty());
}

TEST_CASE("spatial: a mean that is spread over all positions again has no neighbors") {
  for (const std::string kind : {"nearest", "linear"}) {
    INFO(kind);
    const Model model = parse_model(
        "format: 1\nmodel: pyramid\ninput: {channels: 4, size: 16x16}\nlayers:\n"
        "  - convolution: {filters: 8, kernel: 1}\n  - concat:\n      branches:\n        - []\n"
        "        - - pool: {kind: average, global: yes}\n            name: mean\n"
        "          - resize: {kind: " +
            kind + ", size: 16x16}\n            name: spread\n",
        "pyramid.yaml");
    const LayerShard spread = Divided(model, spatial_plan({4, 2, 1})).shard("spread");
    CHECK(spread.output == TensorShape{.channels = 8, .extent = {4, 8, 1}, .rank = 2});
    // The gradient of the mean is a sum over all tiles.
    CHECK(exchanges_of(spread) == Texts{"backward allreduce of 8 among spatial (halo)"});
  }
}

TEST_CASE("spatial: auxiliary layers gather their input, the other layers stay divided") {
  const Divided divided(parse_model(R"(format: 1
model: helped
input: {channels: 4, size: 16x16}
layers:
  - convolution: {filters: 8, kernel: 1}
    name: conv1
  - pool: {kind: average, adaptive: 2x2}
    name: helper
    auxiliary: yes
  - flatten:
    name: flat
    auxiliary: yes
  - convolution: {filters: 4, kernel: 1, bias: no}
    name: conv2
    from: conv1
  - pool: {kind: average, adaptive: 2x2}
  - flatten
  - loss: mse
)",
                                    "helped.yaml"),
                        spatial_plan({2, 1, 1}));
  CHECK(replicated_layers(divided.facts, divided.plan, {}).first == 4);
  const LayerShard helper = divided.shard("helper");
  CHECK(helper.inputs.front() == TensorShape{.channels = 8, .extent = {16, 16, 1}, .rank = 2});
  CHECK(exchanges_of(helper) ==
        Texts{"forward allgather of 2048 among spatial (halo)", "backward reduce-scatter of 2048 among spatial (halo)"});
  CHECK(exchanges_of(divided.shard("flat")).empty());
  CHECK(divided.shard("conv2").output == TensorShape{.channels = 4, .extent = {8, 16, 1}, .rank = 2});
}

TEST_CASE("filter: each rank computes a share of the filters, outputs are gathered, and input gradients are summed") {
  const Divided divided(small_network(), plan_of(Axis::filter, 4));
  const LayerShard conv1 = divided.shard("conv1");
  CHECK(to_string(conv1.inputs.front()) == "4×16×16");
  CHECK(to_string(conv1.output) == "2×16×16");
  CHECK(to_string(conv1.kept_output) == "8×16×16");
  CHECK(conv1.weights == 72);
  CHECK(conv1.biases == 2);
  CHECK(conv1.samples == 8);
  CHECK(conv1.share == 0.25);
  CHECK(conv1.filter_parts == 4);
  CHECK(exchanges_of(conv1) == Texts{"forward allgather of 2048 among filter"});
  const LayerShard conv2 = divided.shard("conv2");
  CHECK(to_string(conv2.output) == "3×16×16");
  CHECK(conv2.weights == 600);
  CHECK(exchanges_of(conv2) == Texts{"forward allgather of 3072 among filter", "backward allreduce of 2048 among filter"});
  // Layers without filters are replicated.
  const LayerShard relu = divided.shard("relu");
  CHECK(to_string(relu.output) == "8×16×16");
  CHECK(relu.share == 1);
  CHECK(relu.exchanges.empty());
}

TEST_CASE("filter: indivisible filters are predicted with the largest part, too few are not split") {
  // 6 filters for 4 ranks are distributed as 2 + 2 + 1 + 1.
  const LayerShard fc = Divided(small_network(), plan_of(Axis::filter, 4)).shard("fc");
  CHECK(to_string(fc.output) == "2");
  CHECK(fc.weights == Approx(2 * 768));
  CHECK(fc.biases == Approx(2));
  CHECK(exchanges_of(fc) == Texts{"forward allgather of 6 among filter", "backward allreduce of 768 among filter"});
  // With eight ranks, the layer is replicated.
  const LayerShard whole = Divided(small_network(), plan_of(Axis::filter, 8)).shard("fc");
  CHECK(to_string(whole.output) == "6");
  CHECK(whole.weights == 4608);
  CHECK(whole.share == 1);
  CHECK(whole.exchanges.empty());
}

TEST_CASE("channel: each rank reads a share of the channels, outputs are summed, and input gradients are gathered") {
  const Divided divided(small_network(), plan_of(Axis::channel, 4));
  const LayerShard conv2 = divided.shard("conv2");
  CHECK(to_string(conv2.inputs.front()) == "2×16×16");
  CHECK(to_string(conv2.output) == "12×16×16");
  CHECK(to_string(conv2.kept_input) == "8×16×16");
  CHECK(conv2.weights == 600);
  CHECK(conv2.share == 0.25);
  CHECK(conv2.channel_parts == 4);
  CHECK(exchanges_of(conv2) == Texts{"forward allreduce of 3072 among channel", "backward allgather of 2048 among channel"});
  // The biases are added after the sum, so every rank has them.
  const LayerShard fc = divided.shard("fc");
  CHECK(fc.weights == 1152);
  CHECK(fc.biases == 6);
  CHECK(exchanges_of(fc) == Texts{"forward allreduce of 6 among channel", "backward allgather of 768 among channel"});
  // The first layer has a sufficient number of channels here, but no input gradient.
  CHECK(exchanges_of(divided.shard("conv1")) == Texts{"forward allreduce of 2048 among channel"});
}

TEST_CASE("channel: a first layer with too few channels is computed whole") {
  const LayerShard conv1 = Divided(small_network(), plan_of(Axis::channel, 8)).shard("conv1");
  CHECK(to_string(conv1.inputs.front()) == "4×16×16");
  CHECK(conv1.weights == 288);
  CHECK(conv1.share == 1);
  CHECK(conv1.exchanges.empty());
}

TEST_CASE("the ideal projection leaves out the exchanges of the last layer [ParaDL, Table III]") {
  Assumptions without_last;
  without_last.last_layer_exchange = false;
  CHECK(exchanges_of(Divided(small_network(), plan_of(Axis::filter, 4), without_last).shard("fc")).empty());
  CHECK(exchanges_of(Divided(small_network(), plan_of(Axis::channel, 4), without_last).shard("fc")).empty());
}

TEST_CASE("filter and channel together: each axis exchanges its share of the layer") {
  Plan plan = plan_of(Axis::filter, 2);
  plan.mesh.set(Axis::channel, 4);
  const LayerShard conv2 = Divided(small_network(), plan).shard("conv2");
  CHECK(to_string(conv2.inputs.front()) == "2×16×16");
  CHECK(to_string(conv2.output) == "6×16×16");
  CHECK(conv2.weights == 300);
  CHECK(conv2.share == 0.125);
  // The exchanges are partial sums of 6 filters, and the input's gradient of 2 channels.
  CHECK(exchanges_of(conv2) == Texts{"forward allreduce of 1536 among channel", "backward allgather of 2048 among channel",
                                     "forward allgather of 3072 among filter", "backward allreduce of 512 among filter"});
}

TEST_CASE("spatial and filter together: tiles are gathered, and gradients of a slice of the weights summed") {
  Plan plan = spatial_plan({2, 1, 1});
  plan.mesh.set(Axis::filter, 4);
  plan.mesh.set(Axis::data, 3);
  const LayerShard conv2 = Divided(small_network(), plan).shard("conv2");
  CHECK(to_string(conv2.inputs.front()) == "8×8×16");
  CHECK(to_string(conv2.output) == "3×8×16");
  CHECK(conv2.share == 0.125);
  // Halos contain all channels of the input and a quarter of the filters. The tile's 12 · 128 and 8
  // · 128 elements are exchanged, and then the 600 weights of 6 replicas.
  CHECK(exchanges_of(conv2) == Texts{"forward 2 x point-to-point of 256 among spatial (halo)",
                                     "backward 2 x point-to-point of 96 among spatial (halo)",
                                     "forward allgather of 1536 among filter", "backward allreduce of 1024 among filter",
                                     "gradient allreduce of 600 among data+spatial (gradient)"});
}

TEST_CASE("layer: each rank has whole layers, each with the transfer of a cut before the layer") {
  const Divided divided(small_network(), plan_of(Axis::pipeline, 2));
  const LayerShard conv2 = divided.shard("conv2");
  CHECK(conv2.weights == 2400);
  CHECK(conv2.share == 1);
  CHECK(exchanges_of(conv2) == Texts{"forward point-to-point of 2048 among pipeline (pipeline)",
                                     "backward point-to-point of 2048 among pipeline (pipeline)"});
  CHECK(divided.shard("conv1").exchanges.empty());
  // Each rank sends its own tile of a tiled tensor.
  Plan tiled = spatial_plan({2, 2, 1});
  tiled.mesh.set(Axis::pipeline, 2);
  CHECK(exchanges_of(Divided(small_network(), tiled).shard("pool")) ==
        Texts{"forward point-to-point of 768 among pipeline (pipeline)",
              "backward point-to-point of 768 among pipeline (pipeline)"});
}

TEST_CASE("tensor: a pair of convolutions splits filters, then channels, with one sum") {
  const Divided divided(small_network(), plan_of(Axis::tensor, 2));
  const LayerShard column = divided.shard("conv1");
  CHECK(to_string(column.output) == "4×16×16");
  CHECK(to_string(column.kept_output) == "4×16×16");
  CHECK(column.weights == 144);
  CHECK(column.biases == 4);
  CHECK(column.filter_parts == 2);
  CHECK(column.exchanges.empty());  // the model's input has no gradient
  const LayerShard between = divided.shard("relu");
  CHECK(to_string(between.inputs.front()) == "4×16×16");
  CHECK(to_string(between.kept_output) == "4×16×16");
  CHECK(between.share == 0.5);
  const LayerShard row = divided.shard("conv2");
  CHECK(to_string(row.inputs.front()) == "4×16×16");
  CHECK(to_string(row.output) == "12×16×16");
  CHECK(row.weights == 1200);
  CHECK(row.channel_parts == 2);
  CHECK(exchanges_of(row) == Texts{"forward allreduce of 3072 among tensor"});
  // A layer without a pair is split by filters.
  const LayerShard alone = divided.shard("fc");
  CHECK(to_string(alone.output) == "3");
  CHECK(alone.weights == 2304);
  CHECK(alone.biases == 3);
  CHECK(exchanges_of(alone) == Texts{"forward allgather of 6 among tensor", "backward allreduce of 768 among tensor"});
  CHECK(divided.shard("pool").share == 1);
}

TEST_CASE("tensor: a grouped convolution inside a pair works on its share of the groups") {
  const Model model = parse_model(R"(format: 1
model: separable
input: {channels: 16, size: 8x8}
layers:
  - convolution: {filters: 16, kernel: 1, bias: no}
  - convolution: {filters: 16, groups: 16, kernel: 3, padding: same, bias: no}
  - convolution: {filters: 4, kernel: 1, bias: no}
)",
                                  "separable.yaml");
  const ModelFacts facts = facts_of(model);
  Plan plan;
  plan.mesh.set(Axis::tensor, 2);
  REQUIRE(facts.tensor_role[1] == TensorSplitRole::inside);
  LayerShard shard;
  shard_layer({facts, plan, Assumptions{}, 1, 0}, shard);
  CHECK(shard.weights == 16 * 9 / 2);
  CHECK(shard.output.channels == 8);
  CHECK(shard.exchanges.empty());
}

TEST_CASE("tensor: a transformer's block has one sum forward and one backward for each of its two pairs") {
  const Divided divided(small_transformer(), plan_of(Axis::tensor, 3, 1));
  // Attention has 24 · 72 weights and 72 biases, and each rank has two of the six heads.
  const LayerShard qkv = divided.shard("layer0.qkv");
  CHECK(to_string(qkv.inputs.front()) == "24 over 8 tokens");
  CHECK(to_string(qkv.output) == "24 over 8 tokens");
  CHECK(qkv.weights == Approx(576));
  CHECK(qkv.biases == Approx(24));
  CHECK(exchanges_of(qkv) == Texts{"backward allreduce of 192 among tensor"});
  const LayerShard attention = divided.shard("layer0.attention1");
  CHECK(to_string(attention.inputs.front()) == "24 over 8 tokens");
  CHECK(to_string(attention.output) == "8 over 8 tokens");
  CHECK(attention.exchanges.empty());
  const LayerShard projection = divided.shard("layer0.projection");
  CHECK(to_string(projection.inputs.front()) == "8 over 8 tokens");
  CHECK(projection.weights == Approx(192));
  CHECK(projection.biases == 24);
  CHECK(exchanges_of(projection) == Texts{"forward allreduce of 192 among tensor"});
  // The MLP has widths 24 → 96 → 24.
  const LayerShard up = divided.shard("layer0.fc1");
  CHECK(to_string(up.output) == "32 over 8 tokens");
  CHECK(exchanges_of(up) == Texts{"backward allreduce of 192 among tensor"});
  CHECK(to_string(divided.shard("layer0.gelu1").output) == "32 over 8 tokens");
  const LayerShard down = divided.shard("layer0.fc2");
  CHECK(to_string(down.inputs.front()) == "32 over 8 tokens");
  CHECK(exchanges_of(down) == Texts{"forward allreduce of 192 among tensor"});
  // Norms are replicated.
  const LayerShard norm = divided.shard("layer0.norm1");
  CHECK(to_string(norm.output) == "24 over 8 tokens");
  CHECK(norm.biases == 48);
  CHECK(norm.share == 1);
  CHECK(norm.exchanges.empty());
}

TEST_CASE("tensor: with sequence parallelism tokens are divided between pairs, and gathered and scattered around them") {
  Plan plan = plan_of(Axis::tensor, 2, 1);
  plan.sequence_parallel = true;
  const Divided divided(small_transformer(), plan);
  // Each rank has 4 of 8 tokens, and sums the gradients of the norm's 48 parameters with the other rank.
  const LayerShard norm = divided.shard("layer0.norm1");
  CHECK(to_string(norm.inputs.front()) == "24 over 4 tokens");
  CHECK(to_string(norm.output) == "24 over 4 tokens");
  CHECK(norm.biases == 48);
  CHECK(norm.share == 0.5);
  CHECK(exchanges_of(norm) == Texts{"gradient allreduce of 48 among tensor (gradient)"});
  // The input of a column layer is gathered, and once more in backward. The gradient of the input is summed and scattered.
  const LayerShard qkv = divided.shard("layer0.qkv");
  CHECK(to_string(qkv.inputs.front()) == "24 over 8 tokens");
  CHECK(to_string(qkv.kept_input) == "24 over 4 tokens");
  CHECK(to_string(qkv.output) == "36 over 8 tokens");
  CHECK(exchanges_of(qkv) == Texts{"forward allgather of 192 among tensor", "backward reduce-scatter of 192 among tensor",
                                   "backward allgather of 192 among tensor"});
  CHECK(qkv.exchanges.back().next_to_kernels);
  // PyTorch keeps the gathered input for backward (keeps_gathered), so it is not gathered again.
  Assumptions keeps;
  keeps.keeps_gathered = true;
  const LayerShard kept = Divided(small_transformer(), plan, keeps).shard("layer0.qkv");
  CHECK(to_string(kept.kept_input) == "24 over 8 tokens");
  CHECK(exchanges_of(kept) == Texts{"forward allgather of 192 among tensor", "backward reduce-scatter of 192 among tensor"});
  const LayerShard projection = divided.shard("layer0.projection");
  CHECK(to_string(projection.output) == "24 over 8 tokens");
  CHECK(to_string(projection.kept_output) == "24 over 4 tokens");
  CHECK(exchanges_of(projection) ==
        Texts{"forward reduce-scatter of 192 among tensor", "backward allgather of 192 among tensor"});
  CHECK(exchanges_of(divided.shard("embedding")) ==
        Texts{"forward reduce-scatter of 192 among tensor", "backward allgather of 192 among tensor"});
  // Both inputs of the residual's sum are sharded as well.
  const LayerShard residual = divided.shard("layer0.add1");
  for (const TensorShape& input : residual.inputs) CHECK(to_string(input) == "24 over 4 tokens");
  CHECK(residual.exchanges.empty());
}

TEST_CASE(
    "tensor: exchanges move as many bytes with sequence parallelism as without, except those overlapped with kernels") {
  for (const std::string name : {"gpt2", "llama3-8b", "mixtral-8x7b", "t5-large"}) {
    const Model model = load_model(name);
    const ModelFacts facts = facts_of(model);
    const auto items = [&](bool sequence_parallel) {
      Plan plan;
      plan.mesh.set(Axis::tensor, 2);
      plan.sequence_parallel = sequence_parallel;
      REQUIRE(limits_of({facts, plan, {}}).empty());
      double all = 0;
      const Assumptions assumptions;
      LayerShard shard;
      for (int layer = 0; layer < static_cast<int>(model.layers.size()); ++layer) {
        shard_layer({facts, plan, assumptions, layer, 0}, shard);
        for (const Exchange& exchange : shard.exchanges) {
          if (exchange.purpose != Purpose::layer || exchange.next_to_kernels) continue;
          // An Allreduce has the elements of a Reduce-scatter and an Allgather.
          all += exchange.items * (exchange.operation == Collective::allreduce ? 2 : 1);
        }
      }
      return all;
    };
    INFO(name);
    // The gradient of a table is gathered, whereas the embedding's sum has no exchange in backward.
    const double without = items(false), with = items(true);
    CHECK(with >= without * (1 - 1e-12));
    CHECK(with <= without * 1.02);
  }
}

TEST_CASE("tensor: sequence parallelism needs tokens that the degree divides") {
  const auto limit_of = [](const Model& model, int degree) {
    const ModelFacts facts = facts_of(model);
    Plan plan;
    plan.mesh.set(Axis::tensor, degree);
    plan.sequence_parallel = true;
    const Limits limits = limits_of({facts, plan, {}});
    return limits.empty() ? std::string() : describe_limit(*limits.begin());
  };
  CHECK(limit_of(small_transformer(), 2).empty());
  // The model has 197 tokens.
  CHECK(limit_of(load_model("vit_b_16"), 2) == "tokens 2 of 197");
  CHECK(limit_of(load_model("resnet50"), 2) == "tokens 2 of 0");
}

TEST_CASE("pipeline: virtual stages are groups of identical blocks") {
  const Model model = load_model("gpt2");  // 12 blocks
  const ModelFacts facts = facts_of(model);
  CHECK(facts.like_blocks == 12);
  Plan plan;
  plan.mesh.set(Axis::pipeline, 2);
  plan.micro_batches = 4;
  plan.global_batch = 4;
  const auto limit = [&] {
    const Limits limits = limits_of({facts, plan, {}});
    return limits.empty() ? std::string() : describe_limit(*limits.begin());
  };
  plan.virtual_stages = 3;
  CHECK(limit().empty());
  plan.virtual_stages = 5;
  CHECK(limit() == "virtual_stages 10 of 12");
  plan.virtual_stages = 2;
  plan.micro_batches = 3;
  CHECK(limit() == "interleaving 2 of 3");
  plan.schedule = Schedule::gpipe;
  CHECK(limit() == "not_interleaved 2 of 1");
  // Two model chunks of two stages form a V. Six chunks would be 12 of 12 blocks, which only 1F1B interleaves.
  plan.virtual_stages = 1;
  plan.schedule = Schedule::zero_bubble_v;
  CHECK(limit() == "filled_bubbles 4 of 3");
  plan.micro_batches = plan.global_batch = 4;
  CHECK(limit().empty());
  plan.mesh.set(Axis::pipeline, 8);
  plan.micro_batches = plan.global_batch = 16;
  CHECK(limit() == "virtual_stages 16 of 12");
  plan.mesh.set(Axis::pipeline, 3);
  plan.schedule = Schedule::dual_pipe;
  CHECK(limit() == "filled_bubbles 6 of 16");
  plan.schedule = Schedule::zero_bubble;
  CHECK(limit().empty());
  plan.mesh.set(Axis::pipeline, 2);
  // There are 96 blocks, and 98 = 7 · 14 including the layers before and after the blocks.
  const ModelFacts large = facts_of(load_model("gpt3-175b"));
  plan.schedule = Schedule::one_forward_one_backward;
  plan.micro_batches = 4;
  plan.virtual_stages = 7;
  CHECK(limits_of({large, plan, {}}).empty());
  // 98 chunks: one for each block, one for the layers before the blocks, and one for the layers after them.
  plan.virtual_stages = 49;
  CHECK(limits_of({large, plan, {}}).empty());
  plan.virtual_stages = 50;
  CHECK_FALSE(limits_of({large, plan, {}}).empty());
  CHECK(facts_of(load_model("resnet50")).like_blocks == 0);
  CHECK(facts_of(load_model("t5-large")).like_blocks == 0);
  CHECK(facts_of(load_model("t5-large")).similar_blocks == 0);
  // 3 of 61 blocks are dense, so there may be as many model chunks as blocks.
  const ModelFacts mixed = facts_of(load_model("deepseek-v3"));
  CHECK(mixed.like_blocks == 0);
  CHECK(mixed.similar_blocks >= 61);
  plan.virtual_stages = 16;
  CHECK(limits_of({mixed, plan, {}}).empty());
  plan.virtual_stages = 32;
  plan.mesh.set(Axis::pipeline, 4);
  CHECK_FALSE(limits_of({mixed, plan, {}}).empty());
}

TEST_CASE("context: each rank has a shard of the tokens, and attention passes keys and values round") {
  const Divided divided(small_transformer(), plan_of(Axis::context, 2, 1));
  for (const char* name : {"layer0.norm1", "layer0.projection", "layer0.fc2", "layer0.add1"}) {
    const LayerShard shard = divided.shard(name);
    INFO(name);
    CHECK(to_string(shard.output) == "24 over 4 tokens");
    CHECK(shard.share == 0.5);
  }
  const LayerShard qkv = divided.shard("layer0.qkv");
  CHECK(to_string(qkv.output) == "72 over 4 tokens");
  CHECK(qkv.weights == 1728);
  CHECK(exchanges_of(qkv) == Texts{"gradient allreduce of 1800 among context (gradient)"});
  // The exchange has keys and values of 4 tokens with 48 channels, and in backward also their gradients.
  const LayerShard attention = divided.shard("layer0.attention1");
  CHECK(exchanges_of(attention) ==
        Texts{"forward point-to-point of 192 among context", "backward point-to-point of 384 among context"});
  for (const Exchange& exchange : attention.exchanges) CHECK(exchange.next_to_kernels);
}

TEST_CASE("context: with Ulysses, a rank has all tokens of some heads in attention, and some tokens of all heads outside") {
  Plan plan = plan_of(Axis::context, 2, 1);
  plan.context_exchange = ContextExchange::ulysses;
  const Divided divided(small_transformer(), plan);
  const LayerShard attention = divided.shard("layer0.attention1");
  CHECK(to_string(attention.inputs.front()) == "36 over 8 tokens");
  CHECK(to_string(attention.output) == "12 over 8 tokens");
  CHECK(attention.share == 0.5);
  // In each pass, a rank sends its share of queries, keys and values, 3sh/P, and of the output,
  // sh/P, which is 4sh/P [Jac23, section 3.2], with 8 tokens of 24 channels and P = 2.
  CHECK(exchanges_of(attention) == Texts{"forward all-to-all of 288 among context", "forward all-to-all of 96 among context",
                                         "backward all-to-all of 288 among context",
                                         "backward all-to-all of 96 among context"});
  for (const Exchange& exchange : attention.exchanges) CHECK_FALSE(exchange.next_to_kernels);
  CHECK(to_string(divided.shard("layer0.projection").output) == "24 over 4 tokens");
  CHECK(exchanges_of(divided.shard("layer0.projection")).size() == 1);
}

TEST_CASE("context: with Ulysses and more ranks than heads of keys, a rank has one head of keys") {
  Plan plan = plan_of(Axis::context, 16, 1);
  plan.context_exchange = ContextExchange::ulysses;
  const Divided divided(load_model("llama3-8b"), plan);
  const LayerShard attention = divided.shard("layer0.attention1");
  // 2 of 32 heads of queries, and one of 8 heads of keys and values, with 128 channels each.
  CHECK(to_string(attention.inputs.front()) == "512 over 8192 tokens");
  CHECK(to_string(attention.output) == "256 over 8192 tokens");
  CHECK(exchanges_of(attention) ==
        Texts{"forward all-to-all of 4194304 among context", "forward all-to-all of 2097152 among context",
              "backward all-to-all of 4194304 among context", "backward all-to-all of 2097152 among context"});
}

TEST_CASE("context: heads must divide among the ranks of context and tensor") {
  const auto limit_of = [](const std::string& name, int degree, int tensor) {
    const Model model = load_model(name);
    const ModelFacts facts = facts_of(model);
    Plan plan;
    plan.mesh.set(Axis::context, degree);
    plan.mesh.set(Axis::tensor, tensor);
    plan.context_exchange = ContextExchange::ulysses;
    const Limits limits = limits_of({facts, plan, {}});
    return limits.empty() ? std::string() : describe_limit(*limits.begin());
  };
  CHECK(limit_of("gpt2", 4, 1).empty());  // 12 heads
  CHECK(limit_of("gpt2", 8, 1) == "heads 8 of 12");
  CHECK(limit_of("llama3-8b", 4, 2).empty());  // 8 heads of keys and values
  CHECK(limit_of("llama3-8b", 4, 4) == "heads 16 of 8");
  // Without a tensor degree, ranks may share heads of keys, but not of queries: 32 heads.
  CHECK(limit_of("llama3-8b", 32, 1).empty());
  CHECK(limit_of("llama3-8b", 64, 1) == "heads 64 of 8");
  CHECK(limit_of("qwen2.5-7b", 8, 1) == "heads 8 of 4");  // 28 heads of queries
}

TEST_CASE("context: all ranks together compute as much as one rank, or a limit gives the reason") {
  const std::vector<std::pair<std::string, ContextExchange>> cases{{"gpt2", ContextExchange::ring},
                                                                   {"llama3-8b", ContextExchange::ring},
                                                                   {"gpt2", ContextExchange::ulysses},
                                                                   {"llama3-8b", ContextExchange::ulysses}};
  for (const auto& [name, exchange] : cases) {
    const Model model = load_model(name);
    const ModelFacts facts = facts_of(model);
    Plan plan;
    plan.mesh.set(Axis::context, 4);
    plan.context_exchange = exchange;
    REQUIRE(limits_of({facts, plan, {}}).empty());
    const Assumptions assumptions;
    LayerShard shard;
    for (int layer = 0; layer < static_cast<int>(model.layers.size()); ++layer) {
      const ShardContext context{facts, plan, assumptions, layer, 0};
      shard_layer(context, shard);
      const Layer& at = context.at();
      for (const Pass pass : {Pass::forward, Pass::backward_data}) {
        const double whole = at.operation->work(pass, at.input_shapes, at.output_shape).flops;
        const double part = context.operation(shard)->work(pass, shard.inputs, shard.output).flops;
        INFO(name << " " << at.name);
        CHECK(part * 4 == Approx(whole));
      }
    }
  }
  const auto limit_of = [](const std::string& name, int degree) {
    const Model model = load_model(name);
    const ModelFacts facts = facts_of(model);
    Plan plan;
    plan.mesh.set(Axis::context, degree);
    const Limits limits = limits_of({facts, plan, {}});
    return limits.empty() ? std::string() : describe_limit(*limits.begin());
  };
  CHECK(limit_of("gpt2", 512).empty());  // 1,024 tokens
  CHECK(limit_of("gpt2", 1024) == "context 1024 of 1024");
  CHECK(limit_of("vit_b_16", 2) == "context 2 of 0");  // a later layer reads a single token
  CHECK(limit_of("resnet50", 2) == "context 2 of 0");
}

TEST_CASE("expert: tokens are sent to the ranks of their experts, and the weights of experts are divided") {
  const Model model = load_model("mixtral-8x7b");
  const ModelFacts facts = facts_of(model);
  CHECK(facts.experts == 8);
  Plan plan;
  plan.mesh = Mesh{{Axis::expert, 4}, {Axis::data, 2}};
  plan.global_batch = 16;
  CHECK(samples_per_micro_batch(plan) == 2);
  REQUIRE(limits_of({facts, plan, {}}).empty());
  const Assumptions assumptions;
  double experts = 0, others = 0;
  int trades = 0;
  LayerShard shard;
  for (int layer = 0; layer < static_cast<int>(model.layers.size()); ++layer) {
    const ShardContext context{facts, plan, assumptions, layer, 0};
    shard_layer(context, shard);
    const bool is_expert = context.at().operation->experts() > 1;
    (is_expert ? experts : others) += shard.weights + shard.biases;
    CHECK(shard.replicas == (is_expert ? replica_axes & ~family_bit(Axis::expert) : replica_axes));
    for (const Exchange& exchange : shard.exchanges) {
      if (exchange.phase == Phase::gradient) {
        CHECK(exchange.axes == (is_expert ? family_bit(Axis::data) : family_bit(Axis::data) | family_bit(Axis::expert)));
        continue;
      }
      CHECK(exchange.operation == Collective::all_to_all);
      // Each token has two copies of 4,096 channels.
      CHECK(exchange.items == 2.0 * 4096 * static_cast<double>(model.input.extent[0]));
      CHECK(exchange.copies == 2);
      ++trades;
    }
    if (!is_expert) continue;
    // A rank does the same work for fewer experts.
    CHECK(context.operation(shard)->experts() == 2);
    const Layer& at = context.at();
    CHECK(context.operation(shard)->work(Pass::forward, shard.inputs, shard.output).flops ==
          at.operation->work(Pass::forward, at.input_shapes, at.output_shape).flops);
  }
  CHECK(experts == Approx(facts.expert_parameters / 4));
  CHECK(others == Approx(facts.parameters - facts.expert_parameters));
  CHECK(trades == 4 * 32);  // dispatch and combine, in forward and backward, in 32 layers
  plan.mesh = Mesh{{Axis::expert, 16}};
  CHECK(describe_limit(*limits_of({facts, plan, {}}).begin()) == "experts 16 of 8");
  const ModelFacts dense = facts_of(load_model("gpt2"));
  plan.mesh = Mesh{{Axis::expert, 2}};
  CHECK(describe_limit(*limits_of({dense, plan, {}}).begin()) == "experts 2 of 0");
}

TEST_CASE("expert: fp8 dispatch sends tokens forward, and gradients back to experts, in 33/32 bytes for each element") {
  const Model model = load_model("mixtral-8x7b");
  const ModelFacts facts = facts_of(model);
  Plan plan;
  plan.mesh = Mesh{{Axis::expert, 8}};
  plan.precision = Precision::bf16;
  plan.global_batch = 8;
  Assumptions assumptions;
  assumptions.fp8_dispatch = true;
  const double items = 2.0 * 4096 * static_cast<double>(model.input.extent[0]);
  LayerShard shard;
  int narrow = 0, wide = 0;
  for (int layer = 0; layer < static_cast<int>(model.layers.size()); ++layer) {
    const ShardContext context{facts, plan, assumptions, layer, 0};
    shard_layer(context, shard);
    for (const Exchange& exchange : shard.exchanges) {
      if (exchange.operation != Collective::all_to_all) continue;
      CHECK(exchange.copies == 2);
      const bool to_experts = (context.at().operation->type() == "dispatch") == (exchange.phase == Phase::forward);
      CHECK(exchange.items == Approx(to_experts ? items * 33 / 64 : items));
      ++(to_experts ? narrow : wide);
    }
  }
  CHECK(narrow == 2 * 32);
  CHECK(wide == 2 * 32);
}

TEST_CASE("expert: unsplit experts are also distributed to the tensor ranks, each of which has separate tokens") {
  const Model model = load_model("mixtral-8x7b");
  const ModelFacts facts = facts_of(model);
  Plan plan;
  plan.mesh = Mesh{{Axis::tensor, 2}, {Axis::expert, 4}};
  plan.global_batch = 4;
  plan.sequence_parallel = plan.whole_experts = true;
  REQUIRE(limits_of({facts, plan, {}}).empty());
  const Assumptions assumptions;
  const double tokens = static_cast<double>(model.input.extent[0]);
  double experts = 0, traded = 0;
  LayerShard shard;
  for (int layer = 0; layer < static_cast<int>(model.layers.size()); ++layer) {
    const ShardContext context{facts, plan, assumptions, layer, 0};
    shard_layer(context, shard);
    const bool is_expert = context.at().operation->experts() > 1;
    if (is_expert) {
      experts += shard.weights + shard.biases;
      // The rank has one of eight experts, unsplit, for as many copies of tokens as the rank itself has.
      CHECK(context.operation(shard)->experts() == 1);
      CHECK(shard.inputs.front().extent[0] == model.input.extent[0] * 2 / 2);
      CHECK(shard.output.channels == context.at().output_shape.channels);
    }
    for (const Exchange& exchange : shard.exchanges) {
      if (exchange.phase == Phase::gradient) continue;
      const bool is_behind = context.at().operation->type() == "dispatch" || context.at().operation->type() == "combine";
      // Experts neither gather nor scatter.
      CHECK((!is_expert && !facts.in_experts[static_cast<std::size_t>(layer)]));
      if (!is_behind || exchange.operation != Collective::all_to_all) continue;
      CHECK(exchange.axes == (family_bit(Axis::expert) | family_bit(Axis::tensor)));
      // Half of the tokens have two copies of 4,096 channels.
      CHECK(exchange.items == 2.0 * 4096 * tokens / 2);
      traded += exchange.items;
    }
  }
  CHECK(experts == Approx(facts.expert_parameters / 8));
  CHECK(traded == Approx(4.0 * 32 * 4096 * tokens));
  const auto limit_of = [&](const Plan& other) {
    const Limits limits = limits_of({facts, other, {}});
    return limits.empty() ? std::string() : describe_limit(*limits.begin());
  };
  plan.mesh = Mesh{{Axis::tensor, 4}, {Axis::expert, 4}};
  CHECK(limit_of(plan) == "whole_experts 16 of 8");
  plan.mesh = Mesh{{Axis::tensor, 2}, {Axis::expert, 4}};
  plan.sequence_parallel = false;
  CHECK(limit_of(plan) == "whole_experts 0 of 8");
}

TEST_CASE("tensor: tables are cut along the vocabulary, and the head stays sharded up to the loss") {
  const Divided divided(small_transformer(), plan_of(Axis::tensor, 2, 1));
  const LayerShard words = divided.shard("embedding");
  CHECK(words.weights == 1200);
  CHECK(to_string(words.output) == "24 over 8 tokens");
  CHECK(exchanges_of(words) == Texts{"forward allreduce of 192 among tensor"});
  const LayerShard head = divided.shard("head");
  CHECK(to_string(head.output) == "50 over 8 tokens");
  CHECK(head.weights == 0);  // the embedding owns the weights
  CHECK(exchanges_of(head) == Texts{"backward allreduce of 192 among tensor"});
  // The loss reduces a maximum and a sum of exponentials for each of the 8 tokens.
  const LayerShard loss = divided.shard("loss1");
  CHECK(to_string(loss.inputs.front()) == "50 over 8 tokens");
  CHECK(exchanges_of(loss) == Texts{"forward allreduce of 16 among tensor"});
}

TEST_CASE("an additional input of the sample is never exchanged: each rank has all of the input, or a tile of an image") {
  const Model model = parse_model(R"(format: 1
model: two
input: {channels: 4, size: 16x16}
layers:
  - input: {features: 12}
    name: facts
  - input: {channels: 4, size: 8x8}
    name: detail
  - convolution: {filters: 8, kernel: 3, padding: same}
    name: conv
    from: input
  - convolution: {filters: 8, kernel: 3, padding: same}
    name: fine
    from: detail
  - pool: {kind: average, global: yes}
  - flatten:
    name: flat
  - concat:
    from: [flat, facts]
  - fully_connected: 8
    name: fc
)",
                                  "two.yaml");
  const ModelFacts facts = facts_of(model);
  for (const Plan& plan :
       {Plan{.mesh = {{Axis::data, 4}}}, Plan{.mesh = Mesh(Tiles{2, 2, 1})}, Plan{.mesh = {{Axis::filter, 4}}},
        Plan{.mesh = {{Axis::channel, 4}}}, Plan{.mesh = {{Axis::tensor, 4}}}, Plan{.mesh = {{Axis::pipeline, 2}}}}) {
    for (const int layer : {0, 1}) {
      Plan batch = plan;
      batch.global_batch = 8;
      const ReplicatedLayers end = replicated_layers(facts, batch, {});
      LayerShard shard;
      const Assumptions assumptions;
      shard_layer({facts, batch, assumptions, layer, end}, shard);
      const bool tiled = layer == 1 && plan.mesh[Axis::spatial] > 1;
      CHECK(end.first == (plan.mesh[Axis::spatial] > 1 ? 4 : -1));
      CHECK(shard.output.items() == (layer == 0 ? 12 : (tiled ? 64 : 256)));
      for (const Exchange& exchange : shard.exchanges) {
        // A cut sends the tensors that cross it. Before the first two layers, this is the model's input.
        CHECK(exchange.purpose == Purpose::pipeline);
      }
    }
  }
}

TEST_CASE("every axis has one strategy with a description") {
  Family seen = 0;
  for (const Strategy* strategy : strategies()) {
    CHECK((seen & family_bit(strategy->axis)) == 0);
    seen |= family_bit(strategy->axis);
    CHECK_FALSE(strategy->summary.empty());
  }
  CHECK(seen == (1U << axis_count) - 1);
}

TEST_CASE("the collective between two layouts follows from the data that each rank lacks") {
  using enum Spread;
  CHECK_FALSE(difference(whole, whole));
  CHECK_FALSE(difference(whole, channels));  // a slice of its own tensor
  CHECK_FALSE(difference(channels, channels));
  CHECK_FALSE(difference(sums, sums));
  CHECK(difference(channels, whole) == Collective::allgather);
  CHECK(difference(positions, channels) == Collective::all_to_all);
  CHECK(difference(sums, whole) == Collective::allreduce);
  CHECK(difference(sums, positions) == Collective::reduce_scatter);
}

TEST_CASE("exchanges follow from the layout of a layer's tensors, in backward as in forward") {
  using enum Spread;
  const auto exchanges = [](const AxisLayout& layout) {
    LayerShard shard;
    set_layout(shard, Axis::tensor, layout, {10, 20, 10});
    return exchanges_of(shard);
  };
  CHECK(exchanges({}).empty());
  // In a pair of layers with whole tensors between pairs [Nar21], g is after the row, and f is before the column.
  CHECK(exchanges({.written = channels, .output = channels}) == Texts{"backward allreduce of 10 among tensor"});
  CHECK(exchanges({channels, channels, sums, whole}) == Texts{"forward allreduce of 20 among tensor"});
  // Between pairs, sequence parallelism [Kort22] keeps shards of each sequence, so an Allreduce
  // becomes an Allgather and a Reduce-scatter.
  CHECK(exchanges({positions, whole, channels, channels}) ==
        Texts{"forward allgather of 10 among tensor", "backward reduce-scatter of 10 among tensor"});
  CHECK(exchanges({channels, channels, sums, positions}) ==
        Texts{"forward reduce-scatter of 20 among tensor", "backward allgather of 20 among tensor"});
}

TEST_CASE("under a tensor split, each layer reads the layout that its producer leaves") {
  using Case = std::pair<std::string, bool>;
  for (const auto& [name, sequence_parallel] :
       {Case{"gpt2", false}, Case{"bert-large", false}, Case{"llama3-8b", false}, Case{"vit_b_16", false},
        Case{"resnet50", false}, Case{"vgg16", false}, Case{"t5-large", false}, Case{"gpt2", true}, Case{"llama3-8b", true},
        Case{"t5-large", true}, Case{"mixtral-8x7b", true}}) {
    const Model model = load_model(name);
    const ModelFacts facts = facts_of(model);
    Plan plan;
    plan.mesh.set(Axis::tensor, 2);
    plan.sequence_parallel = sequence_parallel;
    plan.global_batch = 4;
    const Assumptions assumptions;
    std::vector<AxisLayout> layouts;
    for (int layer = 0; layer < static_cast<int>(model.layers.size()); ++layer) {
      LayerShard shard;
      shard_layer({facts, plan, assumptions, layer, 0}, shard);
      layouts.push_back(shard.layouts[static_cast<std::size_t>(Axis::tensor)]);
      const Layer& at = model.layers[static_cast<std::size_t>(layer)];
      if (at.inputs.empty() || at.inputs.front() < 0) continue;
      INFO(name << " " << at.name);
      CHECK(layouts.back().input == layouts[static_cast<std::size_t>(at.inputs.front())].output);
    }
  }
}

}  // namespace
