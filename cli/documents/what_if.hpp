#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "calibration/inputs/study.hpp"
#include "cli/report/document.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// A plan in a supposed case of --what-if.
struct SupposedOutcome {
  std::string change;  ///< `bandwidth(node)*2`, as the user typed it
  Estimate same;       ///< the plan of the answer, in the supposed case
  std::string bound;   ///< the activity that takes most of the time of `same`; empty if the plan is not possible
  std::optional<Estimate>
      best{};  ///< the best plan in the supposed case; unset if no plan was searched, or none is possible
};

/// Returns the outcome for the plan of an answer, without a search.
[[nodiscard]] SupposedOutcome supposed_outcome(std::string change, const Plan& plan, const Study& supposed,
                                               const Estimator& estimator);

/// Returns the cases for the headline; empty without cases. `now`: the plan of the answer as it is.
[[nodiscard]] std::optional<Card> what_if_card(const Estimate& now, const std::vector<SupposedOutcome>& cases);
/// Adds a table of the cases; adds nothing without cases. `now`: the plan of the answer as it is.
void add_what_if(Document& document, const Estimate& now, const std::vector<SupposedOutcome>& cases);
[[nodiscard]] nlohmann::ordered_json what_if_to_json(const Estimate& now, const std::vector<SupposedOutcome>& cases);

}  // namespace ddl
