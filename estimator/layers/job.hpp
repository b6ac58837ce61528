#pragma once

#include <memory>

#include "core/quantity.hpp"
#include "estimator/facts/model_facts.hpp"
#include "estimator/inputs/assumptions.hpp"
#include "estimator/inputs/coefficients.hpp"
#include "estimator/inputs/machine.hpp"
#include "estimator/kernels/kernel_time.hpp"

namespace ddl {

/// Everything that does not change while plans are compared: what is trained, on what, and which effects count. Its maker
/// owns the parts; a part that is replaced belongs to the new job and all copies of it.
struct Job {
  const ModelFacts& facts;
  const Machine& machine;
  const Coefficients& coefficients;
  const KernelPrices& kernels;
  const Assumptions& assumptions;
  double samples_per_epoch = 0;  ///< D
  Bytes sample_bytes{};          ///< on disk
  Bytes dataset_bytes{};
  bool stored_raw = false;  ///< samples are stored item by item, so that a part of one can be read without the rest
  std::shared_ptr<const void> replaced{};  ///< keeps alive what the functions below have put in

  /// Whether whole layers are priced and shared out, not kernels one by one.
  [[nodiscard]] bool prices_whole_layers() const {
    return assumptions.linear_kernels || kernels.origin() == KernelBasis::given;
  }
  /// The same job with one part replaced. Prices of kernels stay what they are.
  [[nodiscard]] Job with_machine(Machine other) const;
  [[nodiscard]] Job with_coefficients(Coefficients other) const;
  [[nodiscard]] Job with_assumptions(const Assumptions& other) const;
};

/// Returns the launch overhead of one kernel, in seconds: of the measured software, else of the data sheet if kernels are
/// priced by the data sheet. Returns zero if the assumptions leave it out.
[[nodiscard]] Seconds launch_overhead(const Job& job);

}  // namespace ddl
