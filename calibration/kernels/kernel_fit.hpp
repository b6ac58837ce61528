#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibration/kernels/kernel_sample.hpp"
#include "estimator/inputs/machine.hpp"
#include "estimator/kernels/device_kernels.hpp"

namespace ddl {

struct KernelFitSettings {
  /// Whether times include the launch overhead of the kernel. As this overhead depends on the software, the fitted `start`
  /// is then discarded.
  bool includes_launch = false;
  std::size_t most_residuals = 1500;  ///< maximum number of residuals that are stored per family
  std::string source;                 ///< key of the citation
  /// Families with known constants. If kernels of several passes were timed together, the predicted
  /// times of these families are subtracted.
  std::vector<KernelFamily> known{};
};

/// The accuracy of a family on rows that were left out: medians and 90th percentiles of |predicted / measured − 1|.
struct KernelFitReport {
  KernelKind kind = KernelKind::elementwise;
  std::string passes;
  Precision precision = Precision::fp32;
  std::size_t rows = 0;
  double formula_median = 0, formula_p90 = 0;    ///< errors of all rows, if only the formula is used
  double left_out_median = 0, left_out_p90 = 0;  ///< errors of the held-out 30 % of rows, with the rest's residuals
};

struct KernelFit {
  std::vector<KernelFamily> families;
  std::vector<KernelFitReport> reports;
};

/// Fits one formula for each kind, pass and precision of kernels. The fit minimizes the squares of
/// the logarithms of predicted / measured. Rows that are off by more than a tenth have less weight.
/// Constants that the rows do not determine keep their defaults.
[[nodiscard]] KernelFit fit_kernels(std::span<const KernelSample> samples, const Device& device,
                                    const KernelFitSettings& settings);

}  // namespace ddl
