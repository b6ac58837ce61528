#include "cli/documents/measured_step.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "calibration/runs/time_errors_file.hpp"
#include "cli/documents/intervals.hpp"
#include "cli/report/figures.hpp"
#include "core/units.hpp"
#include "estimator/step/step_sensitivity.hpp"

namespace ddl {
namespace {

/// Returns the name that WidthShare has for a source of error.
std::string_view width_share_name(ErrorSource source) {
  return static_cast<std::size_t>(source) < kernel_sources ? "kernels" : error_source_names[source];
}

/// A source of error, and how many times as long its kernels, exchanges or waits must be to explain a measured step.
struct Suspect {
  std::string name;
  double factor = 1;                  ///< the factor needed
  std::optional<TimeInterval> usual;  ///< the range of the source's usual errors; unset if other work hides the source
  [[nodiscard]] std::string_view verdict() const {
    if (!usual) return "hidden now";
    return factor >= usual->low && factor <= usual->high ? "usual" : "unusual";
  }
};

/// Returns the range of the factors by which the times of a source are usually wrong.
std::optional<TimeInterval> usual_error(const TimeSensitivity& time, const std::string& name) {
  ErrorWidth of_step, part;
  for (const WidthShare& each : width_shares(bundled_time_errors(), time)) {
    if (each.name != name) continue;
    of_step.faster += each.width.faster;
    of_step.slower += each.width.slower;
  }
  for (const Sensitivity& each : time.sources) {
    if (width_share_name(each.source) != name) continue;
    part.faster += each.faster;
    part.slower += each.slower;
  }
  if (part.slower <= 0) return std::nullopt;
  return TimeInterval{part.faster > 0 ? std::exp(-of_step.faster / part.faster) : 1.0,
                      std::exp(of_step.slower / part.slower)};
}

/// Returns the sources that alone can explain the measured step, the smallest error first.
std::vector<Suspect> suspects_of(const Estimate& estimate, Seconds measured, const Estimator& estimator) {
  std::vector<Suspect> suspects;
  if (!estimate.interval || !estimate.sensitivity) return suspects;
  for (const SourceFactor& each : factors_for(estimator, estimate.plan, measured / estimate.time.step_time())) {
    Suspect suspect{std::string(width_share_name(each.source)), each.factor, {}};
    suspect.usual = usual_error(*estimate.sensitivity, suspect.name);
    std::ranges::replace(suspect.name, '_', ' ');
    suspects.push_back(std::move(suspect));
  }
  const auto distance = [](const Suspect& each) { return std::abs(std::log(each.factor)); };
  std::ranges::stable_sort(suspects, [&](const Suspect& a, const Suspect& b) { return distance(a) < distance(b); });
  return suspects;
}

/// Compares a step with the prediction: `34 % longer than predicted`.
std::string difference_text(double ratio) {
  constexpr double many = 10, few = 0.01;
  if (std::abs(ratio - 1) < 0.005) return "as predicted";
  if (ratio >= many) return fmt::format("{} times as long as predicted", with_thousands(std::llround(ratio)));
  if (ratio > 2) return fmt::format("{:.1f} times as long as predicted", ratio);
  if (ratio < few) return "less than 1 % of the predicted time";
  return fmt::format("{} {} than predicted", share_text(std::abs(ratio - 1)), ratio > 1 ? "longer" : "shorter");
}

bool is_inside(const TimeInterval& interval, double ratio) { return ratio >= interval.low && ratio <= interval.high; }

}  // namespace

Card measured_card(const Estimate& estimate, Seconds measured) {
  const Seconds predicted = estimate.time.step_time();
  const double ratio = measured / predicted;
  Card card{"Measured", humanize(measured)};
  card.about = "per step";
  const std::string place = !estimate.interval                     ? ""
                            : is_inside(*estimate.interval, ratio) ? fmt::format(", inside the {}", interval_name())
                            : ratio > 1                            ? fmt::format(", above the {}", interval_name())
                                                                   : fmt::format(", below the {}", interval_name());
  card.details.push_back(fmt::format("{} per step, {}{}", humanize(measured), difference_text(ratio), place));
  return card;
}

void add_measured(Document& document, const Estimate& estimate, Seconds measured, const Estimator& estimator) {
  const std::vector<Suspect> suspects = suspects_of(estimate, measured, estimator);
  if (suspects.empty()) return;
  document.section("What alone would explain the measured step");
  Table table({words("source of error"), figures("needed"), words("usual error"), words("verdict")});
  for (const Suspect& each : suspects) {
    table.add({each.name, fmt::format("{:.2f}x as long", each.factor),
               each.usual ? fmt::format("{:.2f}x to {:.2f}x", each.usual->low, each.usual->high) : "-",
               std::string(each.verdict())});
  }
  document.add(std::move(table));
  document.line("compare the phases above with a trace of the job; --software and --plan must match the job", 2);
}

nlohmann::ordered_json measured_to_json(const Estimate& estimate, Seconds measured, const Estimator& estimator) {
  const double ratio = measured / estimate.time.step_time();
  nlohmann::ordered_json json{{"step_s", measured.value()}, {"ratio", ratio}};
  json["inside"] = estimate.interval ? nlohmann::ordered_json(is_inside(*estimate.interval, ratio)) : nullptr;
  json["sources"] = nlohmann::ordered_json::array();
  for (const Suspect& each : suspects_of(estimate, measured, estimator)) {
    nlohmann::ordered_json source{{"source", each.name}, {"factor", each.factor}, {"low", nullptr}, {"high", nullptr}};
    if (each.usual) {
      source["low"] = each.usual->low;
      source["high"] = each.usual->high;
    }
    json["sources"].push_back(std::move(source));
  }
  return json;
}

}  // namespace ddl
