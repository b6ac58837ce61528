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

/// How well the kernel model of a device predicts the measured kernels of one kind, one precision and the passes that were
/// timed together.
struct KernelAccuracy {
  std::string kernels, passes, precision;
  Provenance source = Provenance::roofline;  ///< what the predictions rest on, of the least certain
  std::size_t rows = 0;
  double median_error = 0, p90_error = 0;  ///< of |predicted / measured − 1|
  double median_ratio = 0;                 ///< of predicted / measured
  std::optional<double> inside{};          ///< the share that lies within the 95 % interval; nothing where none has one
};

struct KernelValidation {
  std::vector<KernelAccuracy> groups;  ///< by kind, precision and passes
  std::size_t refused = 0;             ///< rows in a precision that the device does not have
};

/// Prices measured kernels by the kernel model that the device has, and fits nothing. `overhead` is what each measured time
/// holds beside its kernels, for example what a host takes to start them; it is added to each prediction.
[[nodiscard]] KernelValidation validate_kernels(std::span<const KernelSample> samples, const Device& device,
                                                Seconds overhead);

}  // namespace ddl
