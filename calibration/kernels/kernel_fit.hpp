#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibration/kernels/kernel_sample.hpp"
#include "estimator/inputs/machine.hpp"
#include "estimator/kernels/device_kernels.hpp"

namespace ddl {

struct KernelFitSettings {
  /// The times hold what the host takes to start the kernel, which is the software's: the start that is found is not kept.
  bool includes_launch = false;
  std::size_t most_residuals = 1500;  ///< of a family that are kept
  std::string source;                 ///< key of the citation
  /// What is known already: of kernels of several passes that were timed together, the known ones are taken off.
  std::vector<KernelFamily> known{};
};

/// How well a family predicts rows that it was not fitted to: medians and 90th percentiles of |predicted / measured − 1|.
struct KernelFitReport {
  KernelKind kind = KernelKind::elementwise;
  std::string passes;
  Precision precision = Precision::fp32;
  std::size_t rows = 0;
  double formula_median = 0, formula_p90 = 0;    ///< of all rows, by the formula alone
  double left_out_median = 0, left_out_p90 = 0;  ///< of the 30 % that were left out, with the others' residuals
};

struct KernelFit {
  std::vector<KernelFamily> families;
  std::vector<KernelFitReport> reports;
};

/// Fits the formula of each kind, pass and precision to the rows that have it: least squares of the logarithms, with less
/// and less weight for rows beyond a tenth, and constants that the rows do not decide left where they usually are.
[[nodiscard]] KernelFit fit_kernels(std::span<const KernelSample> samples, const Device& device,
                                    const KernelFitSettings& settings);

}  // namespace ddl
