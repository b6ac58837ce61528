#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "calibration/inputs/profile_times.hpp"
#include "core/quantity.hpp"
#include "estimator/inputs/coefficients.hpp"
#include "estimator/inputs/machine.hpp"
#include "estimator/kernels/kernel_model.hpp"
#include "estimator/kernels/provenance.hpp"
#include "model_zoo/network/problem.hpp"

namespace ddl {

/// A problem that is predicted as one kernel.
using KernelProblem = std::variant<Problem, UpdateProblem>;

[[nodiscard]] std::string print_problem(const KernelProblem& problem);
[[nodiscard]] Precision precision_of(const KernelProblem& problem);

/// The total time of kernels that run one after the other on `samples` samples each, by the kernel model of a device. The
/// bounds of the intervals are added up as well.
[[nodiscard]] KernelTime time_together(const KernelModel& model, std::span<const std::pair<Work, Pass>> kernels,
                                       double samples);

/// The device time of one kernel, without its launch.
struct PredictedKernel {
  std::string line;  ///< the problem as a profile line
  Seconds time{};
  std::optional<Seconds> low{}, high{};  ///< 95 % interval of a measured median, or of a formula; unset if unknown
  Provenance source = Provenance::roofline;
};

struct PredictedKernels {
  std::vector<PredictedKernel> kernels;  ///< in the order of the problems
  std::vector<std::string> warnings;     ///< warnings about measurements that are not used; one line each
};

/// Predicts the times of single kernels. The times equal those of KernelTimes for a model without a
/// measured total. They come from measured kernels of the precision. If there are none, they come
/// from the device's kernel model, scaled by the coefficients' measured models. Launches and step
/// overheads are not included. Throws Error for a precision that the datasheet does not have.
[[nodiscard]] PredictedKernels predict_kernels(std::span<const KernelProblem> problems, const Machine& machine,
                                               const Coefficients& coefficients, std::span<const FoundProfile> profiles);

}  // namespace ddl
