#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "calibration/inputs/study.hpp"
#include "cli/options/train_tokens.hpp"
#include "estimator/explain/power.hpp"
#include "estimator/search/search.hpp"

namespace ddl {

/// Whether the user asked for energy: by --pue, --carbon or --power-limit.
[[nodiscard]] bool wants_energy(const Study& study);
/// Returns the energy of a training in kWh; empty if the plan's power is not predicted (add_power).
[[nodiscard]] std::optional<double> kilowatt_hours(const Estimate& estimate, const Study& study, const Training& training);
/// Returns the kilograms of CO2 of an energy in kWh; empty if the user gave no carbon intensity.
[[nodiscard]] std::optional<double> carbon_kilograms(const Study& study, double kilowatts);
/// Describes an energy and the power: `105 kWh per 1B tokens, 24.1 kg of CO2; 612 W per GPU, 7.70 kW per node, PUE 1.1`.
[[nodiscard]] std::string energy_text(const Estimate& estimate, const Study& study, const Training& training);
[[nodiscard]] nlohmann::ordered_json energy_to_json(const Estimate& estimate, const Study& study, const Training& training);
/// Sorts the plans of one search by the energy of a step, and sets their power.
void rank_by_energy(std::vector<Estimate>& plans, const Estimator& estimator, const SearchOptions& options);
/// Throws Error if energy is to be minimized, but the datasheet lacks the power of a device.
void refuse_energy_without_power(const Machine& machine);

}  // namespace ddl
