#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "calibration/inputs/study.hpp"
#include "cli/report/document.hpp"
#include "estimator/explain/explanation.hpp"

namespace ddl {

/// Adds the phases, layers and memory of a predicted plan as tables. Equal layers share a row. Adds
/// nothing if the plan has no predicted time.
void add_explanation(Document& document, const Explanation& explanation, const Study& study);

/// Adds the phases of a step as a table, with the sources of their times. Adds nothing if the plan has no predicted time.
void add_phases(Document& document, const Explanation& explanation, const Study& study);

/// Returns a JSON list with an object for each phase, each layer, or each total of equal exchanges.
/// The list is empty if the plan has no predicted time.
[[nodiscard]] nlohmann::ordered_json phases_to_json(const Explanation& explanation);
[[nodiscard]] nlohmann::ordered_json layers_to_json(const Explanation& explanation, const Study& study);
[[nodiscard]] nlohmann::ordered_json exchange_to_json(const ExchangeTotal& exchange);
/// Returns a flat object for each layer, for CSV and other programs. Values are in base units.
[[nodiscard]] nlohmann::ordered_json layer_rows(const Explanation& explanation, const Study& study);

/// Returns the name of a collective, with the axes whose ranks take part: `allgather among filter, forward`.
[[nodiscard]] std::string exchange_name(const ExchangeTotal& exchange);

}  // namespace ddl
