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

/// Measures how long ranks wait for a CPU while they run. This wait delays messages so regularly that times do not scatter.
/// So the scatter of times would not reveal the wait.
class ProcessorWait {
 public:
  /// Starts the measurement.
  ProcessorWait();
  /// The longest mean wait for a time slice among the processes that have waited for more than a twentieth of the time so
  /// far. All processes must call it. Ranks that yield the CPU to each other wait often, but only briefly. 0 if the
  /// operating system does not report waiting times.
  [[nodiscard]] Seconds longest(Processes& processes) const;

 private:
  std::optional<ProcessorTurns> before_;
  Seconds begin_{};
};

}  // namespace ddl
