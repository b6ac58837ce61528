#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/quantity.hpp"

namespace ddl {

/// When a measurement is trusted, and when it is given up.
struct SamplingRule {
  int warm_up = 2;               ///< runs that do not count
  int least = 6;                 ///< samples: fewer have no interval of 95 % (median_interval)
  int most = 200;                ///< samples
  double tolerance = 0.02;       ///< half of the interval of the median, over the median
  double confidence = 0.95;      ///< of the interval
  Seconds limit = Seconds(1.0);  ///< of all samples of one problem; `least` are taken all the same
};

/// Repeated times of one thing, and what they say of it.
struct Samples {
  std::vector<double> seconds;    ///< in the order taken, warm-up left out
  int count = 0;                  ///< how many there were, where they are no longer kept
  Seconds median{}, deviation{};  ///< deviation: median distance from the median
  Seconds low{}, high{};          ///< interval of the median; smallest and largest sample where there are too few for one
  bool settled = false;           ///< the interval met the tolerance
  /// The second half of the samples is slower or faster than the first by more than chance allows: a clock that throttles, a
  /// machine that becomes busy. Mann-Whitney's U, normal approximation, |z| > 3.29 (0.1 %).
  bool has_trend = false;
};

/// Calls `once` until the rule is met. `stop` is asked before each sample; samples taken by then are returned.
[[nodiscard]] Samples take_samples(const SamplingRule& rule, const std::function<Seconds()>& once,
                                   const std::function<bool()>& stop = {});
/// Statistics of samples read back.
[[nodiscard]] Samples summarize(std::vector<double> seconds, const SamplingRule& rule);

}  // namespace ddl
