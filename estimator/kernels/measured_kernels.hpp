#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/quantity.hpp"
#include "model_zoo/network/problem.hpp"

namespace ddl {

/// The result of one measurement: the median and its interval.
struct MeasuredTime {
  Seconds median{}, low{}, high{};
};

struct MeasuredKernel {
  Problem problem;
  MeasuredTime time;
  /// Scratch memory requested from the framework; unset if it was not recorded.
  std::optional<Bytes> workspace{};
};

struct MeasuredUpdate {
  UpdateProblem problem;
  MeasuredTime time;
};

/// The time of one phase of a whole step that the phase's kernels, measured one by one, do not explain. If the phase takes
/// longer than the sum of its kernels, the overhead is a launch overhead per kernel. If the phase takes less, because a
/// kernel finds the results of the previous one in the caches, the overhead is a factor.
struct StepOverhead {
  Seconds per_kernel{};
  double factor = 1;
};

/// A measured phase of a step: its time, the number of its kernels that take time, the sum of the separately measured times
/// of these kernels, and the time of first touches of fresh memory.
struct MeasuredPhase {
  Seconds whole{}, kernels{};
  double count = 0;
  Seconds fresh_memory{};
};
/// Returns the overhead of a phase that was measured in several sizes: the mean per kernel, or the ratio of the sums. First
/// touches of fresh memory are left out. Without measurements there is no overhead.
[[nodiscard]] StepOverhead overhead_of(const std::vector<MeasuredPhase>& phases);
/// The overhead of a phase whose kernels are all of one kind, such as updates. They share a factor f and a launch overhead
/// o. Neither is below zero, and together they minimize the sum of ((f·kernels + o·count)/whole − 1)². If the phases are too
/// similar to identify both, overhead_of is used.
[[nodiscard]] StepOverhead overhead_of_one_kind(const std::vector<MeasuredPhase>& phases);

/// The measured kernels of one device, from any source.
struct MeasuredKernels {
  std::string name;  ///< name of the measurements in reports
  /// Memory format of images, `channels-last` or `channels-first`, if the device supports both; `both` if the measurements
  /// use both.
  std::string layout;
  std::vector<MeasuredKernel> kernels;
  std::vector<MeasuredUpdate> updates;
  StepOverhead forward, backward, update;
  std::string steps;              ///< description of the steps that the overheads were measured in; empty if there are none
  SecondsPerByte fresh_memory{};  ///< time of a first touch, in addition to the kernel that fills the memory (fresh_bytes)
  bool same_model = true;         ///< whether the overheads were measured with the model that is estimated
};

}  // namespace ddl
