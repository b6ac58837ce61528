#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/quantity.hpp"
#include "model_zoo/network/problem.hpp"

namespace ddl {

/// What came of measuring one thing: the median and the interval it lies in.
struct MeasuredTime {
  Seconds median{}, low{}, high{};
};

struct MeasuredKernel {
  Problem problem;
  MeasuredTime time;
  /// Scratch memory that it asks the framework for; nothing where whoever timed it did not see that.
  std::optional<Bytes> workspace{};
};

struct MeasuredUpdate {
  UpdateProblem problem;
  MeasuredTime time;
};

/// What one phase of a whole step takes beside the kernels measured one by one: starting each of them where the whole takes
/// longer than their sum; where it takes less, since what one kernel leaves in the caches is near for the next, a factor.
struct StepOverhead {
  Seconds per_kernel{};
  double factor = 1;
};

/// A measured whole: one phase of a step, the kernels in it that take time, the sum of their times one by one, and what
/// first touches of fresh memory take of the whole.
struct MeasuredPhase {
  Seconds whole{}, kernels{};
  double count = 0;
  Seconds fresh_memory{};
};
/// Of one phase measured in several sizes: their mean per kernel, or the ratio of their sums, of what is not first touches
/// of fresh memory. Nothing measured is no overhead.
[[nodiscard]] StepOverhead overhead_of(const std::vector<MeasuredPhase>& phases);
/// The same of a phase whose kernels are all of one kind, as those of updates are, so that they have a factor in common: the
/// factor f and the start o of a kernel, neither below zero, with the least sum of ((f·kernels + o·count)/whole − 1)². Where
/// the phases are too alike to tell the two apart, overhead_of.
[[nodiscard]] StepOverhead overhead_of_one_kind(const std::vector<MeasuredPhase>& phases);

/// Kernels of one device that were timed, whoever timed them.
struct MeasuredKernels {
  std::string name;  ///< of the measurements, as reports print it
  /// Of images in memory, `channels-last` or `channels-first`, where the device has both; `both` where some were measured so
  /// and some so.
  std::string layout;
  std::vector<MeasuredKernel> kernels;
  std::vector<MeasuredUpdate> updates;
  StepOverhead forward, backward, update;
  std::string steps;              ///< whose steps the overheads are of, in words; empty where there are none
  SecondsPerByte fresh_memory{};  ///< what its first touch takes, beside the kernel that fills it (fresh_bytes)
  bool same_model = true;         ///< the overheads are of the model that is priced
};

}  // namespace ddl
