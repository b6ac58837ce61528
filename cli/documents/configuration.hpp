#pragma once

#include <nlohmann/json_fwd.hpp>

#include "calibration/inputs/study.hpp"
#include "cli/options/configurations/configuration.hpp"
#include "cli/options/train_tokens.hpp"
#include "cli/report/document.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// The plan of a configuration with its price, and what the best plan for the same work would change in the file.
struct ConfiguredPlan {
  Configuration configuration;
  Estimate estimate;
  ConfigurationChanges changes{};  ///< empty where there is no other plan
};

/// Ends the command, placed at the argument that is to blame, where the plan's shape is impossible.
void refuse_impossible(const ConfiguredPlan& plan, const Model& model);

/// What the configuration's plan takes, how the best plan compares with it, and what would have to change. `best`: none
/// where nothing was searched, or no plan is possible.
void add_configured_plan(Document& document, const ConfiguredPlan& plan, const Estimate* best, const Study& study);
/// The arguments that are not modeled; empty if there are none.
void add_not_modelled(Document& document, const Configuration& configuration);
[[nodiscard]] nlohmann::ordered_json configured_plan_to_json(const ConfiguredPlan& plan, const Estimate* best,
                                                             const Study& study, const Training& training);

}  // namespace ddl
