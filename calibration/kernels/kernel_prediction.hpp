#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "calibration/inputs/profile_prices.hpp"
#include "core/quantity.hpp"
#include "estimator/inputs/coefficients.hpp"
#include "estimator/inputs/machine.hpp"
#include "estimator/kernels/kernel_model.hpp"
#include "estimator/kernels/provenance.hpp"
#include "model_zoo/network/problem.hpp"

namespace ddl {

/// What is priced as one kernel.
using KernelProblem = std::variant<Problem, UpdateProblem>;

[[nodiscard]] std::string print_problem(const KernelProblem& problem);
[[nodiscard]] Precision precision_of(const KernelProblem& problem);

/// The time of kernels that run one after the other on `samples` samples each, by the kernel model of a device. The ends of
/// the intervals are added, too.
[[nodiscard]] KernelTime time_together(const KernelModel& model, std::span<const std::pair<Work, Pass>> kernels,
                                       double samples);

/// The time of one kernel on the device, which the host has started before.
struct PredictedKernel {
  std::string line;  ///< of the problem
  Seconds time{};
  std::optional<Seconds> low{},
      high{};  ///< 95 % interval of a measured median, or of a formula; nothing where none is known
  Provenance source = Provenance::roofline;
};

struct PredictedKernels {
  std::vector<PredictedKernel> kernels;  ///< in the order of the problems
  std::vector<std::string> warnings;     ///< of measurements that are not used, each one line
};

/// Prices kernels one by one, as KernelPrices does for a model that nobody has timed as a whole: by measured kernels of
/// their precision; without any by the device's kernel model, scaled as the coefficients' measured models ask for. Launches,
/// and what a whole step takes beside its kernels, are left out. Throws Error on a precision that the data sheet does not
/// have.
[[nodiscard]] PredictedKernels predict_kernels(std::span<const KernelProblem> problems, const Machine& machine,
                                               const Coefficients& coefficients, std::span<const FoundProfile> profiles);

}  // namespace ddl
