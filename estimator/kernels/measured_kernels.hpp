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

/// The difference between the measured time of a phase of a whole step and the times of its kernels, measured one by one. If
/// the phase takes longer than the sum of its kernels, the overhead is a launch overhead per kernel. If the phase takes
/// less, because a kernel finds the results of the previous kernel in the caches, the overhead is a factor.
struct StepOverhead {
  Seconds per_kernel{};
  double factor = 1;
};

/// A measured phase of a step: its time, the number of kernels that take time, the sum of their
/// separately measured times, and the time of first touches of fresh memory.
struct MeasuredPhase {
  Seconds whole{}, kernels{};
  double count = 0;
  Seconds fresh_memory{};
};
/// Returns the overhead of a phase that was measured in several sizes: the mean per kernel, or the ratio of the sums. First
/// touches of fresh memory are left out. Without measurements, the result has no overhead.
[[nodiscard]] StepOverhead overhead_of(const std::vector<MeasuredPhase>& phases);
/// Returns the overhead of a phase with kernels of one type, such as updates. All kernels share a factor f and a launch
/// overhead o. Both are at least zero, and minimize the sum of ((f·kernels + o·count)/whole − 1)² over the phases. If the
/// phases are too similar to determine f and o, overhead_of is used.
[[nodiscard]] StepOverhead overhead_of_one_kind(const std::vector<MeasuredPhase>& phases);

/// The measured kernels of one device, from any source.
struct MeasuredKernels {
  std::string name;  ///< name of the measurements in reports
  /// Memory format of images in the measurements, if the device supports several: `channels-last`,
  /// `channels-first` or `both`.
  std::string layout;
  std::vector<MeasuredKernel> kernels;
  std::vector<MeasuredUpdate> updates;
  StepOverhead forward, backward, update;
  std::string steps;              ///< steps that the overheads were measured in; empty if there are none
  SecondsPerByte fresh_memory{};  ///< time of first touches (fresh_bytes), in addition to kernels that fill the memory
  bool same_model = true;         ///< whether the overheads were measured with the model that is estimated
};

}  // namespace ddl
