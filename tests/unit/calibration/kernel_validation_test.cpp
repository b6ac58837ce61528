#include "calibration/kernels/kernel_validation.hpp"

#include <utility>
#include <vector>

#include "calibration/inputs/machine_reader.hpp"
#include "calibration/kernels/kernel_prediction.hpp"
#include "tests/catch.hpp"

namespace kernel_validation_tests {

namespace {

using namespace ddl;

Work product(double side) {
  return {.flops = 2 * side * side * side, .activation_items = 3 * side * side, .m = side, .n = side, .k = side};
}

KernelSample sample(std::vector<std::pair<Work, Pass>> kernels, Seconds time, Precision precision = Precision::bf16) {
  return {.kernels = std::move(kernels), .precision = precision, .time = time};
}

TEST_CASE("measured kernels are compared with predictions of the device's kernel model") {
  const Machine machine = load_machine("dgx-a100");
  const KernelModel model(machine.device, Precision::bf16);
  std::vector<KernelSample> samples;
  // Four of five kernels take the predicted time, and one takes twice as long. The median error is
  // 0, and the 90th percentile is between the fourth and the fifth kernel, at 0.6 of |1/2 − 1|.
  for (const double side : {512.0, 1024.0, 2048.0, 4096.0, 8192.0}) {
    const Seconds predicted = model.time(product(side), Pass::forward, 1).time;
    samples.push_back(sample({{product(side), Pass::forward}}, predicted * (side == 8192.0 ? 2 : 1)));
  }
  const KernelValidation validation = validate_kernels(samples, machine.device, Seconds{});
  REQUIRE(validation.groups.size() == 1);
  const KernelAccuracy& group = validation.groups.front();
  CHECK(group.kernels == "matrix_product");
  CHECK(group.passes == "forward");
  CHECK(group.precision == "bf16");
  CHECK(group.rows == 5);
  CHECK(group.median_error == Approx(0).margin(1e-12));
  CHECK(group.p90_error == Approx(0.6 * 0.5));
  CHECK(group.median_ratio == Approx(1));
  REQUIRE(group.inside);
  CHECK(*group.inside == Approx(0.8));
  CHECK(group.source == Provenance::curve);
}

TEST_CASE("overhead in measured times is added to the prediction") {
  const Machine machine = load_machine("dgx-a100");
  const KernelModel model(machine.device, Precision::bf16);
  const Seconds predicted = model.time(product(512), Pass::forward, 1).time;
  const std::vector<KernelSample> samples{sample({{product(512), Pass::forward}}, predicted + Seconds(30e-6))};
  CHECK(validate_kernels(samples, machine.device, Seconds(30e-6)).groups.front().median_error == Approx(0).margin(1e-9));
  CHECK(validate_kernels(samples, machine.device, Seconds{}).groups.front().median_ratio < 1);
}

TEST_CASE("kernels timed together form a separate group, and their predictions are added") {
  const Machine machine = load_machine("dgx-a100");
  const KernelModel model(machine.device, Precision::bf16);
  const std::vector<std::pair<Work, Pass>> both{{product(1024), Pass::backward_data},
                                                {product(1024), Pass::backward_weight}};
  const Seconds apart =
      model.time(product(1024), Pass::backward_data, 1).time + model.time(product(1024), Pass::backward_weight, 1).time;
  CHECK(time_together(model, both, 1).time.value() == Approx(apart.value()));
  const std::vector<KernelSample> samples{sample(both, apart), sample({both.front()}, apart)};
  const KernelValidation validation = validate_kernels(samples, machine.device, Seconds{});
  REQUIRE(validation.groups.size() == 2);
  CHECK(validation.groups[1].passes == "backward-data+backward-weight");
  CHECK(validation.groups[1].median_error == Approx(0).margin(1e-9));
}

TEST_CASE("rows in a precision that the data sheet does not have are counted and left out") {
  const Machine machine = load_machine("dgx-a100");
  const std::vector<KernelSample> samples{sample({{product(512), Pass::forward}}, Seconds(1e-3), Precision::fp8)};
  const KernelValidation validation = validate_kernels(samples, machine.device, Seconds{});
  CHECK(validation.groups.empty());
  CHECK(validation.refused == 1);
}

}  // namespace

}  // namespace kernel_validation_tests
