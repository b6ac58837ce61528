#pragma once

#include <optional>
#include <string_view>

#include "calibration/network/sweep/processes.hpp"
#include "core/quantity.hpp"

namespace ddl {

/// The time that a process has waited for CPUs since it started.
struct ProcessorTurns {
  Seconds waited{};  ///< total time in the state ready to run
  double turns = 0;  ///< number of time slices on a CPU
};

/// Parses Linux's /proc/self/schedstat (sched-stats in the kernel's documentation): nanoseconds on a CPU, nanoseconds of
/// waiting for a CPU, and number of time slices. Empty for any other text.
[[nodiscard]] std::optional<ProcessorTurns> parse_processor_turns(std::string_view schedstat);

/// Measures how long ranks that are ready to run wait for a CPU. This wait delays messages so
/// regularly that it does not show in the scatter of times.
class ProcessorWait {
 public:
  /// Starts the measurement.
  ProcessorWait();
  /// Returns the longest mean wait for a time slice. Only processes that have waited for more than a twentieth of the time
  /// so far count. Ranks that yield the CPU to each other wait often, but only briefly. Returns 0 if the operating system
  /// does not report waiting times. All processes must call this function.
  [[nodiscard]] Seconds longest(Processes& processes) const;

 private:
  std::optional<ProcessorTurns> before_;
  Seconds begin_{};
};

}  // namespace ddl
