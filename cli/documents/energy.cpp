#include "cli/documents/energy.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/documents/throughput.hpp"
#include "cli/report/fields.hpp"
#include "cli/report/figures.hpp"
#include "core/error.hpp"
#include "estimator/search/rank.hpp"

namespace ddl {
namespace {

std::string watts_text(double watts) {
  return watts < 999.5 ? fmt::format("{:.0f} W", watts) : fmt::format("{:.3g} kW", watts / 1e3);
}

}  // namespace

bool wants_energy(const Study& study) {
  const Settings& settings = study.spec().settings;
  return settings.find("pue") != nullptr || settings.find("carbon") != nullptr || settings.find("power_limit") != nullptr;
}

std::optional<double> carbon_kilograms(const Study& study, double kilowatts) {
  const std::optional<double>& grams = study.assumptions().carbon;
  return grams ? std::optional(kilowatts * *grams / 1e3) : std::nullopt;
}

std::optional<double> kilowatt_hours(const Estimate& estimate, const Study& study, const Training& training) {
  if (!estimate.power) return std::nullopt;
  constexpr double joules = 3.6e6;
  return energy_of(study.job(), estimate, time_of(estimate, study, training)) / joules;
}

std::string energy_text(const Estimate& estimate, const Study& study, const Training& training) {
  const std::optional<double> energy = kilowatt_hours(estimate, study, training);
  if (!energy) return fmt::format("unknown: the datasheet of {} has no power of a device", study.machine().name);
  std::string text = fmt::format("{} kWh {}", amount(*energy), purpose_of(training));
  if (const auto carbon = carbon_kilograms(study, *energy)) text += fmt::format(", {} kg of CO2", amount(*carbon));
  text += fmt::format("; {} per {}", watts_text(estimate.power->device), device_noun(study.machine().device));
  if (const auto limit = study.assumptions().power_limit) text += fmt::format(" (limit {})", watts_text(*limit));
  text += estimate.power->node ? fmt::format(", {} per node", watts_text(*estimate.power->node))
                               : std::string(", without hosts, whose power is not in the datasheet");
  return text + fmt::format("; PUE {:.3g}", study.assumptions().overhead_power);
}

nlohmann::ordered_json energy_to_json(const Estimate& estimate, const Study& study, const Training& training) {
  const std::optional<double> energy = kilowatt_hours(estimate, study, training);
  if (!energy) return nullptr;
  return {{"kwh", *energy},
          {"carbon_kg", or_null(carbon_kilograms(study, *energy))},
          {"device_w", estimate.power->device},
          {"node_w", or_null(estimate.power->node)},
          {"power_limit_w", or_null(study.assumptions().power_limit)},
          {"pue", study.assumptions().overhead_power}};
}

void rank_by_energy(std::vector<Estimate>& plans, const Estimator& estimator, const SearchOptions& options) {
  add_power(plans, estimator);
  std::ranges::stable_sort(plans, [&](const Estimate& a, const Estimate& b) {
    const Verdict of_a = verdict_for(a, options), of_b = verdict_for(b, options);
    if (of_a != of_b) return of_a < of_b;
    return energy_of(estimator.job(), a, a.time.step_time()) < energy_of(estimator.job(), b, b.time.step_time());
  });
}

void refuse_energy_without_power(const Machine& machine) {
  if (machine.device.power > 0) return;
  throw Error(fmt::format("--objective energy needs the power of a device, but the datasheet of {} has none", machine.name),
              "add the key 'power' to the device of a machine file");
}

}  // namespace ddl
