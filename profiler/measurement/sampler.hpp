#pragma once

#include <functional>
#include <vector>

#include "core/quantity.hpp"

namespace ddl {

/// The rule that decides when a measurement is complete, and when to give up.
struct SamplingRule {
  int warm_up = 2;               ///< runs that are not recorded
  int least = 6;                 ///< minimum number of samples; fewer have no 95 % interval (median_interval)
  int most = 200;                ///< maximum number of samples
  double tolerance = 0.02;       ///< maximum half-width of the median's interval, relative to the median
  double confidence = 0.95;      ///< confidence of the interval
  Seconds limit = Seconds(1.0);  ///< time limit for all samples of one problem; `least` samples are always taken
};

/// Repeated times of the same work, and their statistics.
struct Samples {
  std::vector<double> seconds;    ///< in the order of measurement, without warm-up
  int count = 0;                  ///< number of samples, if they are no longer stored
  Seconds median{}, deviation{};  ///< `deviation` is the median distance from the median
  Seconds low{}, high{};          ///< interval of the median; smallest and largest sample if there are too few samples
  bool settled = false;           ///< whether the interval met the tolerance
  /// Whether the second half of the samples is slower or faster than the first by more than chance allows, because of
  /// throttling clocks or other load on the machine. Mann-Whitney's U, normal approximation, |z| > 3.29 (0.1 %).
  bool has_trend = false;
};

/// Calls `once` until the rule is met, and returns the samples. `stop` is called before each
/// sample. If it returns true, the samples so far are returned.
[[nodiscard]] Samples take_samples(const SamplingRule& rule, const std::function<Seconds()>& once,
                                   const std::function<bool()>& stop = {});
/// Computes the statistics of samples that were read from a file, in seconds.
[[nodiscard]] Samples summarize(std::vector<double> seconds, const SamplingRule& rule);

}  // namespace ddl
