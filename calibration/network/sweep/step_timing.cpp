#include "calibration/network/sweep/step_timing.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "core/statistics.hpp"

namespace ddl {
namespace {

struct OneSample {
  double mean = 0, least = 0, most = 0;
};

OneSample sample_of(Transport& transport, const ExchangeStep& step, int repetitions) {
  const bool of_pair = kind_of(step.operation).pattern != ExchangePattern::collective;
  std::vector<double> seconds;
  for (const std::vector<Seconds>& group : transport.time(step, repetitions)) {
    for (const Seconds each : group) {
      seconds.push_back(each.value());
      if (of_pair) break;
    }
  }
  const auto [least, most] = std::minmax_element(seconds.begin(), seconds.end());
  return {mean(seconds), *least, *most};
}

}  // namespace

StepTiming time_step(Transport& transport, const ExchangeStep& step, const TimingRule& rule) {
  // Number of warm-up exchanges. The first exchanges of a size connect ranks and load code, which takes as long as thousands
  // of exchanges.
  constexpr int uncounted = 2;
  for (int i = 0; i < uncounted; ++i) static_cast<void>(sample_of(transport, step, 1));
  // `messages` and `once` are equal in all processes, so all processes make the same decisions.
  const double messages = kind_of(step.operation).pattern == ExchangePattern::collective ? 1.0 : step.window;
  const double once = sample_of(transport, step, 1).mean * messages;
  StepTiming timing;
  timing.repetitions = static_cast<int>(
      std::clamp(std::ceil(rule.sample.value() / std::max(once, 1e-9)), 1.0, static_cast<double>(rule.most_repetitions)));
  std::vector<double> least, most;
  // The limit is divided by the number of messages in a sample, because take_samples adds up the times of single messages.
  SamplingRule sampling = rule.sampling;
  sampling.limit = rule.sampling.limit / (timing.repetitions * messages);
  timing.samples = take_samples(sampling, [&] {
    const OneSample sample = sample_of(transport, step, timing.repetitions);
    least.push_back(sample.least);
    most.push_back(sample.most);
    return Seconds(sample.mean);
  });
  // Skips the warm-up runs.
  const std::size_t first = least.size() - static_cast<std::size_t>(timing.samples.count);
  timing.least = Seconds(median(std::span(least).subspan(first)));
  timing.most = Seconds(median(std::span(most).subspan(first)));
  return timing;
}

}  // namespace ddl
