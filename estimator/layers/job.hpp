#pragma once

#include <memory>

#include "core/quantity.hpp"
#include "estimator/facts/model_facts.hpp"
#include "estimator/inputs/assumptions.hpp"
#include "estimator/inputs/coefficients.hpp"
#include "estimator/inputs/machine.hpp"
#include "estimator/kernels/kernel_time.hpp"

namespace ddl {

/// Everything that is the same for all compared plans: the model, the machine, the data, and the modelled effects. The
/// caller owns the parts. A part that a function below sets is owned by the new job and by all copies of the new job.
struct Job {
  const ModelFacts& facts;
  const Machine& machine;
  const Coefficients& coefficients;
  const KernelTimes& kernels;
  const Assumptions& assumptions;
  double samples_per_epoch = 0;  ///< D, samples of the data set
  Bytes sample_bytes{};          ///< bytes of a sample on disk
  Bytes dataset_bytes{};
  bool stored_raw = false;                 ///< samples are stored item by item, so that a part of a sample can be read alone
  std::shared_ptr<const void> replaced{};  ///< keeps alive the parts set by the functions below

  /// Whether times of unsplit layers are scaled to shards. Otherwise individual kernels are estimated.
  [[nodiscard]] bool times_whole_layers() const {
    return assumptions.linear_kernels || kernels.origin() == KernelBasis::given;
  }
  /// Returns a copy of the job with one part replaced. Kernel times are unchanged.
  [[nodiscard]] Job with_machine(Machine other) const;
  [[nodiscard]] Job with_coefficients(Coefficients other) const;
  [[nodiscard]] Job with_assumptions(const Assumptions& other) const;
};

}  // namespace ddl
