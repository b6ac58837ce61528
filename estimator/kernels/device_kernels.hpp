#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "estimator/kernels/kernel_form.hpp"
#include "model_zoo/operations/operation.hpp"
#include "model_zoo/values/precision.hpp"

namespace ddl {

/// The position of a kernel among kernels of one type: log2 of m, n, k, count and bytes.
using KernelPlace = std::array<float, 5>;
[[nodiscard]] KernelPlace place_of(const KernelShape& shape);

/// A measured kernel, and its deviation from the formula of kernel times.
struct KernelResidual {
  KernelPlace place{};
  float log_ratio = 0;  ///< ln(measured / formula)
};

/// How kernels run, which decides the clock of a device at its power limit.
enum class Conditions {
  alone,     ///< in short bursts, before the power limit lowers the clock
  repeated,  ///< one kernel repeatedly, as in benchmarks of training; the power limit lowers the clock after a while
  training,  ///< kernels of all kinds one after the other, at the clock of the power limit
};
template <>
inline constexpr EnumNames<Conditions> enum_names<Conditions>{"alone", "repeated", "training"};

/// Measured kernels of one type, pass and precision on one device: the constants of a formula, and residuals of the fit.
struct KernelFamily {
  KernelKind kind = KernelKind::elementwise;
  std::optional<Pass> pass{};  ///< unset: all passes
  Precision precision = Precision::fp32;
  Conditions conditions = Conditions::alone;  ///< how the kernels were measured: alone or repeated
  std::vector<std::string> devices{};         ///< names of the file's devices that the family describes; empty: all
  std::vector<double> constants{};            ///< values of the constants of form_of(kind), in the same order
  std::vector<KernelResidual> residuals{};
  /// Logarithm of the factor within which 95 % of held-out rows are predicted, for kernels inside
  /// and outside the measured range.
  double spread_inside = 0.5, spread_outside = 0.7;
  int rows = 0;  ///< number of measured kernels that the constants were fitted to
  std::string source{};
};

/// The kernel data of one type of device.
struct DeviceKernels {
  std::string device;  ///< name of the device, as in the machine's datasheet
  /// Power limit in watts, multiprocessors, and peak in bf16 in FLOP/s of the measured device; 0: unknown.
  double power = 0, multiprocessors = 0, peak = 0;
  /// By kind of kernel on matrix units: the rate in training at this power limit, divided by the rate of kernels that run
  /// alone. Unset: 1.
  EnumArray<KernelKind, std::optional<double>> sustained{};
  /// The time of the frameworks' own FlashAttention-2, relative to the vendor's kernels that the families describe.
  struct Flash2 {
    double forward = 1, backward = 1;
  };
  Flash2 flash2{};
  std::vector<KernelFamily> families;
};

}  // namespace ddl
