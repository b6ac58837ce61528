#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "estimator/kernels/kernel_form.hpp"
#include "model_zoo/operations/operation.hpp"
#include "model_zoo/values/precision.hpp"

namespace ddl {

/// Coordinates of a kernel among others of its kind: log2 of m, n, k, count and bytes.
using KernelPlace = std::array<float, 5>;
[[nodiscard]] KernelPlace place_of(const KernelShape& shape);

/// A measured kernel, and its deviation from the formula.
struct KernelResidual {
  KernelPlace place{};
  float log_ratio = 0;  ///< ln(measured / formula)
};

/// Measured kernels of one kind, pass and precision on one device: the constants of a formula, and the residuals.
struct KernelFamily {
  KernelKind kind = KernelKind::elementwise;
  std::optional<Pass> pass{};  ///< unset: every pass
  Precision precision = Precision::fp32;
  std::vector<double> constants{};  ///< in the order of form_of(kind)
  std::vector<KernelResidual> residuals{};
  /// ln of the factor that covers 95 % of the predictions of rows that were left out: between measured kernels, and outside
  /// of them.
  double spread_inside = 0.5, spread_outside = 0.7;
  int rows = 0;  ///< number of rows that it was fitted to
  std::string source{};
};

/// The kernel data of one device.
struct DeviceKernels {
  std::string device;  ///< as in the machine's datasheet
  std::vector<KernelFamily> families;
};

}  // namespace ddl
