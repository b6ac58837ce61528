#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "estimator/kernels/kernel_form.hpp"
#include "model_zoo/operations/operation.hpp"
#include "model_zoo/values/precision.hpp"

namespace ddl {

/// Where a kernel lies among others of its kind: binary logarithms of m, n, k, count and bytes.
using KernelPlace = std::array<float, 5>;
[[nodiscard]] KernelPlace place_of(const KernelShape& shape);

/// A measured kernel, and by how much it differs from its formula.
struct KernelResidual {
  KernelPlace place{};
  float log_ratio = 0;  ///< ln(measured / formula)
};

/// Kernels of one kind, pass and precision that were measured on one device, as a formula's constants and what is left.
struct KernelFamily {
  KernelKind kind = KernelKind::elementwise;
  std::optional<Pass> pass{};  ///< none: of every pass
  Precision precision = Precision::fp32;
  std::vector<double> constants{};  ///< as form_of(kind) has them
  std::vector<KernelResidual> residuals{};
  /// ln of the factor that 95 % of predictions lie within, of rows that were left out: between measured ones, and beyond.
  double spread_inside = 0.5, spread_outside = 0.7;
  int rows = 0;  ///< that it was fitted to
  std::string source{};
};

/// What is known of a device's kernels.
struct DeviceKernels {
  std::string device;  ///< as a machine's data sheet calls it
  std::vector<KernelFamily> families;
};

}  // namespace ddl
