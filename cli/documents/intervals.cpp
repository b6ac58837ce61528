#include "cli/documents/intervals.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "calibration/runs/time_errors_file.hpp"
#include "core/statistics.hpp"
#include "core/units.hpp"
#include "estimator/step/step_sensitivity.hpp"

namespace ddl {
namespace {

/// Distance between the prediction and the ends of an interval (the 5 % and 95 % quantiles), in standard deviations.
const double interval_quantile = normal_quantile((1 + interval_level) / 2);

/// Formats a number with two digits and no exponent, because intervals are not more precise.
std::string in_two_digits(double value) {
  if (!(value > 0)) return "0";
  const int power = static_cast<int>(std::floor(std::log10(value)));
  const double unit = std::pow(10.0, power - 1);
  const double rounded = std::round(value / unit) * unit;
  const int decimals = std::max(0, 1 - static_cast<int>(std::floor(std::log10(rounded) + 1e-9)));
  return rounded < 1000 ? fmt::format("{:.{}f}", rounded, decimals) : with_thousands(std::llround(rounded));
}

/// Formats a ratio with two decimals, so that the text shows whether the ratio is above or below 1.
std::string ratio_digits(double ratio) { return ratio < 9.995 ? fmt::format("{:.2f}", ratio) : in_two_digits(ratio); }

/// Returns the length in seconds of a unit that humanize() writes after a single number; 0 for any other text.
double unit_of(std::string_view name) {
  if (name == "ns") return 1e-9;
  if (name == "us") return 1e-6;
  if (name == "ms") return 1e-3;
  if (name == "s") return 1;
  return name == "d" ? 86400 : 0;
}

/// The two ends of an interval and their common unit. Without a common unit, each end includes its own unit.
struct Ends {
  std::string low, high, unit;
};
Ends ends_of(Seconds time, const TimeInterval& interval) {
  const std::string text = humanize(time);
  const Seconds low = time * interval.low, high = time * interval.high;
  const std::string unit = text.substr(text.rfind(' ') + 1);
  const double seconds = unit_of(unit);
  // A time such as `4 min 12 s` has no single unit, so each end includes its units.
  if (seconds <= 0 || std::ranges::count(text, ' ') != 1) return {humanize(low), humanize(high), ""};
  return {in_two_digits(low.value() / seconds), in_two_digits(high.value() / seconds), unit};
}

/// Returns the command whose measurement reduces a source of error (WidthShare::name).
std::string measurement_of(std::string_view source, const StudySpec& spec) {
  if (source == "kernels" || source == pooled_factor_name || source == error_source_names[ErrorSource::launches])
    return fmt::format("ddl-oracle profile {}", spec.model);
  const bool exchange = source == error_source_names[ErrorSource::gradient_exchange] ||
                        source == error_source_names[ErrorSource::layer_exchange] ||
                        source == error_source_names[ErrorSource::halo];
  if (exchange) return fmt::format("ddl-oracle calibrate live --mpi --machine {}", spec.machine);
  return fmt::format("ddl-oracle calibrate runs RUNS.csv --machine {}", spec.machine);
}

std::string factor_text(double factor) { return fmt::format("{:.2f}x", factor); }

}  // namespace

void add_intervals(Estimate& estimate, const Study& study, const Estimator& estimator) {
  if (!study.spec().assumptions.linear_kernels) add_intervals(estimator, estimate, bundled_time_errors());
}

void add_intervals(std::vector<Estimate>& estimates, const Study& study, const Estimator& estimator) {
  for (Estimate& each : estimates) add_intervals(each, study, estimator);
}

std::string interval_behind(Seconds time, const std::optional<TimeInterval>& interval) {
  if (!interval) return {};
  const Ends ends = ends_of(time, *interval);
  return fmt::format(" ({} to {})", ends.low, ends.high);
}

std::string interval_text(Seconds time, const std::optional<TimeInterval>& interval) {
  if (!interval) return "-";
  const Ends ends = ends_of(time, *interval);
  return fmt::format("{} to {}{}{}", ends.low, ends.high, ends.unit.empty() ? "" : " ", ends.unit);
}

std::string interval_name() { return fmt::format("{:.0f} % interval", interval_level * 100); }

double chance_within(double limit, const std::optional<TimeInterval>& interval) {
  if (!(limit > 0)) return 0;
  const double width = interval ? std::abs(std::log(limit >= 1 ? interval->high : interval->low)) : 0;
  if (width <= 0) return limit >= 1 ? 1 : 0;
  return 0.5 * std::erfc(-std::log(limit) / width * interval_quantile / std::sqrt(2.0));
}

Seconds time_within(const Estimate& estimate, double chance) {
  const Seconds time = estimate.time.step_time();
  if (!estimate.interval) return time;
  const double end = std::log(chance >= 0.5 ? estimate.interval->high : estimate.interval->low);
  return time * std::exp(std::abs(end) / interval_quantile * normal_quantile(chance));
}

bool is_sure(double chance) {
  constexpr double rounding = 1e-9;
  return chance >= (1 + interval_level) / 2 - rounding;
}

bool is_likely(double chance) { return chance >= 0.5; }

std::optional<TimeInterval> ratio_interval(const Estimate& of, const Estimate& other) {
  if (!of.sensitivity || !other.sensitivity) return std::nullopt;
  const TimeInterval errors = ratio_interval_of(bundled_time_errors(), *of.sensitivity, *other.sensitivity);
  const double ratio = other.time.step_time() / of.time.step_time();
  return TimeInterval{ratio * errors.low, ratio * errors.high};
}

std::optional<bool> differ(const Estimate& of, const Estimate& other) {
  const std::optional<TimeInterval> ratio = ratio_interval(of, other);
  if (!ratio) return std::nullopt;
  return ratio->low > 1 || ratio->high < 1;
}

nlohmann::ordered_json ratios_to_json(const std::vector<Estimate>& ranked) {
  nlohmann::ordered_json ratios = nlohmann::ordered_json::array();
  for (std::size_t i = 1; i < ranked.size(); ++i) {
    const std::optional<TimeInterval> ratio = ratio_interval(ranked.front(), ranked[i]);
    if (!ratio) continue;
    ratios.push_back({{"rank", i + 1},
                      {"ratio", ranked[i].time.step_time() / ranked.front().time.step_time()},
                      {"ratio_low", ratio->low},
                      {"ratio_high", ratio->high},
                      {"differ", differ(ranked.front(), ranked[i]).value_or(false)}});
  }
  return ratios;
}

std::string ratio_text(const Estimate& of, const Estimate& other) {
  const std::optional<TimeInterval> ratio = ratio_interval(of, other);
  if (!ratio) return {};
  return fmt::format("{:.2f} ({} to {})", other.time.step_time() / of.time.step_time(), ratio_digits(ratio->low),
                     ratio_digits(ratio->high));
}

double elasticity(const TimeSensitivity& time, std::string_view source) {
  double sum = 0;
  bool found = false;
  for (const Sensitivity& each : time.sources) {
    const bool is_kernel = static_cast<std::size_t>(each.source) < kernel_sources;
    if (source == pooled_factor_name ? !is_kernel : source != (is_kernel ? "kernels" : error_source_names[each.source]))
      continue;
    sum += each.slower;
    found = true;
  }
  return found ? sum : 1;
}

void add_width(Document& document, const Estimate& estimate, const StudySpec& spec) {
  if (!estimate.interval || !estimate.sensitivity) return;
  document.section("Uncertainty of the step time",
                   fmt::format(" ({}: {})", interval_name(), interval_text(estimate.time.step_time(), estimate.interval)));
  std::vector<WidthShare> shares = width_shares(bundled_time_errors(), *estimate.sensitivity);
  std::erase_if(shares, [](const WidthShare& each) { return each.width.faster < 0.005 && each.width.slower < 0.005; });
  std::ranges::stable_sort(shares, [](const WidthShare& a, const WidthShare& b) { return a.width.slower > b.width.slower; });
  Table table({words("source of error"), figures("elasticity"), figures("from"), figures("to")});
  for (const WidthShare& each : shares) {
    std::string name(each.name);
    std::ranges::replace(name, '_', ' ');
    table.add({std::move(name), fmt::format("{:.2f}", elasticity(*estimate.sensitivity, each.name)),
               factor_text(std::exp(-each.width.faster)), factor_text(std::exp(each.width.slower))});
  }
  table.add({estimate.sensitivity->learned ? "total, reduced by fitted runs" : "total", "",
             factor_text(estimate.interval->low), factor_text(estimate.interval->high)});
  document.add(std::move(table));
  document.line("elasticity: percent by which the step is longer if the source is 1 % slower", 2);
  if (!shares.empty()) document.line("narrows it most: " + measurement_of(shares.front().name, spec));
}

}  // namespace ddl
