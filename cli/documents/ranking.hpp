#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "calibration/inputs/study.hpp"
#include "cli/documents/tie_groups.hpp"
#include "cli/options/train_tokens.hpp"
#include "cli/report/document.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// Returns the impossible plan that exceeds the memory by the least. If no impossible plan has a
/// prediction, returns the first impossible plan. Null if all plans are possible.
[[nodiscard]] const Estimate* nearest_miss(const std::vector<Estimate>& rejected);

/// Returns a table of ranked plans with the parts of their time, in the order of `rows`. All times have the same unit.
[[nodiscard]] Table ranked_table(const std::vector<Estimate>& estimates, const RankedRows& rows, const Study& study,
                                 const Training& training);
/// Returns the same table for one plan, without a rank.
[[nodiscard]] Table plan_table(const Estimate& estimate, const Study& study, const Training& training);
/// Returns the ranked plans, then the impossible plans without a rank, as flat objects for
/// programs. Values are in base units.
[[nodiscard]] nlohmann::ordered_json plans_rows(const std::vector<Estimate>& ranked, const std::vector<Estimate>& rejected,
                                                const Study& study, const Training& training);
/// Adds the reason why each family of strategies has no plan, as a paragraph. Pure strategies come
/// first, then hybrids. Hybrids with the same reason share a paragraph.
void add_rejected(Document& document, const std::vector<Estimate>& rejected, const Model& model);

/// Returns a plan as an object with all predictions. `rank` is 0 for a plan that is not possible.
[[nodiscard]] nlohmann::ordered_json estimate_to_json(const Estimate& estimate, int rank, const Study& study,
                                                      const Training& training = {});

}  // namespace ddl
