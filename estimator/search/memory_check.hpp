#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "estimator/plan/plan_choice.hpp"
#include "estimator/search/verdict.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// What a plan needs, and whether that is there.
struct MemoryCheck {
  Estimate estimate;
  Verdict verdict = Verdict::fits;
};

// Each of these prices plans and judges them: nothing is extrapolated. The memory that they are held against is that of the
// estimator's machine.

/// Nothing where a limit of its shape rules the plan out.
[[nodiscard]] std::optional<MemoryCheck> check_memory(const Estimator& estimator, const Plan& plan);

/// The largest global batches of a plan that is otherwise the same, in whole samples for each replica and micro-batch.
struct LargestBatch {
  std::optional<std::int64_t> fits;
  std::optional<std::int64_t> at_risk;  ///< that is expected to fit: as large as `fits`, or larger
};
[[nodiscard]] LargestBatch largest_batch(const Estimator& estimator, const Plan& plan);

/// What of the batch stays the same on another number of devices.
enum class BatchKept { global, per_device };
/// The fewest devices on which a plan fits that divides along the same axes (`data` where it divides nothing), with its
/// micro-batches, or as many of them as its replicas have samples; of several the fastest. Where none fits, the fewest at
/// risk; nothing where there is none up to the machine's size. Looked at are all numbers up to 64, and powers of two above.
[[nodiscard]] std::optional<MemoryCheck> fewest_devices(const Estimator& estimator, const Plan& plan, BatchKept kept);

/// A plan for the same batch on as many devices, in place of one that does not fit.
struct Remedy {
  enum class Kind {
    micro_batches,  ///< more and smaller ones
    choice,         ///< another value of one of the plan's choices
    together,       ///< several of these, where none does it alone
    strategy,       ///< other degrees
  };
  Kind kind = Kind::micro_batches;
  std::optional<PlanChoice> choice;
  MemoryCheck checked;
};
/// One of each kind, the least that fits, or else is at risk while `plan` does not fit at all; the fastest first. None for a
/// plan that fits.
[[nodiscard]] std::vector<Remedy> remedies(const Estimator& estimator, const MemoryCheck& checked);

}  // namespace ddl
