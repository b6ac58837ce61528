#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calibration/kernels/kernel_sample.hpp"
#include "core/quantity.hpp"
#include "estimator/inputs/machine.hpp"
#include "estimator/kernels/provenance.hpp"

namespace ddl {

/// The accuracy of a device's kernel model for measured kernels of one kind, precision and combination of passes.
struct KernelAccuracy {
  std::string kernels, passes, precision;
  Provenance source = Provenance::roofline;  ///< the least certain provenance of the predictions
  std::size_t rows = 0;
  double median_error = 0, p90_error = 0;  ///< errors are |predicted / measured − 1|
  double median_ratio = 0;                 ///< median of predicted / measured
  std::optional<double> inside{};          ///< share of kernels within the 95 % interval; unset without an interval
};

struct KernelValidation {
  std::vector<KernelAccuracy> groups;  ///< groups by kind, precision and passes
  std::size_t refused = 0;             ///< number of rows in a precision that the device does not support
};

/// Predicts measured kernels with the existing kernel model of the device, without fitting. `overhead` is added to each
/// predicted time, because measured times include, for example, the launch overhead.
[[nodiscard]] KernelValidation validate_kernels(std::span<const KernelSample> samples, const Device& device,
                                                Seconds overhead);

}  // namespace ddl
