#include "cli/documents/scaling_charts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/documents/intervals.hpp"
#include "cli/documents/throughput.hpp"
#include "cli/options/plan_file.hpp"
#include "cli/report/figures.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

using Points = std::vector<StudyOutcome>;

/// Returns the throughput of a point's best plan in samples per second, or in tokens per second for sequences.
double speed_of(const StudyOutcome& point) {
  const double samples = static_cast<double>(point.global_batch) / point.best_estimate().time.step_time().value();
  const auto tokens = static_cast<double>(point.study->model().sequence_length);
  return tokens > 0 ? samples * tokens : samples;
}

/// Returns a logarithmic axis. It begins at the nearest step below `least`, and ends at the nearest
/// step above `most`. `steps` must be positive and ascending.
template <class Text>
ChartAxis stepped_axis(std::string title, const std::vector<double>& steps, double least, double most, const Text& text) {
  auto from = std::upper_bound(steps.begin(), steps.end(), least * 1.0001);
  if (from != steps.begin()) --from;
  auto to = std::lower_bound(steps.begin(), steps.end(), most * 0.9999);
  if (to == steps.end()) --to;
  if (from == to) ++to;
  if (to == steps.end()) --from, --to;
  ChartAxis axis{std::move(title), true, std::min(*from, least), std::max(*to, most)};
  for (auto each = from; each <= to; ++each) axis.ticks.push_back({*each, text(*each)});
  return axis;
}

/// Returns the steps of a decimal axis: 1, 2 and 5 times the powers of ten.
std::vector<double> decimal_steps() {
  std::vector<double> steps;
  for (int power = -6; power <= 18; ++power) {
    for (const double digit : {1.0, 2.0, 5.0}) steps.push_back(digit * std::pow(10.0, power));
  }
  return steps;
}

/// Returns the steps of a time axis in seconds, at round numbers of seconds, minutes, hours and days.
std::vector<double> time_steps() {
  constexpr double minute = 60, hour = 3600, day = 86400;
  std::vector<double> steps{1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 2, 5, 10, 20, 30};
  for (const double each : {1.0, 2.0, 5.0, 10.0, 20.0, 30.0}) steps.push_back(each * minute);
  for (const double each : {1.0, 2.0, 4.0, 8.0, 16.0}) steps.push_back(each * hour);
  for (double each = 1; each < 1e9; each *= 2) steps.push_back(each * day);
  return steps;
}

std::string time_step_text(double seconds) {
  constexpr double minute = 60, hour = 3600, day = 86400;
  if (seconds < minute) return seconds < 1 ? humanize(Seconds(seconds)) : fmt::format("{:g} s", seconds);
  if (seconds < hour) return fmt::format("{:g} min", seconds / minute);
  if (seconds < day) return fmt::format("{:g} h", seconds / hour);
  return fmt::format("{} d", whole_text(seconds / day));
}

/// Prints a number with a letter for its power of 1000: `20k`, `5M`.
std::string short_figure(double value) {
  for (const auto& [factor, letter] :
       std::initializer_list<std::pair<double, const char*>>{{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}}) {
    if (value >= factor) return fmt::format("{:g}{}", value / factor, letter);
  }
  return fmt::format("{:g}", value);
}

constexpr std::array<Tone, 6> curve_tones{Tone::blue, Tone::vermilion, Tone::green, Tone::purple, Tone::brown, Tone::sky};

}  // namespace

std::optional<Chart> speed_plot(const Points& points, const ScalingQuestion& question) {
  std::map<std::int64_t, std::vector<const StudyOutcome*>> curves;  // keyed by the global batch, if it is fixed
  std::set<std::int64_t> counts;
  double least = 0, most = 0;
  for (const StudyOutcome& point : points) {
    if (!has_plan(point)) continue;
    curves[question.fixed_batch ? point.global_batch : 0].push_back(&point);
    counts.insert(point.gpus);
    const double speed = speed_of(point);
    least = least > 0 ? std::min(least, speed) : speed;
    most = std::max(most, speed);
  }
  if (counts.size() < 2 || curves.size() > curve_tones.size()) return std::nullopt;
  const StudyOutcome& any = *curves.begin()->second.front();
  const std::string unit = any.study->model().sequence_length > 0 ? "tokens/s" : "samples/s";
  Plot plot;
  std::size_t tone = 0;
  for (auto& [batch, curve] : curves) {
    std::ranges::stable_sort(curve, [](const StudyOutcome* a, const StudyOutcome* b) { return a->gpus < b->gpus; });
    const Tone own = curve_tones[tone++];
    const std::string name = question.fixed_batch ? fmt::format("global batch {}", with_thousands(batch))
                                                  : std::string("predicted, with the same batch per device");
    Curve line{Curve::Shape::line, {name, own}, {}}, dots{Curve::Shape::points, {name, own}, {}};
    for (const StudyOutcome* point : curve) {
      const PlotPoint at{static_cast<double>(point->gpus), speed_of(*point),
                         fmt::format("{}: {} {}, {}", count_text(point->gpus, device_noun(point->study->machine().device)),
                                     rate_text(speed_of(*point)), unit, plan_word(point->best_estimate().plan))};
      line.points.push_back(at);
      dots.points.push_back(at);
    }
    const double first = speed_of(*curve.front()) / static_cast<double>(curve.front()->gpus);
    const double last = first * static_cast<double>(curve.back()->gpus);
    most = std::max(most, last);
    plot.curves.push_back({Curve::Shape::dashes,
                           {plot.curves.empty() ? "dashed: ideal linear scaling" : "", Tone::grey},
                           {{static_cast<double>(curve.front()->gpus), speed_of(*curve.front())},
                            {static_cast<double>(curve.back()->gpus), last}}});
    plot.curves.push_back(std::move(line));
    dots.kind.name.clear();
    plot.curves.push_back(std::move(dots));
  }
  plot.x = {any.study->machine().device.is_processor ? "processors" : "GPUs", true, static_cast<double>(*counts.begin()),
            static_cast<double>(*counts.rbegin())};
  for (const std::int64_t count : counts) plot.x.ticks.push_back({static_cast<double>(count), with_thousands(count)});
  plot.y = stepped_axis(unit, decimal_steps(), least, most, short_figure);
  return Chart{fmt::format("Speed by the number of {}s", device_noun(any.study->machine().device)),
               fmt::format("{} of the best plan for each number of devices, on logarithmic scales", unit), std::move(plot)};
}

namespace {

/// Returns the steps of an axis of money, which are closer than those of decimal_steps().
std::vector<double> money_steps() {
  std::vector<double> steps;
  for (int power = -3; power <= 15; ++power) {
    for (const double digit : {1.0, 1.5, 2.0, 3.0, 5.0, 7.0}) steps.push_back(digit * std::pow(10.0, power));
  }
  return steps;
}

/// The smallest and the largest of some positive values.
struct Extent {
  double least = 0, most = 0;
  void add(double value) {
    least = least > 0 ? std::min(least, value) : value;
    most = std::max(most, value);
  }
  /// Whether a limit is near enough to be drawn without compressing the values.
  [[nodiscard]] bool is_near(double limit) const { return limit > least / 3 && limit < most * 3; }
};

/// Returns the point of a plot. `cost`: empty without prices, so that the horizontal axis shows the number of devices.
PlotPoint sized(const StudyOutcome& point, const std::optional<double>& cost) {
  const Seconds time = time_of(point.best_estimate(), *point.study, point.training);
  const std::optional<TimeInterval>& interval = point.best_estimate().interval;
  const auto gpus = static_cast<double>(point.gpus);
  PlotPoint drawn{cost.value_or(gpus), time.value()};
  drawn.label = with_thousands(point.gpus);
  drawn.text = fmt::format("{}, global batch {}: {}{}", count_text(point.gpus, device_noun(point.study->machine().device)),
                           with_thousands(point.global_batch), humanize(time), interval_behind(time, interval));
  if (cost) drawn.text += fmt::format(" and {} {}", amount(*cost), point.study->machine().currency);
  if (!interval) return drawn;
  // The cost is proportional to the time, so errors of the time move the point along one line.
  for (const double factor : {interval->low, std::sqrt(interval->low), 1.0, std::sqrt(interval->high), interval->high})
    drawn.interval.emplace_back(cost ? *cost * factor : gpus, time.value() * factor);
  return drawn;
}

}  // namespace

std::optional<Chart> sizing_plot(const Points& points, const Scaling& scaling, const ScalingQuestion& question) {
  Curve front{Curve::Shape::points, {"on the Pareto front of cost and time", Tone::blue}, {}};
  Curve behind{Curve::Shape::points, {"not on the Pareto front", Tone::dark}, {}};
  Curve chosen{Curve::Shape::points, {"cheapest that meets the goals", Tone::vermilion}, {}};
  Extent times, costs;
  const StudyOutcome* any = nullptr;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const StudyOutcome& point = points[i];
    if (!has_plan(point)) continue;
    any = &point;
    const std::optional<double> cost = cost_of(point.best_estimate(), *point.study, point.training);
    PlotPoint drawn = sized(point, cost);
    drawn.is_chosen = i == (scaling.cheapest ? scaling.cheapest : scaling.fastest);
    drawn.interval.emplace_back(drawn.interval.empty() ? std::pair(drawn.x, drawn.y) : drawn.interval.back());
    for (const auto& [cost_or_gpus, time] : drawn.interval) {
      costs.add(cost_or_gpus);
      times.add(time);
    }
    (drawn.is_chosen ? chosen : scaling.on_front[i] || !cost ? front : behind).points.push_back(std::move(drawn));
  }
  if (any == nullptr || front.points.size() + behind.points.size() + chosen.points.size() < 2) return std::nullopt;
  const bool is_priced = any->study->machine().price_per_gpu_hour.has_value();
  const std::string currency = any->study->machine().currency, purpose = purpose_of(any->training);
  if (!is_priced) front.kind.name.clear();
  if (!question.goals.any()) chosen.kind.name = is_priced ? "cheapest" : "fastest";
  Plot plot;
  const auto& [budget, deadline] = question.goals;
  if (deadline && times.is_near(deadline->value())) {
    times.add(deadline->value() * 1.2);
    plot.forbidden.push_back({{}, deadline->value(), fmt::format("after the deadline of {}", humanize(*deadline))});
  }
  if (is_priced && budget && costs.is_near(budget->amount)) {
    costs.add(budget->amount * 1.1);
    plot.forbidden.push_back(
        {budget->amount, {}, fmt::format("above the budget of {} {}", amount(budget->amount), currency)});
  }
  plot.x = stepped_axis(is_priced ? fmt::format("{} {}", currency, purpose) : "GPUs", money_steps(), costs.least, costs.most,
                        short_figure);
  plot.y = stepped_axis("time " + purpose, time_steps(), times.least, times.most, time_step_text);
  for (Curve* const each : {&behind, &front, &chosen}) {
    if (!each->points.empty()) plot.curves.push_back(std::move(*each));
  }
  return Chart{is_priced ? "Time and cost, by the number of GPUs" : "Time, by the number of GPUs",
               fmt::format("time {} of each point, labeled with its number of GPUs, with its {}, on logarithmic scales",
                           purpose, interval_name()),
               std::move(plot)};
}

}  // namespace ddl
