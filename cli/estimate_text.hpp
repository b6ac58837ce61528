#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "calibration/study.hpp"
#include "cli/table.hpp"
#include "estimator/estimate.hpp"

namespace ddl {

/// Ranked plans with their time split into its parts; one unit for all times.
[[nodiscard]] Table ranked_table(const std::vector<Estimate>& estimates, const Study& study);
/// The ranked plans, and those that are not possible without a rank, in base units: for programs.
[[nodiscard]] std::string plans_csv(const std::vector<Estimate>& ranked, const std::vector<Estimate>& rejected,
                                    const Study& study);
/// Why each family has no plan, one line each: pure strategies first, hybrids with the same reason together.
[[nodiscard]] std::string rejected_text(const std::vector<Estimate>& rejected, const Model& model);

/// A plan's object with everything it costs; `rank` 0 for a plan that is not possible.
[[nodiscard]] nlohmann::ordered_json estimate_to_json(const Estimate& estimate, int rank, const Study& study);
/// What was asked, and where the figures come from.
[[nodiscard]] nlohmann::ordered_json inputs_to_json(const Study& study);

/// `data,data+filter` into families; empty for an empty text.
[[nodiscard]] std::vector<Family> parse_families(const std::string& text);
[[nodiscard]] std::string suggest_family(const std::string& text);

}  // namespace ddl
