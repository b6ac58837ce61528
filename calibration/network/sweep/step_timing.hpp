#pragma once

#include <cstdint>

#include "calibration/network/sweep/transport.hpp"
#include "profiler/measurement/sampler.hpp"

namespace ddl {

/// When the timing of one exchange is trusted, and what makes one sample of it.
struct TimingRule {
  SamplingRule sampling{.warm_up = 1, .limit = Seconds(0.1)};
  Seconds sample = Seconds(1e-3);  ///< exchanges that take less are repeated until they take so long
  int most_repetitions = 1000;     ///< for one sample
};

/// One exchange, timed. Every process has the same.
struct StepTiming {
  Samples samples{};        ///< of the mean over the ranks; over the groups, too, where there are several
  Seconds least{}, most{};  ///< medians of the quickest and of the slowest rank
  int repetitions = 1;      ///< in one sample
  [[nodiscard]] Seconds time() const { return samples.median; }
};

/// Two exchanges come before those that are timed: libraries connect ranks, and load code, when a group first exchanges, and
/// again where the algorithm changes with the size. Of a pair the first rank's time counts, as in OSU's tests.
[[nodiscard]] StepTiming time_step(Transport& transport, const ExchangeStep& step, const TimingRule& rule);

}  // namespace ddl
