#include "profiler/measurement/sampler.hpp"

#include <algorithm>
#include <cmath>

#include "core/statistics.hpp"

namespace ddl {
namespace {

/// Mann-Whitney's U of the first half against the second, in standard deviations. Ties count one half.
double half_against_half(const std::vector<double>& seconds) {
  const std::size_t first = seconds.size() / 2;
  const std::size_t second = seconds.size() - first;
  if (first < 8) return 0;  // minimum for the normal approximation
  double above = 0;
  for (std::size_t i = 0; i < first; ++i) {
    for (std::size_t j = first; j < seconds.size(); ++j) {
      above += seconds[j] > seconds[i] ? 1.0 : (seconds[j] == seconds[i] ? 0.5 : 0.0);
    }
  }
  const auto n1 = static_cast<double>(first);
  const auto n2 = static_cast<double>(second);
  return (above - n1 * n2 / 2) / std::sqrt(n1 * n2 * (n1 + n2 + 1) / 12);
}

}  // namespace

Samples summarize(std::vector<double> seconds, const SamplingRule& rule) {
  Samples samples;
  samples.seconds = std::move(seconds);
  samples.count = static_cast<int>(samples.seconds.size());
  if (samples.seconds.empty()) return samples;
  samples.median = Seconds(median(samples.seconds));
  samples.deviation = Seconds(median_deviation(samples.seconds));
  if (const auto interval = median_interval(samples.seconds, rule.confidence)) {
    samples.low = Seconds(interval->low);
    samples.high = Seconds(interval->high);
    samples.settled = (interval->high - interval->low) / 2 <= rule.tolerance * samples.median.value();
  } else {
    const auto [low, high] = std::minmax_element(samples.seconds.begin(), samples.seconds.end());
    samples.low = Seconds(*low);
    samples.high = Seconds(*high);
  }
  constexpr double thousandth = 3.29;  // two-sided, standard normal
  samples.has_trend = std::abs(half_against_half(samples.seconds)) > thousandth;
  return samples;
}

Samples take_samples(const SamplingRule& rule, const std::function<Seconds()>& once, const std::function<bool()>& stop) {
  const auto stopped = [&] { return stop && stop(); };
  for (int run = 0; run < rule.warm_up && !stopped(); ++run) static_cast<void>(once());
  std::vector<double> seconds;
  Seconds total{};
  // If the interval were checked after every sample, an interval that is narrow by chance would sooner or later be accepted.
  // So the interval is only checked when the number of samples has grown by half.
  int next_look = rule.least;
  while (static_cast<int>(seconds.size()) < rule.most && !stopped()) {
    const Seconds sample = once();
    seconds.push_back(sample.value());
    total += sample;
    const auto count = static_cast<int>(seconds.size());
    if (count < rule.least) continue;
    if (total >= rule.limit) break;
    if (count >= next_look) {
      if (summarize(seconds, rule).settled) break;
      next_look = std::max(count + 1, count + count / 2);
    }
  }
  return summarize(std::move(seconds), rule);
}

}  // namespace ddl
