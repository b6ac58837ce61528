// Tests that kernel times grow with the number of samples as the kernels' work does, for the kernels of all bundled models
// on all bundled devices. A jump shows that a formula or a correction is used outside of the shapes that it describes.

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "calibration/inputs/machine_reader.hpp"
#include "estimator/kernels/kernel_form.hpp"
#include "estimator/kernels/kernel_model.hpp"
#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"

namespace kernel_growth_tests {

using namespace ddl;

namespace {

/// The most and the least by which the time may grow if the samples double. It grows by more than two if the last wave of
/// blocks is less favorable, or if a correction changes between measured shapes: on P100, products with sums of 30,000 terms
/// were measured to take three times as long as those of 6,000 terms would suggest. It falls where measurements scatter.
constexpr double most_growth = 3.5, least_growth = 0.8;
constexpr int most_samples = 128;

struct Kernel {
  Work work;
  Pass pass = Pass::forward;
  std::string name;  ///< model and operation
};

/// Returns the kernels of all bundled models; kernels of equal size are included once.
std::vector<Kernel> bundled_kernels() {
  std::vector<Kernel> kernels;
  std::set<std::tuple<int, int, std::vector<double>>> seen;
  for (const std::string& name : model_names()) {
    const Model model = load_model(name);
    for (const Layer& layer : model.layers) {
      for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_weight}) {
        for (const Work& work : layer.operation->kernels(pass, layer.input_shapes, layer.output_shape)) {
          if (!work.is_any()) continue;
          const std::vector<double> sizes{
              work.flops, work.activation_items, work.weight_items, work.m, work.n, work.k, work.count, work.groups};
          if (!seen.emplace(static_cast<int>(pass), static_cast<int>(work.kernel_kind()), sizes).second) continue;
          kernels.push_back({work, pass, name + ": " + std::string(layer.operation->type())});
        }
      }
    }
  }
  return kernels;
}

/// Returns the bundled devices that are no processors, each once.
std::vector<Device> bundled_devices() {
  std::vector<Device> devices;
  std::set<std::string> names;
  for (const std::string& name : machine_names()) {
    const Machine machine = load_machine(name);
    if (!machine.device.is_processor && names.insert(machine.device.name).second) devices.push_back(machine.device);
  }
  return devices;
}

/// Kernels that take less are not compared. Most of their time is the start of a kernel, and products of a single row run in
/// kernels of their own.
constexpr Seconds least_time(20e-6);

/// Returns whether the time of twice the samples is as expected, given what the model says of its errors. A time that is
/// corrected by measured kernels may grow by as much more as these kernels scatter. Corrected convolutions are not compared:
/// measured convolutions with few input channels take up to ten times as long as those with more channels, whose sizes as
/// products are similar.
bool grows(KernelKind kind, const KernelTime& one, const KernelTime& two) {
  if (two.time < least_time) return true;
  if (kind == KernelKind::convolution && one.source == Provenance::curve) return true;
  const bool is_corrected = one.source == Provenance::curve && one.low && one.high && two.low && two.high;
  const Seconds least = is_corrected ? *one.low : one.time, most = is_corrected ? *one.high : one.time;
  return (is_corrected ? *two.low : two.time) <= most_growth * most &&
         (is_corrected ? *two.high : two.time) >= least_growth * least;
}

/// Returns whether products of a pass were measured on a device itself.
bool has_products_of(const Device& device, Pass pass) {
  const std::vector<KernelFamily>& families = device.kernels->families;
  return std::any_of(families.begin(), families.end(), [&](const KernelFamily& each) {
    return each.kind == KernelKind::matrix_product && each.pass.value_or(pass) == pass;
  });
}

}  // namespace

TEST_CASE("where only forward products were measured, a long sum of backward takes at most twice the time of half of it") {
  const std::vector<Kernel> kernels = bundled_kernels();
  std::size_t checked = 0, device_count = 0;
  for (const Device& device : bundled_devices()) {
    if (!device.kernels || has_products_of(device, Pass::backward_weight)) continue;
    ++device_count;
    const KernelModel model(device, Precision::fp32, {}, Conditions::training);
    for (const Kernel& kernel : kernels) {
      const Work& work = kernel.work;
      const bool sums_samples = work.kernel_kind() == KernelKind::matrix_product && work.batched == Work::Batched::k;
      if (kernel.pass != Pass::backward_weight || !sums_samples || work.count > 1) continue;
      for (double samples = 1; samples <= 64; samples *= 2) {
        if (work.k * samples < 1024) continue;
        const Seconds half = model.seconds(work, kernel.pass, samples),
                      whole = model.seconds(work, kernel.pass, 2 * samples);
        ++checked;
        if (whole <= half * (2 * 1.03)) continue;  // sizes that fill the device less well
        INFO(device.name << ", " << kernel.name << ": " << work.m << " x " << work.n << " x " << work.k * samples);
        CHECK(whole.value() <= 2 * half.value());
      }
    }
  }
  CHECK(device_count >= 3);  // P100, P40 and GTX 1080 Ti, at least
  CHECK(checked > 1000);
}

TEST_CASE("twice the samples take about twice the time or less, and not less than the samples alone") {
  const std::vector<Kernel> kernels = bundled_kernels();
  const std::vector<Device> devices = bundled_devices();
  REQUIRE(kernels.size() > 10000);
  REQUIRE(devices.size() > 40);
  // Each device and precision takes another part of the kernels.
  const std::size_t stride = std::getenv("DDL_LONG_TESTS") != nullptr ? 1 : 23;
  std::size_t first = 0, checked = 0;
  for (const Device& device : devices) {
    for (const Precision precision : enum_values<Precision>) {
      if (!device.peak_at(precision)) continue;
      const KernelModel model(device, precision, {}, Conditions::training);
      for (std::size_t i = first++ % stride; i < kernels.size(); i += stride) {
        const Kernel& kernel = kernels[i];
        KernelTime one = model.time(kernel.work, kernel.pass, 1);
        for (int samples = 1; samples < most_samples; samples *= 2) {
          const KernelTime two = model.time(kernel.work, kernel.pass, 2 * samples);
          if (!grows(kernel.work.kernel_kind(), one, two)) {
            INFO(device.name << ", " << to_string(precision) << ", " << kernel.name << ", " << to_string(kernel.pass));
            INFO(to_string(kernel.work.kernel_kind()) << " of " << kernel.work.m << " x " << kernel.work.n << " x "
                                                      << kernel.work.k << ", " << kernel.work.count);
            INFO(samples << " samples take " << one.time.value() << " s, twice as many " << two.time.value() << " s");
            CHECK(grows(kernel.work.kernel_kind(), one, two));
          }
          one = two;
          ++checked;
        }
      }
    }
  }
  CHECK(checked > 100000);
}

namespace {

/// Returns whether a kernel is a matrix product with weights, whose rows or sums are the tokens.
bool multiplies_tokens(const Kernel& kernel) {
  return kernel.work.kernel_kind() == KernelKind::matrix_product && kernel.work.batched != Work::Batched::count &&
         kernel.work.flops > 0;
}

/// Returns whether a time is the bound of the data sheet, below which no time of the interval lies.
bool is_bound(const KernelTime& time) { return time.low && *time.low >= time.time; }

/// Returns the length of a kernel's tokens for one sample.
double tokens_of(const Work& work) {
  return work.batched == Work::Batched::m ? work.m : work.batched == Work::Batched::n ? work.n : work.k;
}

/// Returns whether the products of a device were measured one by one, and not in the order of a training.
bool has_single_products(const Device& device) {
  if (!device.kernels) return false;
  for (const KernelFamily& family : device.kernels->families) {
    if (family.kind == KernelKind::matrix_product && family.conditions == Conditions::repeated) return false;
  }
  return true;
}

bool is_like(const Device& one, const Device& two) {
  return one.multiprocessors && one.multiprocessors == two.multiprocessors && one.peak == two.peak &&
         one.compute_capability == two.compute_capability && one.power == two.power && one.kernels && two.kernels;
}

}  // namespace

TEST_CASE("in training, twice the tokens do not take more than twice the time in a matrix product") {
  // A product that the device's own kernels describe is at most as slow as its halves. Its bound by the data sheet grows by
  // more where its tensors outgrow the cache.
  constexpr double rounding = 1 + 1e-9, least_tokens = 1024;
  const std::vector<Kernel> kernels = bundled_kernels();
  std::size_t checked = 0;
  for (const Device& device : bundled_devices()) {
    if (!has_single_products(device) || !device.peak_at(Precision::bf16)) continue;
    const KernelModel model(device, Precision::bf16, {}, Conditions::training);
    for (std::size_t i = checked % 7; i < kernels.size(); i += 7) {
      const Kernel& kernel = kernels[i];
      if (!multiplies_tokens(kernel)) continue;
      for (double samples = 1; samples < 32; samples *= 2) {
        if (tokens_of(kernel.work) * samples < least_tokens) continue;
        const KernelTime one = model.time(kernel.work, kernel.pass, samples);
        const KernelTime two = model.time(kernel.work, kernel.pass, 2 * samples);
        ++checked;
        if (one.source != Provenance::curve || two.time <= one.time * (2 * rounding) || is_bound(two)) continue;
        INFO(device.name << ", " << kernel.name << ", " << to_string(kernel.pass) << ", " << kernel.work.m << " x "
                         << kernel.work.n << " x " << kernel.work.k << ", " << samples << " samples");
        CHECK(two.time.value() <= 2 * one.time.value());
      }
    }
  }
  CHECK(checked > 10000);
}

TEST_CASE("of two devices with equal peaks, that with more memory bandwidth is never slower in a matrix product") {
  const std::vector<Kernel> kernels = bundled_kernels();
  const std::vector<Device> devices = bundled_devices();
  std::size_t pairs = 0;
  for (const Device& slow : devices) {
    for (const Device& fast : devices) {
      if (!is_like(slow, fast) || fast.memory_bandwidth <= slow.memory_bandwidth) continue;
      ++pairs;
      for (const Precision precision : {Precision::bf16, Precision::fp8}) {
        if (!slow.peak_at(precision)) continue;
        const KernelModel slower(slow, precision, {}, Conditions::training),
            faster(fast, precision, {}, Conditions::training);
        for (std::size_t i = pairs % 11; i < kernels.size(); i += 11) {
          const Kernel& kernel = kernels[i];
          if (!multiplies_tokens(kernel)) continue;
          const Seconds one = slower.seconds(kernel.work, kernel.pass, 1), two = faster.seconds(kernel.work, kernel.pass, 1);
          if (two <= one * (1 + 1e-9)) continue;
          INFO(fast.name << " after " << slow.name << ", " << to_string(precision) << ", " << kernel.name);
          CHECK(two.value() <= one.value());
        }
      }
    }
  }
  CHECK(pairs > 0);  // H200 and H100
}

}  // namespace kernel_growth_tests
