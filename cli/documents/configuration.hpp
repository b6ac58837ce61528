#pragma once

#include <nlohmann/json_fwd.hpp>

#include "calibration/inputs/study.hpp"
#include "cli/options/configurations/configuration.hpp"
#include "cli/options/train_tokens.hpp"
#include "cli/report/document.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// The predicted plan of a configuration, and the changes in its file that lead to the best plan for the same work.
struct ConfiguredPlan {
  Configuration configuration;
  Estimate estimate;
  ConfigurationChanges changes{};  ///< empty if there is no plan to change to
};

/// Throws Error at the argument that causes the problem, if the shape of the plan is impossible.
void refuse_impossible(const ConfiguredPlan& plan, const Model& model);

/// The estimate of the configuration's plan, the comparison with the best plan, and the arguments that would change. `best`
/// is null without a search, or if no plan is possible.
void add_configured_plan(Document& document, const ConfiguredPlan& plan, const Estimate* best, const Study& study);
/// The arguments that the prediction does not model; adds nothing if there are none.
void add_not_modelled(Document& document, const Configuration& configuration);
[[nodiscard]] nlohmann::ordered_json configured_plan_to_json(const ConfiguredPlan& plan, const Estimate* best,
                                                             const Study& study, const Training& training);

}  // namespace ddl
