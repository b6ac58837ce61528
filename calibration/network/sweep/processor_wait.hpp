#pragma once

#include <optional>
#include <string_view>

#include "calibration/network/sweep/processes.hpp"
#include "core/quantity.hpp"

namespace ddl {

/// Waiting of a process for processors since it started.
struct ProcessorTurns {
  Seconds waited{};  ///< ready to run, in all
  double turns = 0;  ///< that it had on a processor
};

/// Of Linux's /proc/self/schedstat (sched-stats in the kernel's documentation): nanoseconds on a processor, nanoseconds that
/// the process was ready and waited for one, and turns. Nothing for any other text.
[[nodiscard]] std::optional<ProcessorTurns> parse_processor_turns(std::string_view schedstat);

/// How long ranks wait for a processor while they measure. Messages wait with them, and by so regular turns that the times
/// do not differ.
class ProcessorWait {
 public:
  /// From now on.
  ProcessorWait();
  /// Of the processes, the longest mean wait for a turn of those that waited more than a twentieth of the time until now;
  /// each of them calls it. Ranks that yield to each other wait often, but only for moments. 0 where a kernel does not say.
  [[nodiscard]] Seconds longest(Processes& processes) const;

 private:
  std::optional<ProcessorTurns> before_;
  Seconds begin_{};
};

}  // namespace ddl
