// The estimator computes layer by layer, whereas the literature gives closed forms [ParaDL, Table
// III]. Under the table's conventions, both must agree for any network:
//   - a chain of layers with weights and without bias, so that |x_l| = |y_{l−1}|;
//   - stride 1 and "same" padding, odd K > 1 where a sample is split;
//   - all degrees and S divide B, F, C, W, H and D; D/B is real;
//   - one level, ring collectives, φ = 1, all gradients in one message;
//   - every layer is split, the first in channel too; the last layer's collective is omitted;
//   - the halo is what one direction sends, summed over the split dimensions, in one message per direction;
//   - a pipeline has p+S−1 slots of the longest stage; stages are given; the last stage sends nothing;
//   - γ is given, optimizers have no slots.
// Symbols: D samples, B batch, I = D/B iterations, G layers, p degree, S segments, δ bytes per element, γ memory reuse, α
// start-up, β time per byte; FW, BW per sample and WU per iteration of a layer; |x|, |y|, |w| its elements.

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/sentences/sentences.hpp"
#include "estimator/layers/stage_balance.hpp"
#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/random.hpp"

namespace table_three_tests {

namespace {

using namespace ddl;

constexpr int cases_per_row = 300;

/// Degrees that divide 24, as all channels and extents here do.
constexpr std::array<int, 5> some_degrees{2, 3, 4, 6, 12};

/// One layer of the chain in the terms of the table.
struct Row {
  double x = 0, y = 0, w = 0;     ///< elements
  double fw = 0, bw = 0, wu = 0;  ///< seconds
  int channels = 0, filters = 0, kernel = 1;
};

enum class Shape { any, image, volume };

/// A random network under the conventions of the table.
struct Case {
  std::string text;  ///< model file
  std::vector<Row> layers;
  std::array<int, 3> extent{1, 1, 1};
  double D = 0, B = 0, delta = 4, alpha = 0, beta = 0, gamma = 1;
  Plan plan;

  [[nodiscard]] double I() const { return D / B; }  // NOLINT(readability-identifier-naming): the name of the paper
  [[nodiscard]] double sum(const std::function<double(const Row&)>& term) const {
    double total = 0;
    for (const Row& row : layers) total += term(row);
    return total;
  }
  /// Σ_{l<G}
  [[nodiscard]] double sum_before_last(const std::function<double(const Row&)>& term) const {
    return sum(term) - term(layers.back());
  }
  [[nodiscard]] double fw_bw() const {
    return sum([](const Row& l) { return l.fw + l.bw; });
  }
  [[nodiscard]] double wu() const {
    return sum([](const Row& l) { return l.wu; });
  }
  [[nodiscard]] double weights() const {
    return sum([](const Row& l) { return l.w; });
  }
};

/// A random network, apart from the plan's degrees. Each extent is 24 times a small number, so that
/// twelve tiles hold a halo of two.
Case random_case(Random& random, Shape shape, int layers) {
  Case c;
  const bool flat = shape == Shape::any && random.chance();
  const int rank = flat ? 0 : (shape == Shape::volume || (shape == Shape::any && random.chance()) ? 3 : 2);
  for (int d = 0; d < rank; ++d) c.extent[static_cast<std::size_t>(d)] = 24 * random.whole(1, 2);
  int channels = 24 * random.whole(1, 4);
  c.text = "format: 1\nmodel: chain\n";
  if (flat) {
    c.text += fmt::format("input: {{features: {}}}\n", channels);
  } else {
    std::string size = fmt::format("{}x{}", c.extent[0], c.extent[1]);
    if (rank == 3) size += fmt::format("x{}", c.extent[2]);
    c.text += fmt::format("input: {{channels: {}, size: {}}}\n", channels, size);
  }
  c.text += "layers:\n";
  const double positions = static_cast<double>(c.extent[0]) * c.extent[1] * c.extent[2];
  for (int l = 0; l < layers; ++l) {
    Row row;
    row.channels = channels;
    row.filters = 24 * random.whole(1, 4);
    if (!flat) row.kernel = shape == Shape::any ? random.of(std::array{1, 3, 5}) : random.of(std::array{3, 5});
    row.x = channels * positions;
    row.y = row.filters * positions;
    row.w = static_cast<double>(channels) * row.filters * std::pow(row.kernel, rank);
    row.fw = random.real(1e-6, 1e-2);
    row.bw = random.real(1e-6, 1e-2);
    row.wu = random.real(1e-6, 1e-2);
    c.layers.push_back(row);
    c.text += flat ? fmt::format("  - fully_connected: {{features: {}, bias: no}}\n", row.filters)
                   : fmt::format("  - convolution: {{filters: {}, kernel: {}, padding: same, bias: no}}\n", row.filters,
                                 row.kernel);
    channels = row.filters;
  }
  c.plan.precision = random.chance() ? Precision::fp32 : Precision::fp16;
  c.plan.optimizer = random.chance() ? Optimizer::sgd : Optimizer::adam;
  c.delta = c.plan.precision == Precision::fp32 ? 4 : 2;
  c.alpha = random.real(1e-7, 1e-3);
  c.beta = 1 / random.real(1e8, 1e12);
  c.gamma = random.real(0.1, 2);
  c.D = random.real(1e2, 1e7);
  return c;
}

/// Sets a batch of `per_part` samples for each micro-batch of each replica.
void set_batch(Case& c, int per_part) {
  c.plan.global_batch = static_cast<std::int64_t>(c.plan.mesh[Axis::data]) * c.plan.micro_batches * per_part;
  c.B = static_cast<double>(c.plan.global_batch);
}

/// The columns of the table, per epoch and per rank.
struct Table {
  double computation = 0, communication = 0, memory = 0;
};

Machine one_level(double alpha, double beta) {
  Machine machine;
  machine.name = "flat";
  machine.device.memory = Bytes(1e18);
  machine.levels.push_back({"everything", 1 << 20, Seconds(alpha), Bandwidth(1 / beta), 1});
  return machine;
}

Approx about(double value) { return Approx(value).epsilon(1e-9).margin(1e-300); }

/// Compares the estimate with the closed form. `closed_form` gets the job, because the table
/// assumes a pipeline's stages as given.
void check_against(const Case& c, const std::function<Table(const Job&)>& closed_form) {
  std::vector<LayerTimes> times;
  for (const Row& l : c.layers) times.push_back({Seconds(l.fw), Seconds(l.bw), Seconds(l.wu)});
  Assumptions assumptions = ideal_assumptions();
  assumptions.memory_reuse = c.gamma;
  const OwnedJob owned(parse_model(c.text, "chain.yaml"), one_level(c.alpha, c.beta), assumptions, c.D, times);
  const Estimator estimator(owned.job);
  const Estimate estimate = estimator.estimate(c.plan);
  INFO(c.text);
  INFO(fmt::format("{}, B = {}, S = {}, D = {}, δ = {}, α = {}, β = {}, γ = {}", degrees_text(c.plan.mesh), c.B,
                   c.plan.micro_batches, c.D, c.delta, c.alpha, c.beta, c.gamma));
  for (const Limit& limit : estimate.limits) FAIL(describe(limit, owned.model));

  const Table table = closed_form(owned.job);
  const Breakdown& time = estimate.time;
  const double I = c.I();
  REQUIRE((time.compute() + time[Part::bubble]).value() * I == about(table.computation));
  REQUIRE((time[Part::gradient_exchange] + time[Part::layer_collectives] + time[Part::halo] + time[Part::pipeline]).value() *
              I ==
          about(table.communication));
  REQUIRE(time[Part::input].value() == 0);
  REQUIRE(estimate.epoch.value() == about(table.computation + table.communication));
  REQUIRE(estimate.memory.total().value() == about(table.memory));
}

/// The row `data`, and the gradient term of every row that divides the batch: 2(D/B)(p−1)(α +
/// Σ|w|/p·δβ), for p replicas of `weights`.
double gradient_exchange(const Case& c, double p, double weights) {
  return 2 * c.I() * (p - 1) * (c.alpha + weights / p * c.delta * c.beta);
}

/// The memory of a row: 2γδ Σ(B(|x|/px + |y|/py) + |w|/pw).
double memory(const Case& c, double px, double py, double pw) {
  return 2 * c.gamma * c.delta * c.sum([&](const Row& l) { return c.B * (l.x / px + l.y / py) + l.w / pw; });
}

/// The elements that one rank sends in one direction: for each split dimension, a slab of (K−1)/2 rows of its tile.
double halo(const Case& c, double channels, int kernel) {
  double items = 0;
  for (std::size_t d = 0; d < 3; ++d) {
    if (c.plan.mesh.tiles()[d] == 1) continue;
    double slab = channels * (kernel - 1) / 2;
    for (std::size_t other = 0; other < 3; ++other) {
      if (other != d) slab *= static_cast<double>(c.extent[other]) / c.plan.mesh.tiles()[other];
    }
    items += slab;
  }
  return items;
}

/// The halo exchanges: (D/B) Σ 2(2α + b(halo(x) + halo(dL/dy))δβ), with b samples on each rank.
/// `x_parts` and `y_parts`: numbers of parts of the channels and filters whose halos a rank needs.
double halo_exchange(const Case& c, double b, double x_parts = 1, double y_parts = 1) {
  return c.I() * c.sum([&](const Row& l) {
    return 2 * (2 * c.alpha +
                b * (halo(c, l.channels, l.kernel) / x_parts + halo(c, l.filters, l.kernel) / y_parts) * c.delta * c.beta);
  });
}

/// The layer-wise exchanges: 3(D/B)(p−1) Σ_{l<G}(α + b|y|/p·δβ), for an Allgather in one pass and an Allreduce in the other.
double layer_exchange(const Case& c, double p, double b) {
  return 3 * c.I() * (p - 1) * c.sum_before_last([&](const Row& l) { return c.alpha + b * l.y / p * c.delta * c.beta; });
}

void split_sample(Case& c, Random& random, Shape shape) {
  Tiles tiles{1, 1, 1};
  do {
    for (std::size_t d = 0; d < (shape == Shape::volume ? 3U : 2U); ++d) {
      tiles[d] = random.chance() ? random.of(some_degrees) : 1;
    }
  } while (tiles == Tiles{1, 1, 1});
  c.plan.mesh.set_tiles(tiles);
}

TEST_CASE("the serial row: D Σ(FW+BW) + (D/B) ΣWU, no exchange, 2γδ Σ(B(|x|+|y|)+|w|)") {
  Random random(1);
  for (int i = 0; i < cases_per_row; ++i) {
    Case c = random_case(random, Shape::any, random.whole(1, 8));
    set_batch(c, random.whole(1, 64));
    check_against(c, [&](const Job&) { return Table{c.D * c.fw_bw() + c.I() * c.wu(), 0, memory(c, 1, 1, 1)}; });
  }
}

TEST_CASE("the data row: work divided by p, one ring Allreduce of all weights, memory with B/p") {
  Random random(2);
  for (int i = 0; i < cases_per_row; ++i) {
    Case c = random_case(random, Shape::any, random.whole(1, 8));
    const int p = random.whole(1, 1000);
    c.plan.mesh.set(Axis::data, p);
    set_batch(c, random.whole(1, 16));
    check_against(c, [&](const Job&) {
      return Table{c.D / p * c.fw_bw() + c.I() * c.wu(), gradient_exchange(c, p, c.weights()), memory(c, p, p, 1)};
    });
  }
}

void check_spatial_row(Shape shape, std::uint64_t seed) {
  Random random(seed);
  for (int i = 0; i < cases_per_row; ++i) {
    Case c = random_case(random, shape, random.whole(1, 8));
    split_sample(c, random, shape);
    const int p = c.plan.mesh[Axis::spatial];
    set_batch(c, random.whole(1, 64));
    check_against(c, [&](const Job&) {
      return Table{c.D / p * c.fw_bw() + c.I() * c.wu(), gradient_exchange(c, p, c.weights()) + halo_exchange(c, c.B),
                   memory(c, p, p, 1)};
    });
  }
}

TEST_CASE("the spatial row in two dimensions: like data, with halos of all layers") { check_spatial_row(Shape::image, 3); }

TEST_CASE("the spatial row in three dimensions: like data, with the halos of all layers") {
  check_spatial_row(Shape::volume, 4);
}

/// The row `layer` for each of p1 replicas: D(p+S−1)/(p1·S)·(max FW_Gi + max BW_Gi) + (D/B) max WU_Gi computing,
/// 2(D/B)(p+S−2) max(α + (B/(p1·S))|y_Gi|δβ) between stages, 2γδ max_i Σ_{l∈Gi}((B/p1)(|x|+|y|)+|w|) memory.
Table pipeline(const Case& c, const Job& job) {
  const double p1 = c.plan.mesh[Axis::data];
  const int p = c.plan.mesh[Axis::pipeline];
  const auto S = static_cast<double>(c.plan.micro_batches);
  const std::vector<int> firsts = Estimator(job).stages(c.plan);
  REQUIRE(firsts.size() == static_cast<std::size_t>(p) + 1);
  double fw = 0, bw = 0, wu = 0, hop = 0, gradients = 0, most = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(p); ++i) {
    double stage_fw = 0, stage_bw = 0, stage_wu = 0, stage_w = 0, held = 0;
    for (auto l = static_cast<std::size_t>(firsts[i]); l < static_cast<std::size_t>(firsts[i + 1]); ++l) {
      const Row& row = c.layers[l];
      stage_fw += row.fw;
      stage_bw += row.bw;
      stage_wu += row.wu;
      stage_w += row.w;
      held += c.B / p1 * (row.x + row.y) + row.w;
    }
    fw = std::max(fw, stage_fw);
    bw = std::max(bw, stage_bw);
    wu = std::max(wu, stage_wu);
    most = std::max(most, held);
    gradients = std::max(gradients, gradient_exchange(c, p1, stage_w));
    if (i + 1 < static_cast<std::size_t>(p)) {
      const double y = c.layers[static_cast<std::size_t>(firsts[i + 1]) - 1].y;
      hop = std::max(hop, c.alpha + c.B / (p1 * S) * y * c.delta * c.beta);
    }
  }
  return {c.D * (p + S - 1) / (p1 * S) * (fw + bw) + c.I() * wu, 2 * c.I() * (p + S - 2) * hop + gradients,
          2 * c.gamma * c.delta * most};
}

TEST_CASE("the layer row: p+S−1 slots of the longest stage, p+S−2 transfers each way, memory of the fullest stage") {
  Random random(5);
  for (int i = 0; i < cases_per_row; ++i) {
    Case c = random_case(random, Shape::any, random.whole(2, 12));
    c.plan.mesh.set(Axis::pipeline, random.whole(2, static_cast<int>(c.layers.size())));
    c.plan.micro_batches = random.whole(1, 32);
    c.plan.schedule = random.chance() ? Schedule::gpipe : Schedule::one_forward_one_backward;
    set_batch(c, random.whole(1, 8));
    check_against(c, [&](const Job& job) { return pipeline(c, job); });
  }
}

/// Checks a row in which work, update and weights are divided by p, and all layers but the last have exchanges.
void check_layer_split_row(Axis axis, std::uint64_t seed) {
  Random random(seed);
  for (int i = 0; i < cases_per_row; ++i) {
    Case c = random_case(random, Shape::any, random.whole(1, 8));
    const int p = random.of(some_degrees);
    c.plan.mesh.set(axis, p);
    set_batch(c, random.whole(1, 64));
    check_against(c, [&](const Job&) {
      return Table{c.D / p * c.fw_bw() + c.I() / p * c.wu(), layer_exchange(c, p, c.B), memory(c, 1, 1, p)};
    });
  }
}

TEST_CASE("the filter row: work, update and weights divided by p, an Allgather forward, an Allreduce backward") {
  check_layer_split_row(Axis::filter, 6);
}

TEST_CASE("the channel row: work, update and weights divided by p, an Allreduce forward, an Allgather backward") {
  check_layer_split_row(Axis::channel, 7);
}

// The table sums |y| of all layers but the last for both passes, also if a pool makes the input of the next layer smaller.
TEST_CASE("with pools, filter and channel exchange |y| both ways, as the table prints") {
  const char* const text = R"(format: 1
model: pools
input: {channels: 24, size: 24x24}
layers:
  - convolution: {filters: 48, kernel: 3, padding: same, bias: no}
  - pool: {kind: max, kernel: 2, stride: 2}
  - convolution: {filters: 24, kernel: 3, padding: same, bias: no}
  - pool: {kind: max, kernel: 2, stride: 2}
  - convolution: {filters: 12, kernel: 3, padding: same, bias: no}
)";
  constexpr double alpha = 1e-5, beta = 1e-9, samples = 8, parts = 4, item = 4;
  constexpr double first = 48 * 24 * 24, second = 24 * 12 * 12;
  const double expected = 3 * (parts - 1) * (2 * alpha + samples * (first + second) / parts * item * beta);
  const LayerTimes none{Seconds(0), Seconds(0), Seconds(0)};
  const OwnedJob owned(parse_model(text, "pools.yaml"), one_level(alpha, beta), ideal_assumptions(), 1e3,
                       std::vector<LayerTimes>(5, none));
  for (const Axis axis : {Axis::filter, Axis::channel}) {
    Plan plan;
    plan.precision = Precision::fp32;
    plan.mesh.set(axis, static_cast<int>(parts));
    plan.global_batch = static_cast<std::int64_t>(samples);
    REQUIRE(Estimator(owned.job).estimate(plan).time[Part::layer_collectives].value() == about(expected));
  }
}

/// Checks a row with p1 replicas, each split p2 ways: (D/p) Σ(FW+BW) + D/(B·p2) ΣWU, exchanges of
/// layers with B/p1, and gradients of |w|/p2 among p1 ranks.
void check_hybrid_with_data(Axis axis, std::uint64_t seed) {
  Random random(seed);
  for (int i = 0; i < cases_per_row; ++i) {
    Case c = random_case(random, Shape::any, random.whole(1, 8));
    const int p1 = random.whole(1, 64);
    c.plan.mesh.set(Axis::data, p1);
    const int p2 = random.of(some_degrees);
    c.plan.mesh.set(axis, p2);
    const double p = static_cast<double>(p1) * p2;
    set_batch(c, random.whole(1, 16));
    check_against(c, [&](const Job&) {
      return Table{c.D / p * c.fw_bw() + c.I() / p2 * c.wu(),
                   layer_exchange(c, p2, c.B / p1) + gradient_exchange(c, p1, c.weights() / p2), memory(c, p1, p1, p2)};
    });
  }
}

TEST_CASE("the data+filter row: layers exchange B/p1, gradients |w|/p2") { check_hybrid_with_data(Axis::filter, 8); }

TEST_CASE("data+channel takes as long as data+filter") { check_hybrid_with_data(Axis::channel, 9); }

TEST_CASE("the data+spatial row: gradients among all p, halos and memory with B/p1") {
  for (const Shape shape : {Shape::image, Shape::volume}) {
    Random random(shape == Shape::image ? 10 : 11);
    for (int i = 0; i < cases_per_row; ++i) {
      Case c = random_case(random, shape, random.whole(1, 8));
      split_sample(c, random, shape);
      const int p1 = random.whole(1, 64);
      c.plan.mesh.set(Axis::data, p1);
      const double p = static_cast<double>(p1) * c.plan.mesh[Axis::spatial];
      set_batch(c, random.whole(1, 16));
      check_against(c, [&](const Job&) {
        return Table{c.D / p * c.fw_bw() + c.I() * c.wu(), gradient_exchange(c, p, c.weights()) + halo_exchange(c, c.B / p1),
                     memory(c, p, p, 1)};
      });
    }
  }
}

// The outer degree p1 splits the sample, and the inner degree p2 the layers, so that layers exchange tiles, |y|/p1. A rank
// reads the halos of its own shard of the input's channels, or of the output gradient's filters.
TEST_CASE("spatial+filter and spatial+channel exchange halos, tiles of outputs, and gradients of a slice of the weights") {
  for (const Axis axis : {Axis::filter, Axis::channel}) {
    Random random(12);
    for (int i = 0; i < cases_per_row; ++i) {
      Case c = random_case(random, Shape::image, random.whole(1, 6));
      split_sample(c, random, Shape::image);
      const int p1 = c.plan.mesh[Axis::spatial];
      const int p2 = random.of(some_degrees);
      c.plan.mesh.set(axis, p2);
      set_batch(c, random.whole(1, 16));
      check_against(c, [&](const Job&) {
        return Table{c.D / (static_cast<double>(p1) * p2) * c.fw_bw() + c.I() / p2 * c.wu(),
                     halo_exchange(c, c.B, axis == Axis::channel ? p2 : 1, axis == Axis::filter ? p2 : 1) +
                         layer_exchange(c, p2, c.B / p1) + gradient_exchange(c, p1, c.weights() / p2),
                     memory(c, p1, p1, p2)};
      });
    }
  }
}

// A pair of layers takes 2(D/B)(p−1)(2α + b(|y_out|+|x_in|)/p·δβ). Between the two layers of a
// pair, a tensor is sharded: the first layer keeps |y|/p, and the second reads |x|/p.
TEST_CASE("tensor: one Allreduce forward and one backward for each pair of layers, with and without data parallelism") {
  Random random(13);
  for (int i = 0; i < cases_per_row; ++i) {
    Case c = random_case(random, Shape::any, 2 * random.whole(1, 4));
    const int p1 = random.chance() ? random.whole(2, 64) : 1;
    c.plan.mesh.set(Axis::data, p1);
    const int p2 = random.of(some_degrees);
    c.plan.mesh.set(Axis::tensor, p2);
    set_batch(c, random.whole(1, 16));
    const double b = c.B / p1;
    double exchanged = 0, held = 0;
    for (std::size_t l = 0; l < c.layers.size(); l += 2) {
      const Row& first = c.layers[l];
      const Row& second = c.layers[l + 1];
      exchanged += 2 * c.I() * (p2 - 1) * (2 * c.alpha + b * (second.y + first.x) / p2 * c.delta * c.beta);
      held += b * (first.x + first.y / p2 + second.x / p2 + second.y) + (first.w + second.w) / p2;
    }
    check_against(c, [&](const Job&) {
      return Table{c.D / (static_cast<double>(p1) * p2) * c.fw_bw() + c.I() / p2 * c.wu(),
                   exchanged + gradient_exchange(c, p1, c.weights() / p2), 2 * c.gamma * c.delta * held};
    });
  }
}

TEST_CASE("data+pipeline: every replica is a pipeline, stages exchange their gradients at the same time") {
  Random random(14);
  for (int i = 0; i < cases_per_row; ++i) {
    Case c = random_case(random, Shape::any, random.whole(2, 10));
    c.plan.mesh.set(Axis::data, random.whole(2, 32));
    c.plan.mesh.set(Axis::pipeline, random.whole(2, static_cast<int>(c.layers.size())));
    c.plan.micro_batches = random.whole(1, 16);
    set_batch(c, random.whole(1, 8));
    check_against(c, [&](const Job& job) { return pipeline(c, job); });
  }
}

}  // namespace

}  // namespace table_three_tests
