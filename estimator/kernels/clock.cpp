#include "estimator/kernels/clock.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "estimator/kernels/kernel_form.hpp"

namespace ddl {
namespace {

/// The part of the power limit that is spent at any clock (assumed: 100 of the 700 W of H100).
constexpr double idle = 1.0 / 7;

/// The clock of the least voltage in Hz. It is fitted to ResNet-50 on V100 under limits of 100 to 250 W [You et al., "Zeus",
/// NSDI 2023]; tests/energy compares A100, A40, P100 and RTX 6000.
constexpr double least_voltage_hertz = 1.1e9;

/// The power of arithmetic at a clock, relative to that at the largest clock: C·V²·f. The voltage falls with the clock, down
/// to a least voltage at the clock `least`.
double power_at(double clock, double least) {
  const double voltage = std::max(clock, least);
  return voltage * voltage * clock;
}

double clock_at(double power, double least) {
  return power >= least * least * least ? std::cbrt(power) : power / (least * least);
}

/// The kernel data that describes a device: its own, or that of other devices; null if there is none.
const DeviceKernels* data_of(const Device& device) {
  return device.kernels ? device.kernels.get() : device.other_kernels.get();
}

/// The part of its peak clock that a device keeps at its power limit, relative to the device whose kernels were measured.
/// The cube of the clock follows the power per multiprocessor that is left for arithmetic, because the voltage rises with
/// the clock [power of CMOS circuits: C·V²·f]. 1 if a datum is unknown.
double clock_factor(const Device& device) {
  constexpr double least = 0.05;
  const DeviceKernels* const data = data_of(device);
  const std::optional<FlopRate> peak = device.peak_at(Precision::bf16);
  if (data == nullptr || !peak || !device.multiprocessors || !(device.power > 0)) return 1;
  if (!(data->power > 0) || !(data->multiprocessors > 0) || !(data->peak > 0)) return 1;
  const double units = *device.multiprocessors / data->multiprocessors;
  const double power = device.power / data->power / units;
  const double peak_clock = peak->value() / data->peak / units;
  return std::cbrt(std::max(least, power - idle) / (1 - idle)) / peak_clock;
}

/// The rate that the power limit of a device leaves for products, as a fraction of the rate `alone`, which is a fraction of
/// the peak. Near the least voltage, the energy of a FLOP hardly depends on the clock. Convolutions draw less power: CNNs on
/// the same cards show no limit (published-runs.csv, lambda-resnet50).
double powered_part(const Device& device, KernelKind kind, double alone) {
  const bool is_product = kind == KernelKind::matrix_product || kind == KernelKind::grouped_product;
  const std::optional<FlopRate> peak = device.peak_at(Precision::bf16);
  if (!is_product || !device.joules_per_flop || !peak || !(device.power > 0) || !(alone > 0)) return 1;
  return std::min(1.0, device.power * (1 - idle) / (*device.joules_per_flop * peak->value() * alone));
}

}  // namespace

double clock_of_least_voltage(const Device& device, double cycle_rate) {
  if (!device.multiprocessors || !(cycle_rate > 0)) return 0;
  return std::min(1.0, least_voltage_hertz * *device.multiprocessors / cycle_rate);
}

double slower_under(double limit, const KernelPower& kernel, double least_voltage) {
  if (limit >= kernel.drawn) return 1;
  const double left = std::max(0.0, limit - idle) / (kernel.drawn - idle);
  return kernel.clock / clock_at(left * power_at(kernel.clock, least_voltage), least_voltage);
}

double sustained_part(const Device& device, KernelKind kind, Precision precision, double alone) {
  if (const std::optional<double> said = device.sustained_at(precision)) return *said;
  const DeviceKernels* const data = data_of(device);
  const std::optional<double> part = data != nullptr ? data->sustained[kind] : std::nullopt;
  return part ? std::min(1.0, *part * clock_factor(device)) : powered_part(device, kind, alone);
}

double limit_clock(std::vector<double>& constants, KernelKind kind, const Device& device, Precision precision,
                   Conditions conditions) {
  double clock = 1;
  const std::span<const KernelConstant> all = form_of(kind).constants;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].name == "burst" && conditions == Conditions::training) constants[i] = 0;
    if (all[i].name != "sustained") continue;
    const double limited = device.sustained_at(precision).value_or(constants[i] * clock_factor(device));
    clock = conditions == Conditions::alone ? 1 : std::min(1.0, limited);
    constants[i] = clock;
  }
  return clock;
}

}  // namespace ddl
