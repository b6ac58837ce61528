#pragma once

#include <nlohmann/json_fwd.hpp>

#include "calibration/inputs/study.hpp"
#include "cli/options/configurations/configuration.hpp"
#include "cli/options/train_tokens.hpp"
#include "cli/report/document.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// The plan in a configuration, and the changes to its file that lead to the best plan for the same work.
struct ConfiguredPlan {
  Configuration configuration;
  Estimate estimate;
  ConfigurationChanges changes{};  ///< empty if no other plan is suggested
};

/// Returns whether the best plan of a search is better than the configuration's plan: it fits more surely, or is faster.
[[nodiscard]] bool is_better(const Estimate& best, const Estimate& own);
/// Returns the changes after which the configuration has the best plan. Lists no arguments if the best plan is no better, or
/// if the arguments of the tool cannot state it. Placement is left out, because tools decide it themselves.
[[nodiscard]] ConfigurationChanges changes_to(const Estimate& best, const ConfiguredPlan& configured, std::int64_t layers,
                                              const StudyOptions& study, const PlanOptions& plan_options,
                                              const IsGiven& is_given);
/// Throws Error at the argument that makes the shape of the plan impossible.
void refuse_impossible(const ConfiguredPlan& plan, const Model& model);

/// Adds the estimate of the configuration's plan, a comparison with the best plan, and the
/// arguments to change. `best` is null if there was no search, or if no plan is possible.
void add_configured_plan(Document& document, const ConfiguredPlan& plan, const Estimate* best, const Study& study);
/// Lists the arguments that the prediction does not model; adds nothing if there are no such arguments.
void add_not_modeled(Document& document, const Configuration& configuration);
[[nodiscard]] nlohmann::ordered_json configured_plan_to_json(const ConfiguredPlan& plan, const Estimate* best,
                                                             const Study& study, const Training& training);

}  // namespace ddl
