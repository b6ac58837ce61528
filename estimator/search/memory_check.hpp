#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "estimator/choices/plan_choice.hpp"
#include "estimator/memory/verdict.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// The estimate of a plan, and whether it fits in memory.
struct MemoryCheck {
  Estimate estimate;
  Verdict verdict = Verdict::fits;
};

// The following functions estimate plans and decide whether they fit in the memory of the
// estimator's machine. They do not extrapolate.

/// Returns the plan's estimate with its verdict; empty if a limit excludes the plan's shape.
[[nodiscard]] std::optional<MemoryCheck> check_memory(const Estimator& estimator, const Plan& plan);

/// The largest global batches, in samples, of plans that differ from the given plan only in the batch. Each replica and
/// micro-batch has a whole number of samples.
struct LargestBatch {
  std::optional<std::int64_t> fits;
  std::optional<std::int64_t> at_risk;  ///< the largest batch whose expected memory fits; at least `fits`
};
[[nodiscard]] LargestBatch largest_batch(const Estimator& estimator, const Plan& plan);

/// Returns whether a search should continue. A search that is ended returns what it has found. Unset: it continues to its
/// end.
using GoOn = std::function<bool()>;

/// The quantity that stays constant on another number of devices: the global batch, or the number of samples per device.
enum class BatchKept { global, per_device };
/// Returns a plan with the fewest devices that fits and has at most the given plan's degrees of all axes except `data`. If
/// none fits, any degrees of the given plan's axes are tried. The plan has at least the given number of micro-batches, and
/// no larger micro-batches. Among several such plans, the fastest one is returned. If none fits, the result is the plan with
/// the fewest devices that is at risk, or empty if no plan up to the size of the machine is at risk. All numbers of devices
/// up to 64 are tried, and powers of two above 64.
[[nodiscard]] std::optional<MemoryCheck> fewest_devices(const Estimator& estimator, const Plan& plan, BatchKept kept,
                                                        const GoOn& go_on = {});

/// A plan for the same batch on the same number of devices, which replaces a plan that does not fit.
struct Remedy {
  enum class Kind {
    micro_batches,  ///< more, smaller micro-batches
    choice,         ///< another value of one of the plan's choices, such as the ZeRO stage
    together,       ///< several choices and micro-batches together, if no single change is sufficient
    strategy,       ///< another strategy, with other degrees
  };
  Kind kind = Kind::micro_batches;
  std::optional<PlanChoice> choice;
  MemoryCheck checked;
};
/// Returns one remedy of each type, fastest first: the smallest change that fits or, if the given
/// plan does not fit at all, the smallest change that is at risk. Returns no remedy for a plan that
/// fits. `admitted`: the choices that the software supports.
[[nodiscard]] std::vector<Remedy> remedies(const Estimator& estimator, const MemoryCheck& checked,
                                           const AdmittedChoices& admitted = {}, const GoOn& go_on = {});

}  // namespace ddl
