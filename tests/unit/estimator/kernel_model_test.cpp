#include "estimator/kernels/kernel_model.hpp"

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/unit/estimator/nodes_of_four.hpp"

namespace {

using namespace ddl;

/// Returns a device of 2 TFLOP/s, 8 in bf16, with 100 GB/s and 4 multiprocessors.
Device device_with(std::vector<KernelFamily> own, std::vector<KernelFamily> others = {}) {
  Device device = nodes_of_four().device;
  device.peak[Precision::fp32] = FlopRate(2e12);
  device.peak[Precision::fp16] = FlopRate(8e12);
  device.peak[Precision::bf16] = FlopRate(8e12);
  device.attainable_peak = 1;
  device.memory_bandwidth = Bandwidth(100e9);
  device.multiprocessors = 4;
  if (!own.empty())
    device.kernels = std::make_shared<DeviceKernels>(DeviceKernels{.device = "own", .families = std::move(own)});
  if (!others.empty())
    device.other_kernels = std::make_shared<DeviceKernels>(DeviceKernels{.device = "others", .families = std::move(others)});
  return device;
}

KernelFamily elementwise(double start_us, double bandwidth) {
  return {.kind = KernelKind::elementwise,
          .precision = Precision::fp32,
          .constants = {start_us, bandwidth, 0.8, 1000},
          .residuals = {},
          .spread_inside = 0.1,
          .spread_outside = 0.3,
          .rows = 10,
          .source = "test"};
}

/// The constants are: start, peak, bandwidth, sharpness, depth, tile_loss, wave.
KernelFamily products(Precision precision, std::vector<double> constants) {
  return {.kind = KernelKind::matrix_product,
          .pass = Pass::forward,
          .precision = precision,
          .constants = std::move(constants),
          .residuals = {},
          .spread_inside = 0.1,
          .spread_outside = 0.3,
          .rows = 10,
          .source = "test"};
}

Work product(double m, double n, double k) {
  return {.flops = 2 * m * n * k, .activation_items = m * k + k * n + m * n, .m = m, .n = n, .k = k};
}

TEST_CASE("a device without known kernels has roofline times") {
  const Device device = device_with({});
  const KernelModel model(device, Precision::fp32);
  const Roofline roofline(device, Precision::fp32);
  const Work work = product(300, 500, 700);
  CHECK(model.seconds(work, Pass::forward, 3).value() == roofline.time(work, 3).value());
  const KernelTime time = model.time(work, Pass::forward, 3);
  CHECK(time.source == Provenance::roofline);
  CHECK_FALSE(time.low);
  CHECK(model.seconds({}, Pass::forward, 3).value() == 0);
}

TEST_CASE("the time of an elementwise kernel combines launch and memory traffic, and the longer of the two dominates") {
  const Device device = device_with({elementwise(3, 0.5)});
  const KernelModel model(device, Precision::fp32);
  // 1000 elements of 4 bytes at 50 GB/s take 80 ns, which a launch of 3 us hides. 10⁹ elements take 80 ms.
  const double small = model.seconds({.activation_items = 1e3}, Pass::forward, 1).value();
  CHECK(small == Approx(std::hypot(3e-6, 80e-9)));
  const double large = model.seconds({.activation_items = 1e9}, Pass::forward, 1).value();
  CHECK(large == Approx(80e-3));
  // In 16 bits, the same constants apply to half of the bytes.
  const KernelModel half(device, Precision::bf16);
  CHECK(half.seconds({.activation_items = 1e9}, Pass::forward, 1).value() == Approx(40e-3));
  CHECK(half.traffic_time(1e9).value() == Approx(20e-3));
}

TEST_CASE("the time of a matrix product depends on full tiles and waves, and its sums have a start-up") {
  // A peak of 0.5 is 4 TFLOP/s. Small tiles and short sums lose nothing, and memory is no limit.
  const Device device = device_with({products(Precision::bf16, {1, 0.5, 2, 8, 1, 0.995, 0.99})});
  const KernelModel model(device, Precision::bf16);
  // An output of 512 × 512 has four tiles of 256, which are one wave of four multiprocessors.
  const double whole = 2.0 * 512 * 512 * 4096 / 4e12;
  CHECK(model.seconds(product(512, 512, 4096), Pass::forward, 1).value() == Approx(1e-6 + whole).epsilon(0.002));
  // One more row of the output needs another row of tiles. With tiles of 64 × 64, 72 tiles in 18 waves replace 64 tiles in
  // 16 waves.
  const double more = model.seconds(product(513, 512, 4096), Pass::forward, 1).value();
  CHECK(more > 1.05 * (1e-6 + whole));
  // Samples that are rows count as rows.
  Work rows = product(1, 512, 4096);
  rows.batched = Work::Batched::m;
  rows.activation_items = 4096 + 512;
  rows.weight_items = 4096 * 512;
  CHECK(model.seconds(rows, Pass::forward, 512).value() ==
        Approx(model.seconds(product(512, 512, 4096), Pass::forward, 1).value()));
}

TEST_CASE("without matrix units, products in half precision take as long as in single precision") {
  // Families of other devices have half precision at 0.5 of the peak, and single precision at 0.8.
  Device device = device_with({}, {products(Precision::bf16, {1, 0.5, 2, 8, 1, 0.995, 0.99}),
                                   products(Precision::fp32, {1, 0.8, 2, 8, 1, 0.995, 0.99}), elementwise(3, 0.5)});
  const Work work = product(512, 512, 4096);
  const auto ratio = [&](double capability) {
    device.compute_capability = capability;
    const KernelModel half(device, Precision::bf16), single(device, Precision::fp32);
    CHECK(half.seconds({.activation_items = 1e9}, Pass::forward, 1).value() ==
          Approx(single.seconds({.activation_items = 1e9}, Pass::forward, 1).value() / 2));
    CHECK(half.least(work, Pass::forward, 1) <= half.seconds(work, Pass::forward, 1));
    return half.seconds(work, Pass::forward, 1).value() / single.seconds(work, Pass::forward, 1).value();
  };
  CHECK(ratio(6.1) == Approx(1));
  CHECK(ratio(7.0) < 0.9);
  // On such a device, a convolution in channels-first order needs no copies.
  Assumptions first;
  first.memory_format = MemoryFormat::channels_first;
  Work window = work;
  window.kind = KernelKind::convolution;
  for (const double capability : {6.1, 7.0}) {
    device.compute_capability = capability;
    const double as_it_lies = KernelModel(device, Precision::bf16).seconds(window, Pass::forward, 1).value();
    const double copied = KernelModel(device, Precision::bf16, first).seconds(window, Pass::forward, 1).value();
    CHECK((copied > as_it_lies) == (capability >= 7.0));
  }
}

TEST_CASE("a reduced power limit slows products down, and memory-bound kernels only below what they draw") {
  Device device = device_with({}, {products(Precision::fp32, {1, 0.8, 2, 8, 1, 0.995, 0.99}), elementwise(3, 0.5)});
  device.power = 400;
  const Work work = product(512, 512, 4096), moved{.activation_items = 1e9};
  const auto slower = [&](const Work& of, double watts) {
    Assumptions assumptions;
    assumptions.power_limit = watts;
    const KernelModel limited(device, Precision::fp32, assumptions, Conditions::training);
    const KernelModel own(device, Precision::fp32, {}, Conditions::training);
    CHECK(limited.least(of, Pass::forward, 1) <= limited.seconds(of, Pass::forward, 1));
    return limited.seconds(of, Pass::forward, 1) / own.seconds(of, Pass::forward, 1);
  };
  CHECK(slower(work, 400) == Approx(1));
  CHECK(slower(work, 200) ==
        Approx(1 / std::cbrt(0.4166667)));  // as in power_test, far above the clock of the least voltage
  CHECK(slower(moved, 200) == Approx(1));
  CHECK(slower(moved, 160) == Approx(1 / std::cbrt(0.72)));
  // Kernels that are not in a training are at their own clock.
  Assumptions assumptions;
  assumptions.power_limit = 200;
  CHECK(KernelModel(device, Precision::fp32, assumptions).seconds(work, Pass::forward, 1) ==
        KernelModel(device, Precision::fp32).seconds(work, Pass::forward, 1));
}

TEST_CASE("volume convolutions transpose their tensors if their software does, except in half precision") {
  Device device = device_with({}, {products(Precision::bf16, {1, 0.5, 2, 8, 1, 0.995, 0.99}), elementwise(3, 0.5)});
  Work volume = product(512, 512, 4096);
  volume.kind = KernelKind::convolution, volume.is_volume = true;
  const auto seconds = [&device](const Work& work, Precision precision, MemoryFormat format, bool copies) {
    Assumptions assumptions;
    assumptions.memory_format = format, assumptions.copies_volumes = copies;
    return KernelModel(device, precision, assumptions).seconds(work, Pass::forward, 1).value();
  };
  constexpr auto first = MemoryFormat::channels_first, last = MemoryFormat::channels_last;
  const double as_it_lies = seconds(volume, Precision::fp32, last, false);
  const double turned = seconds(volume, Precision::fp32, last, true);
  // Each element that the convolution moves is read and written once more, 4 bytes each time, at half of 100 GB/s.
  CHECK(turned - as_it_lies == Approx(2 * volume.activation_items * 4 / 50e9).epsilon(0.01));
  CHECK(seconds(volume, Precision::bf16, last, true) == seconds(volume, Precision::bf16, last, false));
  // In tf32, matrix units need their own copies in addition.
  const double once = seconds(volume, Precision::tf32, first, false) - seconds(volume, Precision::tf32, last, false);
  const double twice = seconds(volume, Precision::tf32, first, true) - seconds(volume, Precision::tf32, last, false);
  CHECK(once > 0);
  CHECK(twice == Approx(2 * once));
  // A transposed convolution is converted too, although it needs no other copies.
  Work transposed = volume;
  transposed.kind.reset();
  CHECK(seconds(transposed, Precision::fp32, first, true) > seconds(transposed, Precision::fp32, first, false));
  Work image = volume;
  image.is_volume = false;
  CHECK(seconds(image, Precision::fp32, last, true) == seconds(image, Precision::fp32, last, false));
  // The copies are only made by kernels of GPUs.
  device.is_processor = true;
  CHECK(seconds(volume, Precision::fp32, last, true) == seconds(volume, Precision::fp32, last, false));
}

TEST_CASE("batch norms with half-precision weights use the framework's own kernels if the software file states that") {
  KernelFamily norms = elementwise(3, 0.5);
  norms.kind = KernelKind::batch_norm;
  const Device device = device_with({norms, elementwise(3, 0.9)});
  const auto seconds = [&device](Precision precision, MixedPrecision mixed, bool own, KernelKind kind) {
    Assumptions assumptions;
    assumptions.mixed_precision = mixed, assumptions.own_half_norms = own;
    // A framework with unfused operators may use a library's norms.
    assumptions.composites = CompositeKernels::operators;
    return KernelModel(device, precision, assumptions)
        .seconds({.activation_items = 1e9, .kind = kind}, Pass::forward, 1)
        .value();
  };
  constexpr auto norm = KernelKind::batch_norm;
  const double single = seconds(Precision::fp32, MixedPrecision::half_gradients, true, norm);
  CHECK(seconds(Precision::fp16, MixedPrecision::half_gradients, true, norm) == Approx(single));
  CHECK(seconds(Precision::bf16, MixedPrecision::full_gradients, true, norm) == Approx(single));
  CHECK(seconds(Precision::fp16, MixedPrecision::autocast, true, norm) == Approx(single / 2));
  CHECK(seconds(Precision::fp16, MixedPrecision::half_gradients, false, norm) == Approx(single / 2));
  constexpr auto plain = KernelKind::elementwise;
  CHECK(seconds(Precision::fp16, MixedPrecision::half_gradients, true, plain) ==
        Approx(seconds(Precision::fp32, MixedPrecision::half_gradients, true, plain) / 2));
}

TEST_CASE("the multiply-adds per cycle of a multiprocessor follow from its compute capability") {
  Device device = device_with({});
  const auto cycles = [&device](double capability) {
    device.compute_capability = capability;
    return device_peaks(device, Precision::fp32).cycle_rate;
  };
  CHECK(cycles(3.7) * 192 == Approx(cycles(6.1) * 128));
  CHECK(cycles(7.0) * 64 == Approx(cycles(6.1) * 128));
}

TEST_CASE("GPUs whose number of multiprocessors is unknown have Winograd convolutions, TPUs and accelerators have none") {
  Device gpu = device_with({});
  gpu.multiprocessors = std::nullopt;
  REQUIRE_FALSE(gpu.compute_capability);
  CHECK(device_peaks(gpu, Precision::fp32).has_fast_convolutions);
  CHECK_FALSE(device_peaks(gpu, Precision::bf16).has_fast_convolutions);
  Device processor = gpu, tpu = gpu, accelerator = gpu;
  processor.is_processor = tpu.is_tpu = accelerator.is_accelerator = true;
  CHECK(device_peaks(processor, Precision::fp32).has_fast_convolutions);
  CHECK_FALSE(device_peaks(tpu, Precision::fp32).has_fast_convolutions);
  CHECK_FALSE(device_peaks(accelerator, Precision::fp32).has_fast_convolutions);
}

TEST_CASE("measured neighbors correct the formula more if they are near, and not at all far away") {
  KernelFamily family = products(Precision::bf16, {1, 0.5, 2, 8, 1, 0.995, 0.99});
  const KernelShape shape = shape_of(product(512, 512, 4096), 1, 2);
  family.residuals = {{place_of(shape), std::log(2.0F)}};
  const Device plain = device_with({products(Precision::bf16, family.constants)});
  const Device corrected = device_with({family});
  const KernelModel without(plain, Precision::bf16), with(corrected, Precision::bf16);
  const auto ratio = [&](const Work& work) {
    return with.seconds(work, Pass::forward, 1).value() / without.seconds(work, Pass::forward, 1).value();
  };
  CHECK(ratio(product(512, 512, 4096)) == Approx(2));
  CHECK(ratio(product(1024, 512, 4096)) < 2);
  CHECK(ratio(product(1024, 512, 4096)) > 1.8);
  CHECK(ratio(product(524288, 524288, 8)) < 1.15);
  // Near measured rows, the interval has the spread of held-out rows. Far from measured rows, the interval has the spread of
  // the formula.
  const KernelTime near = with.time(product(512, 512, 4096), Pass::forward, 1);
  CHECK(near.high->value() == Approx(near.time.value() * std::exp(0.1)));
  CHECK(near.source == Provenance::curve);
  const KernelTime far = with.time(product(65536, 8192, 16384), Pass::forward, 1);
  CHECK(far.low->value() == Approx(far.time.value() / std::exp(0.3)));
}

/// The constants are: start, peak, bandwidth, sharpness, depth, tile_loss, wave, fused_tiles,
/// separate_tiles, transforms, spreading, operands.
KernelFamily convolutions(double operands) {
  KernelFamily family = products(Precision::bf16, {1, 0.5, 2, 8, 1, 0.995, 0.99, 0.6, 0.7, 0.75, 0.001, operands});
  family.kind = KernelKind::convolution;
  family.pass = std::nullopt;
  return family;
}

Work convolution(double m, double n, double k) {
  Work work = product(m, n, k);
  work.kind = KernelKind::convolution;
  return work;
}

TEST_CASE("narrow tiles of a convolution wait for their operands in all passes") {
  constexpr double start = 1e-6, enough = 1000, scarce = 4;
  const auto slower = [](double operands, double filters, Pass pass) {
    const Device device = device_with({}, {convolutions(operands)});
    const KernelModel model(device, Precision::bf16);
    const bool is_weights = pass == Pass::backward_weight;
    const Work work = is_weights ? convolution(filters, 4096, 65536) : convolution(65536, filters, 4096);
    return (model.seconds(work, pass, 1).value() - start) / (work.flops / 4e12);
  };
  for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_weight}) {
    // There is no limit by operands, and the smallest tile has lost half a percent five times.
    CHECK(slower(enough, 32, pass) == Approx(1).epsilon(0.03));
    // At 4 TFLOP/s, tiles of a by b read operands at 4 TB/s · (1/a + 1/b). Tiles of 32 by 64 read at a 21st of 4 TB/s, and
    // tiles of 256 by 256 at a 128th.
    const double cycles = device_peaks(device_with({}), Precision::bf16).cycle_rate;
    const double reading = 4e12 / (cycles * scarce);
    CHECK(slower(scarce, 32, pass) == Approx(reading * (1.0 / 32 + 1.0 / 64)).epsilon(0.03));
    CHECK(slower(scarce, 4096, pass) < slower(scarce, 32, pass) / 4);
  }
}

TEST_CASE("image tiles of a 3 x 3 window need fewer multiplications, and pad the edges") {
  // The rates are 0.5 TFLOP/s for implicit products and for tiles of 2 × 2 in one kernel, and 0.2
  // TFLOP/s for tiles of 4 × 4, in waves with few idle multiprocessors.
  KernelFamily family = products(Precision::fp32, {1, 0.25, 2, 8, 0.1, 0.9995, 0.01, 0.25, 0.1, 1.5, 0.001, 1000});
  family.kind = KernelKind::convolution;
  family.pass = std::nullopt;
  const Device device = device_with({family});
  const KernelModel model(device, Precision::fp32);
  const auto rate = [&](double side, Pass pass) {
    const double positions = 4096 * side * side, channels = 1024;
    Work work = pass == Pass::backward_weight ? convolution(channels, 9 * channels, positions)
                                              : convolution(positions, channels, 9 * channels);
    work.activation_items = 2 * positions * channels, work.weight_items = 9 * channels * channels;
    work.square3_rows = work.square3_columns = side;
    work.sums_positions = pass == Pass::backward_weight;
    const double time = model.seconds(work, pass, 1).value();
    CHECK(model.least(work, pass, 1).value() <= time);
    return work.flops / time;
  };
  for (const Pass pass : {Pass::forward, Pass::backward_data}) {
    // There are 16 multiplications in place of 36, at half of the rate. 7 positions need four tiles of two.
    CHECK(rate(8, pass) == Approx(0.5e12 * 36 / 16).epsilon(0.03));
    CHECK(rate(7, pass) == Approx(0.5e12 * 36 / 16 * 49 / 64).epsilon(0.03));
  }
  // Gradients of weights only have tiles of 4 × 4, with 36 multiplications in place of 144.
  CHECK(rate(8, Pass::backward_weight) == Approx(0.2e12 * 144 / 36).epsilon(0.03));
  CHECK(rate(7, Pass::backward_weight) == Approx(0.2e12 * 144 / 36 * 49 / 64).epsilon(0.03));
  // Implicit products are better if tiles are mostly edges.
  for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_weight}) {
    CHECK(rate(1, pass) == Approx(0.5e12).epsilon(0.03));
  }
}

TEST_CASE("the interval of a pass that was not measured is wide") {
  const Device device = device_with({products(Precision::fp32, {1, 0.5, 0.8, 8, 1, 0.995, 0.9})});
  const KernelModel model(device, Precision::fp32);
  const auto width = [&](Pass pass) {
    const KernelTime time = model.time(product(4096, 4096, 4096), pass, 1);
    REQUIRE(time.high);
    return std::log(*time.high / time.time);
  };
  CHECK(width(Pass::forward) == Approx(0.1));
  CHECK(width(Pass::backward_data) == Approx(0.7));
  CHECK(width(Pass::backward_weight) == Approx(0.7));
}

TEST_CASE("no product and no convolution exceeds the rates of the datasheet") {
  // The constants state 1.2 times the peak of 2 TFLOP/s, or of 8 TFLOP/s on matrix units, and residuals halve the times.
  const auto faster = [](KernelKind kind, Precision precision) {
    KernelFamily family = products(precision, {1, 1.2, 2, 8, 0.1, 0.9995, 0.01});
    family.kind = kind;
    family.pass = std::nullopt;
    family.residuals = {{{16, 10, 10, 0, 30}, -0.7F}, {{16, 10, 10, 0, 30}, -0.7F}};
    return device_with({family});
  };
  const auto rate = [&](const Work& work, Pass pass, Precision precision) {
    const Device device = faster(work.kernel_kind(), precision);
    const KernelTime time = KernelModel(device, precision).time(work, pass, 1);
    REQUIRE(time.low);
    CHECK(time.low->value() <= time.time.value());
    CHECK(work.flops / time.low->value() <= work.flops / time.time.value() * 3);
    return work.flops / time.time.value();
  };
  const Work square = product(65536, 1024, 1024);
  CHECK(rate(square, Pass::forward, Precision::fp32) == Approx(2e12));
  CHECK(rate(square, Pass::forward, Precision::bf16) == Approx(8e12));
  // A window of one position in all passes, in which the sizes of the product are those of the output, the input or weights.
  for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_weight}) {
    Work pointwise = square;
    pointwise.kind = KernelKind::convolution;
    pointwise.activation_items = 65536.0 * 2048;
    pointwise.group_inputs = 1024;
    CHECK(rate(pointwise, pass, Precision::fp32) == Approx(2e12));
    // A window of 5 × 5 may be transformed, except on matrix units.
    Work large = pointwise;
    (pass == Pass::backward_weight ? large.n : large.k) *= 25;
    large.flops *= 25;
    CHECK(rate(large, pass, Precision::fp32) > 2.4e12);
    CHECK(rate(large, pass, Precision::bf16) == Approx(8e12));
  }
  // A product with few FLOPs moves its bytes beyond any cache at the datasheet's 100 GB/s.
  const Work thin = product(1e9, 1, 1);
  const double bytes = 4 * (2e9 + 1);
  CHECK(KernelModel(faster(KernelKind::matrix_product, Precision::fp32), Precision::fp32)
            .seconds(thin, Pass::forward, 1)
            .value() >= (bytes - 256e6) / 100e9);
}

TEST_CASE("the data gradient of a strided convolution multiplies a part of the zeros between positions") {
  const auto slower = [](double spreading) {
    KernelFamily family = products(Precision::bf16, {1, 0.5, 2, 8, 1, 0.995, 0.99, 0.6, 0.7, 0.75, spreading, 1000});
    family.kind = KernelKind::convolution;
    family.pass = std::nullopt;
    const Device device = device_with({family});
    const KernelModel model(device, Precision::bf16);
    // The stride is two in both directions, so a quarter of the product's multiplications count.
    Work strided = convolution(65536, 512, 4096);
    strided.flops /= 4;
    Work dense = strided;
    dense.k /= 4;
    return (model.seconds(strided, Pass::backward_data, 1).value() - 1e-6) /
           (model.seconds(dense, Pass::backward_data, 1).value() - 1e-6);
  };
  CHECK(slower(0.001) == Approx(1).epsilon(0.01));
  CHECK(slower(0.5) == Approx(2).epsilon(0.01));
  CHECK(slower(1) == Approx(4).epsilon(0.01));
}

TEST_CASE("heads of fused attention are padded to the sizes of kernels") {
  // The constants are: start, peak, bandwidth, sharpness, exponential, block, wave.
  KernelFamily family = products(Precision::bf16, {1, 0.5, 2, 8, 0.01, 0.005, 0.99});
  family.kind = KernelKind::fused_attention;
  const Device device = device_with({family});
  const KernelModel model(device, Precision::bf16);
  const auto seconds = [&](double size) {
    return model
        .seconds({.flops = 4 * size * 4096 * 4096 * 32,
                  .activation_items = 4 * 32 * 4096 * size,
                  .m = 4096,
                  .n = 4096,
                  .k = size,
                  .count = 32,
                  .kind = KernelKind::fused_attention},
                 Pass::forward, 1)
        .value();
  };
  CHECK(seconds(72) == Approx(seconds(96)).epsilon(0.001));
  CHECK(seconds(96) == Approx(1.5 * seconds(64)).epsilon(0.01));
}

TEST_CASE("the channels of a convolution are padded to 16 bytes, or to four for a strided window") {
  const Device others = device_with({}, {convolutions(1000)}), own = device_with({convolutions(1000)});
  const auto with_inputs = [](double inputs, double positions, bool is_strided = false) {
    Work work{.flops = 2.0 * 65536 * 256 * 27 * inputs,
              .activation_items = positions * inputs + 65536 * 256,
              .m = 65536,
              .n = 256,
              .k = 27 * inputs,
              .is_strided = is_strided,
              .group_inputs = inputs,
              .kind = KernelKind::convolution};
    return work;
  };
  const auto filled = [](Work work, double more) {
    work.flops *= more, work.k *= more, work.group_inputs = 0;
    return work;
  };
  const KernelModel half(others, Precision::bf16), wide(others, Precision::tf32), measured(own, Precision::bf16);
  const auto seconds = [](const KernelModel& model, const Work& work) {
    return model.seconds(work, Pass::forward, 1).value();
  };
  CHECK(seconds(half, with_inputs(4, 65536)) == Approx(seconds(half, filled(with_inputs(4, 65536), 2))));
  CHECK(seconds(half, with_inputs(3, 65536)) == Approx(seconds(half, filled(with_inputs(3, 65536), 8.0 / 3))));
  const Work strided = with_inputs(3, 4 * 65536, true);
  CHECK(seconds(half, strided) == Approx(seconds(half, filled(strided, 4.0 / 3))));
  // A tile with its halo reads more positions than it writes, even if its window is not strided.
  const Work tile = with_inputs(3, 4 * 65536);
  CHECK(seconds(half, tile) == Approx(seconds(half, filled(tile, 8.0 / 3))));
  CHECK(seconds(wide, with_inputs(4, 65536)) == Approx(seconds(wide, filled(with_inputs(4, 65536), 1))));
  CHECK(seconds(half, with_inputs(16, 65536)) == Approx(seconds(half, filled(with_inputs(16, 65536), 1))));
  // Measurements on the device already include the padding.
  CHECK(seconds(measured, with_inputs(4, 65536)) == Approx(seconds(measured, filled(with_inputs(4, 65536), 1))));
  // In gradients of weights, a side of the result is padded.
  Work weights = with_inputs(4, 65536);
  weights.m = 256, weights.n = 108, weights.k = 65536;
  Work doubled = weights;
  doubled.flops *= 2, doubled.n *= 2, doubled.group_inputs = 0;
  CHECK(half.seconds(weights, Pass::backward_weight, 1).value() ==
        Approx(half.seconds(doubled, Pass::backward_weight, 1).value()));
  CHECK(half.least(weights, Pass::backward_weight, 1) <= half.seconds(weights, Pass::backward_weight, 1));
}

TEST_CASE("a kernel kind known only from other devices moves elements no faster than the device's elementwise kernels") {
  KernelFamily norms = elementwise(3, 0.9), own_norms = norms;
  norms.kind = own_norms.kind = KernelKind::batch_norm;
  const Work norm{.activation_items = 1e9, .kind = KernelKind::batch_norm}, copy{.activation_items = 1e9};
  const auto seconds = [](const Device& device, const Work& work) {
    const KernelModel model(device, Precision::fp32);
    CHECK(model.least(work, Pass::forward, 1) <= model.seconds(work, Pass::forward, 1));
    return model.seconds(work, Pass::forward, 1).value();
  };
  const Device slow = device_with({elementwise(3, 0.5)}, {norms});
  CHECK(seconds(slow, norm) == Approx(4e9 / 50e9));
  CHECK(seconds(slow, norm) == Approx(seconds(slow, copy)));
  CHECK(KernelModel(slow, Precision::fp32).least(norm, Pass::forward, 1).value() == Approx(4e9 / 50e9));
  // Measured norms of the device keep their measured times. The same holds for other kernels if
  // only elementwise kernels were measured elsewhere.
  CHECK(seconds(device_with({elementwise(3, 0.5), own_norms}), norm) == Approx(4e9 / 90e9));
  CHECK(seconds(device_with({}, {elementwise(3, 0.5), norms}), norm) == Approx(4e9 / 90e9));
  // Slower kernels stay slower.
  CHECK(seconds(device_with({elementwise(3, 0.95)}, {norms}), norm) == Approx(4e9 / 90e9));
}

TEST_CASE("in training, only products on matrix units run slower than alone") {
  Device device = device_with({products(Precision::bf16, {1, 0.5, 2, 8, 1, 0.995, 0.99}),
                               products(Precision::fp32, {1, 0.5, 2, 8, 1, 0.995, 0.99}), elementwise(3, 0.5)});
  device.sustained_peak = 0.8;
  const Work work = product(512, 512, 4096);
  const auto ratio = [&](Precision precision, const Work& of) {
    const double alone = KernelModel(device, precision).seconds(of, Pass::forward, 1).value() - 1e-6;
    return (KernelModel(device, precision, {}, Conditions::training).seconds(of, Pass::forward, 1).value() - 1e-6) / alone;
  };
  CHECK(ratio(Precision::bf16, work) == Approx(1 / 0.8).epsilon(0.002));
  CHECK(ratio(Precision::fp32, work) == Approx(1));
  CHECK(ratio(Precision::bf16, Work{.activation_items = 1e9}) == Approx(1));
}

TEST_CASE("kernels that were measured in training have the clock of training") {
  // Half of the peak for 100 us, then 0.8 of that: 8 ms of arithmetic take (8 - 0.1) / 0.8 + 0.1 = 9.975 ms. In training,
  // there is no burst: 8 / 0.8 ms.
  KernelFamily training = products(Precision::bf16, {1, 0.5, 2, 8, 1, 0.995, 0.99, 0.8, 100, 0.1});
  training.conditions = Conditions::repeated;
  const KernelFamily alone = products(Precision::bf16, {1, 0.6, 2, 8, 1, 0.995, 0.99});
  Device device = device_with({alone, training});
  const Work work = product(4096, 4096, 953.67);  // 32 GFLOP
  const auto time = [&](Conditions conditions) {
    return KernelModel(device, Precision::bf16, {}, conditions).seconds(work, Pass::forward, 1).value();
  };
  CHECK(time(Conditions::repeated) == Approx(9.975e-3).epsilon(0.01));
  CHECK(time(Conditions::training) == Approx(10e-3).epsilon(0.01));
  CHECK(time(Conditions::alone) == Approx(32e9 / 4.8e12).epsilon(0.01));
  // With only the family of training, alone has its rate without the limit.
  device = device_with({training});
  CHECK(time(Conditions::alone) == Approx(8e-3).epsilon(0.01));
  // The clock follows the cube root of the power above a seventh: (2 - 1/7)/(1 - 1/7) is 13/6.
  DeviceKernels kernels{.device = "own", .power = 100, .multiprocessors = 4, .peak = 8e12, .families = {training}};
  device.kernels = std::make_shared<DeviceKernels>(kernels);
  device.power = 80;
  const double slower = std::cbrt((0.8 - 1.0 / 7) / (1 - 1.0 / 7));
  CHECK(time(Conditions::training) == Approx(8e-3 / (0.8 * slower)).epsilon(0.01));
  device.power = 200;
  CHECK(time(Conditions::training) == Approx(8e-3).epsilon(0.01));
  CHECK(time(Conditions::alone) == Approx(8e-3).epsilon(0.01));
}

TEST_CASE("in training, the power limit of a card slows products down as measured, and leaves fast cards alone") {
  // Rates of products of 8,192 and 10,240 rows in bf16 [zzc0721/torch-performance-test-data, database.md and issues 97, 120,
  // 160 and 185]. The peaks and watts are those of the data sheets.
  struct Card {
    double joules, watts, peak, measured;  // joules_per_flop of calibration/devices/capabilities.yaml
  };
  const KernelFamily family = products(Precision::bf16, {1, 0.97, 2, 8, 1, 0.995, 0.01});
  const Work work = product(16384, 16384, 16384);
  const auto rate = [&](const Card& card, double watts) {
    Device device = device_with({}, {family});
    device.joules_per_flop = card.joules;
    device.power = watts;
    device.peak[Precision::bf16] = FlopRate(card.peak * 1e12);
    device.memory_bandwidth = Bandwidth(1e15);
    return work.flops /
           KernelModel(device, Precision::bf16, {}, Conditions::training).seconds(work, Pass::forward, 1).value() / 1e12;
  };
  for (const Card& card :
       {Card{1.08e-12, 72, 121, 57}, {2.1e-12, 140, 76.7, 57}, {2.1e-12, 300, 154.8, 123}, {1.5e-12, 600, 503.8, 342}}) {
    INFO(card.watts << " W of " << card.peak << " TFLOP/s");
    CHECK(rate(card, card.watts) == Approx(card.measured).epsilon(0.06));
  }
  // An RTX 4090 reaches its peak, 160 to 165 TFLOP/s; a device whose watts are unknown is not limited.
  CHECK(rate({1.08e-12, 450, 165.2, 160}, 450) == Approx(rate({1.08e-12, 450, 165.2, 160}, 0)));
}

TEST_CASE("products of experts take at least their launches") {
  KernelFamily experts = products(Precision::bf16, {1, 0.5, 2, 8, 1, 0.995, 0.99, 1, 100, 9});
  experts.kind = KernelKind::grouped_product;
  experts.conditions = Conditions::repeated;
  const Device device = device_with({products(Precision::bf16, {1, 0.5, 2, 8, 1, 0.995, 0.99}), experts});
  Work work{.flops = 2.0 * 64 * 64 * 64 * 64, .activation_items = 1e5, .m = 64, .n = 64, .k = 64, .count = 64};
  const KernelModel model(device, Precision::bf16, {}, Conditions::training);
  CHECK(model.seconds(work, Pass::forward, 1).value() == Approx(577e-6).epsilon(0.02));  // 64 · 9 us, and the start
  work.batched = Work::Batched::count;                                                   // heads are one kernel
  CHECK(model.seconds(work, Pass::forward, 1).value() < 50e-6);
}

TEST_CASE("in training, no product exceeds the attainable rate of the device") {
  Device device = device_with({products(Precision::bf16, {1, 1.1, 2, 8, 1, 0.995, 0.01})});
  device.attainable_peak = 0.8;
  const KernelModel model(device, Precision::bf16, {}, Conditions::training);
  for (const double side : {512.0, 4096.0, 65536.0}) {
    const Work work = product(side, side, side);
    CHECK(work.flops / model.seconds(work, Pass::forward, 1).value() <= 0.8 * 8e12 * (1 + 1e-9));
  }
}

TEST_CASE("unknown constants of a device are taken from other devices, with the device's own datasheet") {
  const KernelFamily own = products(Precision::bf16, {1, 0.5, 2, 8, 1, 0.995, 0.99});
  const KernelFamily other = products(Precision::fp32, {1, 0.25, 2, 8, 1, 0.995, 0.99});
  const Device device = device_with({own}, {other, elementwise(3, 0.5)});
  const Work work = product(512, 512, 4096);
  // fp16 has the same matrix units as bf16. fp32 has none.
  CHECK(KernelModel(device, Precision::fp16).time(work, Pass::forward, 1).source == Provenance::curve);
  const KernelTime wide = KernelModel(device, Precision::fp32).time(work, Pass::forward, 1);
  CHECK(wide.source == Provenance::roofline);
  CHECK(wide.time.value() == Approx(1e-6 + 2.0 * 512 * 512 * 4096 / 0.5e12).epsilon(0.002));
  // Products of another pass are treated like those of the known pass.
  CHECK(KernelModel(device, Precision::bf16).time(work, Pass::backward_data, 1).source == Provenance::curve);
  // The datasheet's own sustained rate is a better estimate than other devices.
  Device said = device;
  said.attainable_peak = 0.5;
  CHECK(KernelModel(said, Precision::fp32).seconds(work, Pass::forward, 1).value() ==
        Approx(1e-6 + 2.0 * 512 * 512 * 4096 / 1e12).epsilon(0.002));
}

TEST_CASE("products in fp8 do not describe products in half precision whose rate is known") {
  const KernelFamily narrow = products(Precision::fp8, {1, 0.1, 2, 8, 1, 0.995, 0.99});
  const KernelFamily other = products(Precision::bf16, {1, 0.9, 2, 8, 1, 0.995, 0.99});
  Device device = device_with({narrow}, {other});
  const Work work = product(4096, 4096, 4096);
  CHECK(KernelModel(device, Precision::bf16).time(work, Pass::forward, 1).source == Provenance::curve);
  device.attainable_peak = 0.5;
  const KernelTime reached = KernelModel(device, Precision::bf16).time(work, Pass::forward, 1);
  CHECK(reached.source == Provenance::roofline);
  CHECK(reached.time.value() == Approx(work.flops / (0.5 * 8e12)).epsilon(0.01));
}

TEST_CASE("the parts of a kernel together take at least their lower bound") {
  KernelFamily family = products(Precision::bf16, {2, 0.7, 0.8, 2.5, 100, 0.93, 0.7});
  family.residuals = {{place_of(shape_of(product(512, 512, 4096), 1, 2)), -0.2F},
                      {place_of(shape_of(product(64, 512, 4096), 1, 2)), 0.3F}};
  const KernelModel model(device_with({family, elementwise(3, 0.5)}), Precision::bf16);
  for (const double m : {64.0, 100.0, 512.0, 1000.0, 4096.0}) {
    for (const double n : {32.0, 500.0, 512.0, 8192.0}) {
      for (const double k : {64.0, 1024.0, 5000.0}) {
        for (const double parts : {1.0, 2.0, 4.0}) {
          const double least = model.least(product(m, n, k), Pass::forward, 1).value();
          CAPTURE(m, n, k, parts);
          CHECK(least <= parts * model.seconds(product(m / parts, n, k), Pass::forward, 1).value() * (1 + 1e-12));
          CHECK(least <= parts * model.seconds(product(m, n / parts, k), Pass::forward, 1).value() * (1 + 1e-12));
          CHECK(least <= parts * model.seconds(product(m, n, k / parts), Pass::forward, 1).value() * (1 + 1e-12));
        }
      }
    }
  }
}

TEST_CASE("heads that are not a multiple of eight channels do not use matrix units") {
  const KernelFamily family = products(Precision::bf16, {1, 0.8, 0.8, 2.5, 100, 0.93, 0.7});
  const KernelModel model(device_with({family, elementwise(3, 0.5)}), Precision::bf16);
  const auto seconds = [&](double head) {
    Work scores = product(2048, 2048, head);
    scores.batched = Work::Batched::count;
    scores.count = 64;
    scores.flops *= scores.count;
    scores.activation_items *= scores.count;
    return model.seconds(scores, Pass::forward, 1).value();
  };
  // 2 of 8 TFLOP/s are left. BLOOM's 108 channels per head took longer than 112 and 128 channels.
  CHECK(seconds(108) > 3 * seconds(104));
  CHECK(seconds(108) > 2 * seconds(128));
  CHECK(seconds(104) < seconds(112));
  // A single product has kernels for any size, and the elements of tokens are not contiguous.
  CHECK(model.seconds(product(2048, 2048, 108), Pass::forward, 1) <
        1.1 * model.seconds(product(2048, 2048, 112), Pass::forward, 1));
  Work experts = product(1024, 4096, 1001);
  experts.count = 8;
  Work even = product(1024, 4096, 1008);
  even.count = 8;
  CHECK(model.seconds(experts, Pass::backward_weight, 1) < 1.1 * model.seconds(even, Pass::backward_weight, 1));
  // Matrix units load 16 bytes at once. In TF32, these are 4 items, so 108 channels are aligned, and 106 are not.
  const KernelFamily wide = products(Precision::tf32, {1, 0.8, 0.8, 2.5, 100, 0.93, 0.7});
  Device device = device_with({wide, elementwise(3, 0.5)});
  device.peak[Precision::tf32] = FlopRate(8e12);
  const KernelModel tf32(device, Precision::tf32);
  const auto wide_seconds = [&](double head) {
    Work scores = product(2048, 2048, head);
    scores.batched = Work::Batched::count;
    scores.count = 64;
    scores.flops *= scores.count;
    scores.activation_items *= scores.count;
    return tf32.seconds(scores, Pass::forward, 1).value();
  };
  CHECK(wide_seconds(108) < 1.1 * wide_seconds(112));
  CHECK(wide_seconds(106) > 1.5 * wide_seconds(108));
}

TEST_CASE("products slow down if they load rows that are not whole loads of matrix units") {
  Device device = device_with({products(Precision::fp16, {1, 0.8, 0.8, 2.5, 100, 0.93, 0.7}), elementwise(3, 0.5)});
  device.compute_capability = 7.0;
  const auto seconds = [&](double words, Pass pass, const Assumptions& assumptions = {}, double vocabulary = 0) {
    // A head of 64 channels with a number of words, for 4,096 tokens.
    const Work forward = product(4096, words, 64), data = product(4096, 64, words), weights = product(words, 64, 4096);
    const Work& work = pass == Pass::forward ? forward : pass == Pass::backward_data ? data : weights;
    return KernelModel(device, Precision::fp16, assumptions, Conditions::alone, true, vocabulary)
        .seconds(work, pass, 1)
        .value();
  };
  const double flops = 2.0 * 4096 * 50257 * 64;
  // Forward only writes logits. Backward loads their gradients, at 0.83 of the 2 TFLOP/s of fp32.
  CHECK(seconds(50257, Pass::forward) < 1.01 * seconds(50264, Pass::forward));
  for (const Pass pass : {Pass::backward_data, Pass::backward_weight}) {
    CHECK(seconds(50257, pass) == Approx(flops / (0.83 * 2e12)).epsilon(1e-9));
    CHECK(seconds(50257, pass) > 1.5 * seconds(50264, pass));
    Assumptions padded;
    padded.padded_products = PaddedProducts::vocabulary;
    CHECK(seconds(50257, pass, padded, 50257) < 1.01 * seconds(50264, pass));
    // A rank of a tensor split has a part of the vocabulary. Other products are not padded.
    CHECK(seconds(50257, pass, padded, 2 * 50257) < 1.01 * seconds(50264, pass));
    CHECK(seconds(50257, pass, padded, 32000) == seconds(50257, pass));
    padded.padded_products = PaddedProducts::weights;
    CHECK(seconds(50257, pass, padded) < 1.01 * seconds(50264, pass));
    // Rows of 8 bytes are enough: BERT's vocabulary without case has 30,522 words, and that with case 28,996.
    CHECK(seconds(30522, pass) > 1.5 * seconds(30528, pass));
    CHECK(seconds(28996, pass) < 1.01 * seconds(29000, pass));
  }
  // Measurements of this length on the device itself win, for any similar number of tokens.
  const auto measure = [&](double words, double tokens) {
    KernelFamily measured = products(Precision::fp16, {1, 0.8, 0.8, 2.5, 100, 0.93, 0.7});
    measured.residuals = {{place_of(shape_of(product(words, 64, tokens), 1, 2)), 0}};
    device.kernels = std::make_shared<DeviceKernels>(DeviceKernels{.device = "own", .families = {measured}});
  };
  measure(50257, 4096);
  CHECK(seconds(50257, Pass::backward_weight) < 1.01 * seconds(50264, Pass::backward_weight));
  measure(50257, 3000);
  CHECK(seconds(50257, Pass::backward_weight) < 1.01 * seconds(50264, Pass::backward_weight));
  measure(48000, 4096);
  CHECK(seconds(50257, Pass::backward_weight) > 1.5 * seconds(50264, Pass::backward_weight));
  // Devices without CUDA have other libraries.
  device.compute_capability.reset();
  CHECK(seconds(50257, Pass::backward_data) < 1.01 * seconds(50264, Pass::backward_data));
  // Since compute capability 8.0, matrix units have narrow loads.
  device.compute_capability = 8.0;
  CHECK(seconds(50257, Pass::backward_data) < 1.01 * seconds(50264, Pass::backward_data));
}

TEST_CASE("a sum of twice the terms takes no less time") {
  // 64 × 64 results are one block, and sums of more terms are divided among more blocks.
  const KernelFamily family = products(Precision::bf16, {1, 0.8, 0.8, 2.5, 100, 0.93, 0.7});
  const KernelModel model(device_with({family, elementwise(3, 0.5)}), Precision::bf16);
  for (double terms = 100; terms < 1e6; terms *= 1.1) {
    const Seconds one = model.seconds(product(64, 64, terms), Pass::forward, 1);
    CHECK(model.seconds(product(64, 64, 2 * terms), Pass::forward, 1) >= 0.9 * one);
  }
}

TEST_CASE("fp32 gradient sums are read and written by the product that adds to them") {
  const KernelFamily family = products(Precision::bf16, {1, 0.8, 0.8, 2.5, 100, 0.93, 0.7});
  const Device device = device_with({family, elementwise(3, 0.5)});
  Assumptions sums;
  sums.mixed_precision = MixedPrecision::full_gradients;
  const KernelModel plain(device, Precision::bf16), adding(device, Precision::bf16, sums);
  // 128 tokens for each of 32 experts: 8 bytes per weight at 80 GB/s take longer than the product.
  Work experts = product(2048, 7168, 128);
  experts.count = 32;
  experts.flops *= experts.count;
  experts.weight_items = 32 * 2048.0 * 7168;
  const double traffic = experts.weight_items * 8 / 80e9;
  CHECK(adding.seconds(experts, Pass::backward_weight, 1).value() >= traffic);
  CHECK(adding.seconds(experts, Pass::backward_weight, 1) > 1.5 * plain.seconds(experts, Pass::backward_weight, 1));
  CHECK(adding.seconds(experts, Pass::forward, 1) == plain.seconds(experts, Pass::forward, 1));
  // Long sums hide the traffic of the fp32 sums.
  Work dense = product(2048, 7168, 65536);
  dense.weight_items = 2048.0 * 7168;
  CHECK(adding.seconds(dense, Pass::backward_weight, 1) < 1.01 * plain.seconds(dense, Pass::backward_weight, 1));
}

TEST_CASE("causal attention on fewer blocks than multiprocessors takes as long as its last block") {
  const auto attention = [](double tokens, double keys, double heads) {
    return Work{.flops = heads * tokens * keys * 4 * 128,
                .activation_items = heads * tokens * 4 * 128,
                .m = tokens,
                .n = keys,
                .k = 128,
                .count = heads,
                .kind = KernelKind::fused_attention};
  };
  KernelFamily family{.kind = KernelKind::fused_attention,
                      .pass = Pass::forward,
                      .precision = Precision::bf16,
                      .constants = {5, 0.6, 0.6, 1.5, 1, 0.2, 0.9},
                      .residuals = {},
                      .rows = 10,
                      .source = "test"};
  Device device = device_with({family, elementwise(3, 0.5)});
  device.multiprocessors = 100;
  device.memory_bandwidth = Bandwidth(100e12);
  const KernelModel model(device, Precision::bf16);
  const auto seconds = [&](const Work& work) { return model.seconds(work, Pass::forward, 1).value(); };
  // There are 32 blocks, of which the last one has all keys.
  CHECK(seconds(attention(4096, 2048.5, 1)) == Approx(seconds(attention(4096, 4096, 1))).epsilon(0.02));
  // There are 3,200 blocks, which share the average: half of the keys.
  CHECK(seconds(attention(4096, 2048.5, 100)) == Approx(seconds(attention(4096, 4096, 100)) / 2).epsilon(0.1));
  // 16 queries do not fill a block of 128.
  CHECK(seconds(attention(16, 16, 10000)) < seconds(attention(128, 128, 10000)) / 8);
}

TEST_CASE("attention is predicted for a device whose number of multiprocessors is unknown") {
  // The start of a block takes 0.2 us. One after the other, the 3,200 blocks would take 640 us to start.
  KernelFamily family{.kind = KernelKind::fused_attention,
                      .pass = Pass::forward,
                      .precision = Precision::bf16,
                      .constants = {5, 0.6, 0.6, 1.5, 1, 0.2, 0.9},
                      .residuals = {},
                      .rows = 10,
                      .source = "test"};
  Device known = device_with({family, elementwise(3, 0.5)});
  known.multiprocessors = 100;
  Device unknown = known;
  unknown.multiprocessors.reset();
  const Work work{.flops = 100.0 * 4096 * 4096 * 4 * 128,
                  .activation_items = 100.0 * 4096 * 4 * 128,
                  .m = 4096,
                  .n = 4096,
                  .k = 128,
                  .count = 100,
                  .kind = KernelKind::fused_attention};
  const auto seconds = [&](const Device& device) {
    return KernelModel(device, Precision::bf16).seconds(work, Pass::forward, 1).value();
  };
  CHECK(seconds(unknown) == Approx(seconds(known)).epsilon(0.05));
}

}  // namespace
