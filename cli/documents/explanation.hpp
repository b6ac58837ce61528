#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "calibration/inputs/study.hpp"
#include "cli/report/document.hpp"
#include "estimator/explain/explanation.hpp"

namespace ddl {

/// Phases, layers and memory of a predicted plan as tables; equal layers share a row. Adds nothing if the plan has no
/// predicted time.
void add_explanation(Document& document, const Explanation& explanation, const Study& study);

/// The phases of a step as a table, with the sources of their times. Adds nothing if the plan has no predicted time.
void add_phases(Document& document, const Explanation& explanation, const Study& study);

/// An object for each phase, layer and kind of exchange; empty lists if the plan has no predicted time.
[[nodiscard]] nlohmann::ordered_json phases_to_json(const Explanation& explanation);
[[nodiscard]] nlohmann::ordered_json layers_to_json(const Explanation& explanation, const Study& study);
[[nodiscard]] nlohmann::ordered_json exchange_to_json(const ExchangeTotal& exchange);
/// A row for each layer, in base units: for programs.
[[nodiscard]] nlohmann::ordered_json layer_rows(const Explanation& explanation, const Study& study);

/// The name of an exchange: `allgather among filter, forward`
[[nodiscard]] std::string exchange_name(const ExchangeTotal& exchange);

}  // namespace ddl
