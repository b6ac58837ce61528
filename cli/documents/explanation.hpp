#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "calibration/inputs/study.hpp"
#include "cli/report/document.hpp"
#include "estimator/explain/explanation.hpp"

namespace ddl {

/// Phases, layers and memory of a priced plan as tables; layers that are alike share a row. Nothing if it has no price.
void add_explanation(Document& document, const Explanation& explanation, const Study& study);

/// The phases of an iteration as a table, with where their times come from. Nothing if the plan has no price.
void add_phases(Document& document, const Explanation& explanation, const Study& study);

/// One object for each phase, each layer, each kind of exchange; empty lists where the plan has no price.
[[nodiscard]] nlohmann::ordered_json phases_to_json(const Explanation& explanation);
[[nodiscard]] nlohmann::ordered_json layers_to_json(const Explanation& explanation, const Study& study);
[[nodiscard]] nlohmann::ordered_json exchange_to_json(const ExchangeTotal& exchange);
/// A row for each layer, in base units: for programs.
[[nodiscard]] nlohmann::ordered_json layer_rows(const Explanation& explanation, const Study& study);

/// `allgather among filter, forward`
[[nodiscard]] std::string exchange_name(const ExchangeTotal& exchange);

}  // namespace ddl
