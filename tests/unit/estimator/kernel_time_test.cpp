#include "estimator/kernels/kernel_time.hpp"

#include <utility>
#include <vector>

#include "estimator/facts/preconditioners.hpp"
#include "estimator/layers/layer_costs.hpp"
#include "estimator/layers/matrix_update.hpp"
#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/unit/estimator/nodes_of_four.hpp"
#include "tests/unit/estimator/small_models.hpp"

namespace {

using namespace ddl;

Model two_convolutions() {
  return parse_model(R"(format: 1
model: two-convolutions
input: {channels: 64, size: 32x32}
layers:
  - convolution: {filters: 64, kernel: 3, padding: same, bias: no}
  - activation: relu
  - convolution: {filters: 64, kernel: 3, padding: same, bias: no}
)",
                     "two.yaml");
}

/// Returns a machine with kernels at half of the datasheet's peak and 4/5 of its bandwidth: 1
/// TFLOP/s, 4 in half precision, 100 GB/s.
Machine half_as_fast_as_its_sheet() {
  Machine machine = nodes_of_four();
  machine.device.peak[Precision::fp32] = FlopRate(2e12);
  machine.device.peak[Precision::fp16] = FlopRate(8e12);
  machine.device.attainable_peak = 0.5;
  machine.device.memory_bandwidth = Bandwidth(125e9);
  machine.device.attainable_bandwidth = 0.8;
  return machine;
}

Machine with_tile(double tile) {
  Machine machine = nodes_of_four();
  machine.device.tile = tile;
  return machine;
}

/// Returns a measurement of two convolutions: 3 ms per sample, with 16 samples at once.
Coefficients measured() {
  Coefficients coefficients;
  coefficients.models.push_back({"two-convolutions", Precision::fp32, 16, Seconds(3e-3), "by hand"});
  return coefficients;
}

double step_time(const KernelTimes& kernels, double batch) {
  double sum = 0;
  for (const LayerTimes& layer : kernels.serial())
    sum += (layer.forward + layer.backward).value() * batch + layer.update.value();
  return sum;
}

LayerCosts costs_of(const OwnedJob& owned, const Plan& plan, int layer) {
  const LayerKinds kinds = layer_kinds(owned.facts, owned.kernels.serial(), {});
  return LayerCostTable(owned.job, plan, kinds).at(layer);
}

TEST_CASE("the host launches the messages of a halo and the copies that join them with a tile") {
  const OwnedJob owned(two_convolutions(), nodes_of_four(), Assumptions{}, 1);
  Plan plan;
  plan.mesh.set_tiles({4, 1, 1});
  plan.global_batch = 1;
  // Forward has two messages and two copies. Backward has two messages and three copies, except in the first layer, because
  // its input needs no gradient.
  const LayerCosts first = costs_of(owned, plan, 0), second = costs_of(owned, plan, 2);
  CHECK(first[LayerCount::forward_exchanges] == 4);
  CHECK(first[LayerCount::backward_exchanges] == 0);
  CHECK(second[LayerCount::forward_exchanges] == 4);
  CHECK(second[LayerCount::backward_exchanges] == 5);
}

TEST_CASE("a convolution takes the time of its arithmetic at the attainable peak") {
  const OwnedJob owned(two_convolutions(), half_as_fast_as_its_sheet(), Assumptions{}, 1);
  const std::vector<LayerTimes>& serial = owned.kernels.serial();
  // 2 · 64 filters · 32 · 32 positions · 64 channels · 3 · 3 = 75,497,472 operations per sample run at 1e12/s. Traffic would
  // take less time: (2 · 65,536 + 36,864/32 elements) · 4 B at 1e11 B/s = 5.3 us.
  const double pass = 75.497472e-6;
  CHECK(serial[0].forward.value() == Approx(pass));
  CHECK(serial[2].forward.value() == Approx(pass));
  // Backward is the gradient of the weights, and the gradient of the input unless this is the model's input.
  CHECK(serial[0].backward.value() == Approx(pass));
  CHECK(serial[2].backward.value() == Approx(2 * pass));
}

TEST_CASE("an activation takes the time of its memory traffic at the attainable bandwidth") {
  const OwnedJob owned(two_convolutions(), half_as_fast_as_its_sheet(), Assumptions{}, 1);
  // 65,536 elements of 4 B at 1e11 B/s take 2.62144 us. Forward has one read and one write, backward
  // has two reads and one write.
  CHECK(owned.kernels.serial()[1].forward.value() == Approx(2 * 2.62144e-6));
  CHECK(owned.kernels.serial()[1].backward.value() == Approx(3 * 2.62144e-6));
  CHECK(owned.kernels.serial()[1].update.value() == 0);
}

TEST_CASE("weights are read once for any batch, so a matrix product with a small batch is memory-bound") {
  const OwnedJob owned(two_convolutions(), half_as_fast_as_its_sheet(), Assumptions{}, 1);
  // The product with a matrix of 1000 × 1000 has 2e6 operations and 2000 elements per sample, and 1e6 elements once.
  const Work work{.flops = 2e6, .activation_items = 2000, .weight_items = 1e6, .m = 1, .n = 1000, .k = 1000};
  // (2000 + 1e6) · 4 B / 1e11 = 40.08 us is longer than 2e6/1e12 = 2 us.
  CHECK(owned.kernels.kernel_time(work, Pass::forward, 1, Precision::fp32).value() == Approx(40.08e-6));
  // 100 · 2e6/1e12 = 200 us is longer than (2e5 + 1e6) · 4 B / 1e11 = 48 us.
  CHECK(owned.kernels.kernel_time(work, Pass::forward, 100, Precision::fp32).value() == Approx(200e-6));
}

TEST_CASE(
    "matrix products run at the precision's peak, other kernels at fp32's peak, and elements have the precision's size") {
  const OwnedJob half(two_convolutions(), half_as_fast_as_its_sheet(), Assumptions{}, 1, std::nullopt, Precision::fp16);
  const Work product{.flops = 4e6, .m = 10, .n = 10, .k = 10};
  CHECK(half.kernels.kernel_time(product, Pass::forward, 1, half.kernels.precision()).value() ==
        Approx(1e-6));  // 4e6 / 4e12
  const Work elements{.flops = 4e6};
  CHECK(half.kernels.kernel_time(elements, Pass::forward, 1, half.kernels.precision()).value() ==
        Approx(4e-6));  // 4e6 / 1e12
  const Work traffic{.activation_items = 1e6};
  CHECK(half.kernels.kernel_time(traffic, Pass::forward, 1, half.kernels.precision()).value() ==
        Approx(20e-6));  // 1e6 · 2 B / 1e11
  // tf32 is not in the datasheet, so it has fp32's peak, and four bytes.
  const OwnedJob tf32(two_convolutions(), half_as_fast_as_its_sheet(), Assumptions{}, 1, std::nullopt, Precision::tf32);
  CHECK(tf32.kernels.kernel_time(product, Pass::forward, 1, tf32.kernels.precision()).value() == Approx(4e-6));
  CHECK(tf32.kernels.kernel_time(traffic, Pass::forward, 1, tf32.kernels.precision()).value() == Approx(40e-6));
}

TEST_CASE("the sides of a product's output are rounded up to the tile, but the length of its sum is not") {
  const OwnedJob owned(two_convolutions(), with_tile(16), Assumptions{}, 1);
  const auto time = [&](double m, double n, double k, Work::Batched batched) {
    return owned.kernels
        .kernel_time({.flops = 1e6, .m = m, .n = n, .k = k, .batched = batched}, Pass::forward, 2, owned.kernels.precision())
        .value();
  };
  // Two samples of 1e6 operations take 2 us without rounding. m = 2 · 10 = 20 → 32, n = 20 → 32: 2 us · 1.6 · 1.6
  CHECK(time(10, 20, 5, Work::Batched::m) == Approx(5.12e-6));
  // m = 10 → 16, n = 2 · 20 = 40 → 48: 2 us · 1.6 · 1.2
  CHECK(time(10, 20, 5, Work::Batched::n) == Approx(3.84e-6));
  // m = 10 → 16, n = 20 → 32: 2 us · 1.6 · 1.6, both if the samples lengthen the sum and if they are separate products
  CHECK(time(10, 20, 5, Work::Batched::k) == Approx(5.12e-6));
  CHECK(time(10, 20, 5, Work::Batched::count) == Approx(5.12e-6));
  CHECK(time(10, 20, 500, Work::Batched::k) == Approx(5.12e-6));
  // m = 2 · 8 and n = 48 are multiples of the tile.
  CHECK(time(8, 48, 5, Work::Batched::m) == Approx(2e-6));
}

TEST_CASE("a tile of one rounds nothing, not even fractions") {
  const OwnedJob owned(two_convolutions(), with_tile(1), Assumptions{}, 1);
  CHECK(owned.kernels.kernel_time({.flops = 1e6, .m = 2.5, .n = 0.5, .k = 1}, Pass::forward, 1, owned.kernels.precision())
            .value() == Approx(1e-6));
}

TEST_CASE("a measured total is distributed over the layers, whose times add up to the total") {
  const OwnedJob owned(two_convolutions(), nodes_of_four(), Assumptions{}, 1, std::nullopt, Precision::fp32,
                       Optimizer::momentum, measured());
  CHECK(owned.kernels.origin() == KernelBasis::measured_total);
  CHECK(owned.kernels.reference_batch() == 16);
  CHECK(step_time(owned.kernels, 16) == Approx(16 * 3e-3));
  // Each layer has a share by its roofline time: (75.497 + 75.497) : (5.243 + 7.864) : (75.497 + 151)
  const std::vector<LayerTimes>& serial = owned.kernels.serial();
  const double relu = (serial[1].forward + serial[1].backward).value();
  CHECK((serial[0].forward + serial[0].backward).value() / relu == Approx(2 * 75.497472 / (5 * 2.62144)));
  CHECK((serial[2].forward + serial[2].backward).value() / relu == Approx(3 * 75.497472 / (5 * 2.62144)));
  // Kernels of all shapes are scaled equally.
  const OwnedJob sheet(two_convolutions(), nodes_of_four(), Assumptions{}, 1);
  const Work work{.flops = 1e9};
  CHECK(owned.kernels.kernel_time(work, Pass::forward, 3, Precision::fp32).value() ==
        Approx(owned.kernels.scale() * sheet.kernels.kernel_time(work, Pass::forward, 3, Precision::fp32).value()));
  CHECK(owned.kernels.scale() > 1);
}

TEST_CASE("a measured total is the time of kernels in tiles") {
  // 64 filters in tiles of 128 take twice their time. A sum that ignored the tiles would be too long.
  const OwnedJob owned(two_convolutions(), with_tile(128), Assumptions{}, 1, std::nullopt, Precision::fp32,
                       Optimizer::momentum, measured());
  CHECK(step_time(owned.kernels, 16) == Approx(16 * 3e-3));
}

TEST_CASE("a measured total includes the update of momentum, from which the update of another optimizer is scaled") {
  const auto update = [](Optimizer optimizer) {
    const OwnedJob owned(two_convolutions(), nodes_of_four(), Assumptions{}, 1, std::nullopt, Precision::fp32, optimizer,
                         measured());
    return owned.kernels.serial()[0].update.value();
  };
  CHECK(update(Optimizer::sgd) == Approx(update(Optimizer::momentum) * 12 / 20));
  CHECK(update(Optimizer::adam) == Approx(update(Optimizer::momentum) * 28 / 20));
  const OwnedJob adam(two_convolutions(), nodes_of_four(), Assumptions{}, 1, std::nullopt, Precision::fp32, Optimizer::adam,
                      measured());
  CHECK(step_time(adam.kernels, 16) > 16 * 3e-3);
}

TEST_CASE("a measurement applies only to its own model and precision") {
  const Coefficients coefficients = measured();
  const OwnedJob half(two_convolutions(), nodes_of_four(), Assumptions{}, 1, std::nullopt, Precision::fp16,
                      Optimizer::momentum, coefficients);
  CHECK(half.kernels.origin() == KernelBasis::roofline);
  CHECK(half.kernels.scale() == 1);
  CHECK_FALSE(measured_scale(half.facts, half.machine.device, coefficients, Precision::fp16).has_value());

  Model other = two_convolutions();
  other.name = "other";
  const OwnedJob renamed(std::move(other), nodes_of_four(), Assumptions{}, 1, std::nullopt, Precision::fp32,
                         Optimizer::momentum, coefficients);
  CHECK(renamed.kernels.origin() == KernelBasis::roofline);
  CHECK_FALSE(measured_scale(renamed.facts, renamed.machine.device, coefficients, Precision::fp32).has_value());
}

TEST_CASE("the scale of other models applies to models that were never measured") {
  const OwnedJob owned(two_convolutions(), nodes_of_four(), Assumptions{}, 1);
  const Device& device = owned.machine.device;
  const KernelTimes sheet(owned.facts, device, {}, Precision::fp32, Optimizer::momentum, std::nullopt);
  const KernelTimes scaled(owned.facts, device, {}, Precision::fp32, Optimizer::momentum, KernelScale{1.5});
  CHECK(scaled.origin() == KernelBasis::device_scale);
  CHECK(step_time(scaled, 7) == Approx(1.5 * step_time(sheet, 7)));
  CHECK(scaled.update_cost(1e6).time.value() == Approx(1.5 * sheet.update_cost(1e6).time.value()));

  const KernelTimes own(owned.facts, device, measured(), Precision::fp32, Optimizer::momentum, KernelScale{1.5});
  CHECK(own.origin() == KernelBasis::measured_total);
  CHECK(step_time(own, 16) == Approx(16 * 3e-3));
  CHECK(measured_scale(owned.facts, device, measured(), Precision::fp32).value() == Approx(own.scale()));
}

TEST_CASE("an update moves weight, gradient and slots") {
  // The update reads weight and gradient and writes the weight: 3 words of 4 B. Each slot adds a read and a write.
  CHECK(update_bytes_per_parameter(Optimizer::sgd, Precision::fp32) == 12);
  CHECK(update_bytes_per_parameter(Optimizer::momentum, Precision::fp32) == 20);
  CHECK(update_bytes_per_parameter(Optimizer::adam, Precision::fp32) == 28);
  CHECK(update_bytes_per_parameter(Optimizer::adam, Precision::tf32) == 28);
  // In mixed precision, 4 B of master copy are read and written, 2 B of gradient are read, and 2 B
  // of weight are written. Slots are in fp32 as well.
  CHECK(update_bytes_per_parameter(Optimizer::sgd, Precision::fp16) == 4 + 4 + 2 + 2);
  CHECK(update_bytes_per_parameter(Optimizer::momentum, Precision::bf16) == 4 + 4 + 2 + 2 + 8);
  CHECK(update_bytes_per_parameter(Optimizer::adam, Precision::fp16) == 4 + 4 + 2 + 2 + 16);
  // With unfused operators, Adam moves 18 words.
  CHECK(update_bytes_per_parameter(Optimizer::adam, Precision::fp32, UpdateImplementation::foreach) == 72);
  // LAMB reads gradients, weights and updates for their norms, and writes and reads the updates: 5 words more.
  CHECK(update_bytes_per_parameter(Optimizer::lamb, Precision::fp32) == 28 + 20);
  CHECK(update_bytes_per_parameter(Optimizer::lamb, Precision::fp32, UpdateImplementation::foreach) == 28 + 20);
  // LARS reads weights and gradients for their norms.
  CHECK(update_bytes_per_parameter(Optimizer::lars, Precision::fp32) == 20 + 8);
  // Two moments of a byte are read and written, and a scale of 4 bytes for 2048 of them.
  CHECK(update_bytes_per_parameter(Optimizer::adam8bit, Precision::fp32) == Approx(12 + 4 * (1 + 4.0 / 2048)));
  CHECK(update_bytes_per_parameter(Optimizer::rowwise_adagrad, Precision::fp32) == 12);
}

TEST_CASE("Muon's update multiplies the matrices of blocks") {
  const OwnedJob owned(small_transformer(2), half_as_fast_as_its_sheet(), Assumptions{}, 1);
  Plan plan;
  plan.global_batch = 1;
  plan.optimizer = Optimizer::muon;
  ShardContext context{owned.facts, plan, owned.assumptions, 0, {}};
  LayerShard shard;
  int matrices = 0;
  for (; context.index() < owned.model.layers.size(); ++context.layer) {
    shard_layer(context, shard);
    const MatrixUpdate update = matrix_update(owned.job, context, shard);
    const Layer& layer = context.at();
    const bool is_matrix = layer.block >= 0 && layer.operation->type() == "fully_connected";
    if (is_matrix) ++matrices;
    CHECK((update.time > Seconds{}) == is_matrix);
    CHECK(update.parameters == (is_matrix ? static_cast<double>(layer.weights) : 0.0));
    // Adam moves 28 bytes for each of the other parameters, and Muon 20.
    CHECK(update.factor == Approx(is_matrix ? 1 : 28.0 / 20));
  }
  CHECK(matrices > 0);
}

TEST_CASE("K-FAC, Shampoo and SOAP multiply the gradients of matrices") {
  const OwnedJob owned(small_transformer(2), half_as_fast_as_its_sheet(), Assumptions{}, 1);
  Plan plan;
  plan.global_batch = 4;
  plan.micro_batches = 2;
  ShardContext context{owned.facts, plan, owned.assumptions, 0, {}};
  LayerShard shard;
  const auto work_of = [&](double m, double n, double k) {
    const Work work{.flops = 2 * m * n * k,
                    .activation_items = m * k + m * n,
                    .weight_items = k * n,
                    .m = m,
                    .n = n,
                    .k = k,
                    .kind = KernelKind::matrix_product};
    return owned.kernels.kernel_time(work, Pass::forward, 1, Precision::fp32).value();
  };
  int matrices = 0;
  for (; context.index() < owned.model.layers.size(); ++context.layer) {
    const std::optional<WeightMatrices> weights = preconditioned_weights(owned.facts, context.index());
    if (!weights) continue;
    ++matrices;
    const double r = weights->rows, c = weights->columns;
    shard_layer(context, shard);
    // A product of r²c and one of rc² multiply-adds.
    const double both = work_of(r, c, r) + work_of(r, c, c), cubes = work_of(r, r, r) + work_of(c, c, c);
    plan.optimizer = Optimizer::kfac;
    MatrixUpdate update = matrix_update(owned.job, context, shard);
    CHECK(update.time.value() == Approx(2 * both));
    // 9n³ FLOPs are 4.5 products of 2n³, every 100 steps.
    CHECK(update.distributed.value() == Approx(cubes * 4.5 / 100));
    const double positions = shard.samples * 2 * static_cast<double>(shard.output.positions());
    CHECK(update.of_batch.value() == Approx((work_of(r, r, positions) + work_of(c, c, positions)) / 10));
    CHECK(update.summed == Approx((r * r + c * c) / 10));
    CHECK(update.gathered == Approx((r * r + c * c + r * c) / 100));
    plan.optimizer = Optimizer::shampoo;
    update = matrix_update(owned.job, context, shard);
    CHECK(update.time.value() == 0);
    CHECK(update.distributed.value() == Approx(2 * both + cubes * 5.5 / 100));
    CHECK(update.gathered == Approx(r * c));
    plan.optimizer = Optimizer::soap;
    update = matrix_update(owned.job, context, shard);
    // Two products and an iteration of 2n³ FLOPs, and 8n³/3 of the QR decomposition, every 10 steps.
    CHECK(update.time.value() == Approx(5 * both + cubes * (3 + 4.0 / 3) / 10));
    CHECK(update.gathered == 0);
  }
  CHECK(matrices > 0);
}

TEST_CASE("SOAP has no matrix for a long side, and Shampoo divides it into blocks") {
  const WeightMatrices weights{16384, 100, 1};
  // The sums of a side and their eigenvectors; without the side of 16,384.
  CHECK(preconditioner_items(Optimizer::soap, weights) == 2 * 100 * 100);
  // Two blocks of 8,192 rows.
  CHECK(preconditioner_items(Optimizer::shampoo, weights) == 2 * 2 * (8192.0 * 8192 + 100 * 100));
  CHECK(preconditioner_items(Optimizer::kfac, weights) == 2 * (16384.0 * 16384 + 100 * 100) + 16384.0 * 100);
  CHECK(preconditioner_items(Optimizer::adam, weights) == 0);
}

TEST_CASE("an update takes the time of its memory traffic at the attainable bandwidth") {
  const OwnedJob owned(two_convolutions(), half_as_fast_as_its_sheet(), Assumptions{}, 1);
  // With momentum, the time is 36,864 weights · 20 B / 1e11.
  CHECK(owned.kernels.serial()[0].update.value() == Approx(7.3728e-6));
  CHECK(owned.kernels.update_cost(36864).time.value() == Approx(7.3728e-6));
}

TEST_CASE("without measurements, split filters thinner than a tile save no time") {
  const OwnedJob owned(two_convolutions(), with_tile(64), Assumptions{}, 1);
  Plan serial;
  serial.global_batch = 8;
  Plan split = serial;
  split.mesh.set(Axis::filter, 4);
  // 16 of 64 filters are a quarter of the work, which is rounded up to four times as much.
  CHECK(costs_of(owned, split, 2)[LayerTime::forward].value() ==
        Approx(costs_of(owned, serial, 2)[LayerTime::forward].value()));
  // In backward, the output of the weights' gradient has a side of 16 filters, which is rounded up to 64, and a side of 576.
  // This gradient takes as long as without the split, which is half of the pass. The gradient of the input, 8,192 by 64,
  // sums over a quarter of the filters, so its half of the pass shrinks to an eighth.
  CHECK(costs_of(owned, split, 2)[LayerTime::backward].value() ==
        Approx(costs_of(owned, serial, 2)[LayerTime::backward].value() * (0.5 + 0.125)));
  // With tiles that fit, the whole time is divided.
  const OwnedJob finer(two_convolutions(), with_tile(16), Assumptions{}, 1);
  CHECK(costs_of(finer, split, 2)[LayerTime::forward].value() ==
        Approx(costs_of(finer, serial, 2)[LayerTime::forward].value() / 4));
}

TEST_CASE("a measured share of a layer's time is not divided by a split") {
  Coefficients coefficients;
  coefficients.filter_undivided = UndividedFraction{0.3};
  coefficients.channel_undivided = UndividedFraction{0.6};
  const OwnedJob owned(two_convolutions(), with_tile(64), Assumptions{}, 1, std::nullopt, Precision::fp32,
                       Optimizer::momentum, coefficients);
  Plan serial;
  serial.global_batch = 8;
  const LayerCosts whole = costs_of(owned, serial, 2);
  const auto expect = [&](int filter, int channel, double factor) {
    Plan plan = serial;
    plan.mesh.set(Axis::filter, filter);
    plan.mesh.set(Axis::channel, channel);
    const LayerCosts split = costs_of(owned, plan, 2);
    CHECK(split[LayerTime::forward].value() == Approx(whole[LayerTime::forward].value() * factor));
    CHECK(split[LayerTime::backward].value() == Approx(whole[LayerTime::backward].value() * factor));
    // Parameters are divided, and so is their update.
    CHECK(split[LayerTime::update].value() == Approx(whole[LayerTime::update].value() / (filter * channel)));
  };
  expect(4, 1, 0.3 + 0.7 / 4);
  expect(64, 1, 0.3 + 0.7 / 64);
  expect(1, 4, 0.6 + 0.4 / 4);
  expect(2, 4, (0.3 + 0.7 / 2) * (0.6 + 0.4 / 4));
  // Layers without filters are not split, so the activation is replicated.
  Plan plan = serial;
  plan.mesh.set(Axis::filter, 4);
  CHECK(costs_of(owned, plan, 1)[LayerTime::forward] == costs_of(owned, serial, 1)[LayerTime::forward]);
}

TEST_CASE("the undivided share of a layer's time applies only to the measured operation and precision") {
  Plan serial;
  serial.global_batch = 8;
  Plan split = serial;
  split.mesh.set(Axis::filter, 4);
  const auto forward = [&](std::optional<UndividedFraction> measured) {
    Coefficients coefficients;
    coefficients.filter_undivided = std::move(measured);
    const OwnedJob owned(two_convolutions(), with_tile(16), Assumptions{}, 1, std::nullopt, Precision::fp32,
                         Optimizer::momentum, coefficients);
    return costs_of(owned, split, 2)[LayerTime::forward].value() / costs_of(owned, serial, 2)[LayerTime::forward].value();
  };
  CHECK(forward(UndividedFraction{0.3, "convolution", Precision::fp32}) == Approx(0.3 + 0.7 / 4));
  // Tiles of 16 fit, so by formulas the whole time is divided.
  CHECK(forward(std::nullopt) == Approx(0.25));
  CHECK(forward(UndividedFraction{0.3, "fully_connected", Precision::fp32}) == Approx(0.25));
  CHECK(forward(UndividedFraction{0.3, "convolution", Precision::fp16}) == Approx(0.25));
}

TEST_CASE("layers whose times are given scale with the share of the work") {
  const std::vector<LayerTimes> times{
      {Seconds(1), Seconds(2), Seconds(3)}, {Seconds(4), Seconds(5), Seconds(6)}, {Seconds(7), Seconds(8), Seconds(9)}};
  const OwnedJob owned(two_convolutions(), with_tile(64), Assumptions{}, 1, times);
  CHECK(owned.kernels.origin() == KernelBasis::given);
  Plan plan;
  plan.mesh.set(Axis::data, 2);
  plan.mesh.set(Axis::filter, 4);
  plan.global_batch = 10;
  const LayerCosts costs = costs_of(owned, plan, 2);
  CHECK(costs[LayerTime::forward].value() == Approx(7.0 * 5 / 4));
  CHECK(costs[LayerTime::backward].value() == Approx(8.0 * 5 / 4));
  CHECK(costs[LayerTime::update].value() == Approx(9.0 / 4));
}

TEST_CASE("a rank that has a part of a table sets a part of its gradient to zero") {
  const OwnedJob owned(parse_model("format: 1\nmodel: m\ninput: {tokens: 2}\nlayers:\n  - embedding: {vocabulary: 1000000, "
                                   "features: 8}\n  - fully_connected: 8\n",
                                   "m.yaml"),
                       half_as_fast_as_its_sheet(), Assumptions{}, 1000);
  // Backward moves three times 2 · 8 elements, and the elements of the table. Each element has 4 bytes, which are moved at
  // 100 GB/s.
  CHECK(costs_of(owned, Plan{}, 0)[LayerTime::backward].value() == Approx((48 + 8e6) * 4 / 1e11));
  CHECK(costs_of(owned, Plan{.mesh = {{Axis::tensor, 4}}}, 0)[LayerTime::backward].value() == Approx((48 + 2e6) * 4 / 1e11));
  // A layer that shares the table with another layer behaves in the same way.
  const OwnedJob shared(parse_model("format: 1\nmodel: m\ninput: {tokens: 2}\nlayers:\n  - embedding: {vocabulary: 1000000, "
                                    "features: 8}\n    name: words\n  - select: last\n  - input: {tokens: 2}\n"
                                    "    name: others\n  - embedding: {vocabulary: 1000000, features: 8, tied: words}\n"
                                    "  - fully_connected: 8\n",
                                    "m.yaml"),
                        half_as_fast_as_its_sheet(), Assumptions{}, 1000);
  CHECK(costs_of(shared, Plan{.mesh = {{Axis::tensor, 4}}}, 3)[LayerTime::backward].value() ==
        Approx((48 + 2e6) * 4 / 1e11));
  // Whole rows are distributed: of 6 rows, one of four ranks has 2.
  const OwnedJob few(parse_model("format: 1\nmodel: m\ninput: {tokens: 2}\nlayers:\n  - embedding: {vocabulary: 6, "
                                 "features: 1000000}\n  - fully_connected: 8\n",
                                 "m.yaml"),
                     half_as_fast_as_its_sheet(), Assumptions{}, 1000);
  CHECK(costs_of(few, Plan{.mesh = {{Axis::tensor, 4}}}, 0)[LayerTime::backward].value() == Approx((6e6 + 2e6) * 4 / 1e11));
  CHECK(costs_of(few, Plan{.mesh = {{Axis::tensor, 8}}}, 0)[LayerTime::backward].value() == Approx((6e6 + 6e6) * 4 / 1e11));
  // If the features of the table are split instead, both parts are a quarter.
  CHECK(costs_of(owned, Plan{.mesh = {{Axis::filter, 4}}}, 0)[LayerTime::backward].value() == Approx((12 + 2e6) * 4 / 1e11));
}

}  // namespace
