#pragma once

#include "calibration/network/sweep/transport.hpp"
#include "profiler/measurement/sampler.hpp"

namespace ddl {

/// The rule that decides when the timing of one exchange is complete, and what one sample consists of.
struct TimingRule {
  SamplingRule sampling{.warm_up = 1, .limit = Seconds(0.1)};
  Seconds sample = Seconds(1e-3);  ///< minimum duration of a sample: shorter exchanges are repeated
  int most_repetitions = 1000;     ///< maximum number of exchanges in one sample
};

/// The timing of one exchange. All processes have the same values.
struct StepTiming {
  Samples samples{};        ///< each sample is a mean over all ranks and groups
  Seconds least{}, most{};  ///< median times of the fastest and of the slowest rank
  int repetitions = 1;      ///< exchanges in one sample
  [[nodiscard]] Seconds time() const { return samples.median; }
};

/// Two warm-up exchanges precede the timed exchanges: libraries connect ranks and load code when a group first communicates,
/// and when another size uses another algorithm. For a pair, the first rank's time is used, as in OSU's tests.
[[nodiscard]] StepTiming time_step(Transport& transport, const ExchangeStep& step, const TimingRule& rule);

}  // namespace ddl
