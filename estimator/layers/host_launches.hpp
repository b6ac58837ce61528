#pragma once

#include "core/quantity.hpp"
#include "estimator/kernels/timed_kernel.hpp"
#include "estimator/layers/job.hpp"
#include "estimator/strategies/strategy.hpp"

namespace ddl {

/// Returns the launch overhead of one kernel, in seconds. The value of the measured software has
/// priority. Without it, the datasheet's value is used if kernel times are based on the datasheet.
/// Returns zero if the assumptions exclude launch overhead.
[[nodiscard]] Seconds launch_overhead(const Job& job);

/// Returns the software's `step_overhead`, in seconds. Returns zero if the assumptions exclude waiting for the host.
[[nodiscard]] Seconds step_overhead(const Job& job);

/// Returns the seconds of a step in which the device waits for the framework, in addition to launches. They are the
/// software's `step_overhead` and, if the software starts exchanges in cycles, the wait of the last gradients for the start
/// of their exchange.
[[nodiscard]] Seconds fixed_waiting(const Job& job, const Plan& plan);

/// Returns how many launches the host needs for this kernel, in units of forward launches. Returns
/// zero for a time that is not a separate kernel.
[[nodiscard]] double launches_of(const Job& job, const TimedKernel& kernel);

/// Returns the host's time to launch the products of experts in forward: one product per expert,
/// and below 16 bits also the conversion of the expert's tokens. Returns zero if the host can run
/// ahead of the device [formulas.md, "Waiting for the host"].
[[nodiscard]] Seconds expert_launch_time(const Job& job, const ShardContext& context, const LayerShard& shard,
                                         const TimedKernel& kernel);

}  // namespace ddl
