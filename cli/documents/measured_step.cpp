#include "cli/documents/measured_step.hpp"

#include <algorithm>
#include <cmath>
#include <string>
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

/// A source of error, and how many times as long its kernels, exchanges or waits must be to explain a measured step.
struct Suspect {
  std::string name;
  double factor = 1, low = 1, high = 1;  ///< the factor needed, and the range of the source's usual errors
  [[nodiscard]] bool is_usual() const { return factor >= low && factor <= high; }
};

/// Returns the sources that take a part of the step, the smallest error first. The error that no source explains is left
/// out.
std::vector<Suspect> suspects_of(const Estimate& estimate, Seconds measured) {
  constexpr double least_part = 0.02, whole = 0.995;
  std::vector<Suspect> suspects;
  const double ratio = measured / estimate.time.step_time();
  for (const WidthShare& each : width_shares(bundled_time_errors(), *estimate.sensitivity)) {
    const double part = elasticity(*estimate.sensitivity, each.name);
    if (part < least_part || part > whole) continue;
    const auto of_source = [part](double of_step) { return std::max(0.0, 1 + (of_step - 1) / part); };
    Suspect suspect{std::string(each.name), of_source(ratio), of_source(std::exp(-each.width.faster)),
                    of_source(std::exp(each.width.slower))};
    std::replace(suspect.name.begin(), suspect.name.end(), '_', ' ');
    suspects.push_back(std::move(suspect));
  }
  const auto distance = [](const Suspect& each) { return std::abs(std::log(std::max(each.factor, 1e-3))); };
  std::stable_sort(suspects.begin(), suspects.end(),
                   [&](const Suspect& a, const Suspect& b) { return distance(a) < distance(b); });
  return suspects;
}

bool is_inside(const TimeInterval& interval, double ratio) { return ratio >= interval.low && ratio <= interval.high; }

}  // namespace

Card measured_card(const Estimate& estimate, Seconds measured) {
  const Seconds predicted = estimate.time.step_time();
  const double ratio = measured / predicted;
  Card card{"Measured", humanize(measured)};
  card.about = "per step";
  const std::string difference =
      std::abs(ratio - 1) < 0.005
          ? "as predicted"
          : fmt::format("{} {} than predicted", share_text(std::abs(ratio - 1)), ratio > 1 ? "longer" : "shorter");
  const std::string place = !estimate.interval                     ? ""
                            : is_inside(*estimate.interval, ratio) ? fmt::format(", inside the {}", interval_name())
                            : ratio > 1                            ? fmt::format(", above the {}", interval_name())
                                                                   : fmt::format(", below the {}", interval_name());
  card.details.push_back(fmt::format("{} per step, {}{}", humanize(measured), difference, place));
  return card;
}

void add_measured(Document& document, const Estimate& estimate, Seconds measured) {
  if (!estimate.interval || !estimate.sensitivity) return;
  document.section("What alone would explain the measured step");
  Table table({words("source of error"), figures("must take"), words("usual error"), words("is")});
  for (const Suspect& each : suspects_of(estimate, measured)) {
    table.add({each.name, each.factor > 0 ? fmt::format("{:.2f}x as long", each.factor) : "-",
               fmt::format("{:.2f}x to {:.2f}x", each.low, each.high), each.is_usual() ? "usual" : "unusual"});
  }
  document.add(std::move(table));
  document.line("compare the phases above with a trace of the job; --software and --plan must be those of the job", 2);
}

nlohmann::ordered_json measured_to_json(const Estimate& estimate, Seconds measured) {
  const double ratio = measured / estimate.time.step_time();
  nlohmann::ordered_json json{{"step_s", measured.value()}, {"ratio", ratio}};
  json["inside"] = estimate.interval ? nlohmann::ordered_json(is_inside(*estimate.interval, ratio)) : nullptr;
  json["sources"] = nlohmann::ordered_json::array();
  if (!estimate.interval || !estimate.sensitivity) return json;
  for (const Suspect& each : suspects_of(estimate, measured))
    json["sources"].push_back({{"source", each.name}, {"factor", each.factor}, {"low", each.low}, {"high", each.high}});
  return json;
}

}  // namespace ddl
