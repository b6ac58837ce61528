#pragma once

#include <cstdint>
#include <optional>

#include "cli/options/plan_options.hpp"
#include "cli/options/study_options.hpp"
#include "cli/options/train_tokens.hpp"
#include "estimator/search/search.hpp"

namespace ddl {

/// Returns the best plan. If no plan is possible, returns the plan that exceeds the memory by the least. Empty if the
/// strategies cannot divide the devices. `options`: the devices, the batch, the strategies and the fixed choices.
[[nodiscard]] std::optional<Plan> best_plan(const Study& study, const Estimator& estimator, SearchOptions options,
                                            bool ideal);

/// Whether the user gave the number of devices, but not how to divide the devices: no plan and no degrees.
[[nodiscard]] bool leave_degrees_open(const PlanOptions& options);

/// Searches for the plan that `recommend` ranks first, among the strategies of --strategy. Returns this plan with its study.
[[nodiscard]] PlanStudy top_ranked_plan(const StudyOptions& study, const PlanOptions& options);

/// Searches like `recommend`, and returns the plan in this row of its table, counted from 1, with its study. Throws Error if
/// the table has fewer rows.
[[nodiscard]] PlanStudy plan_of_row(std::int64_t row, const StudyOptions& study, const PlanOptions& plan,
                                    const Training& training);

}  // namespace ddl
