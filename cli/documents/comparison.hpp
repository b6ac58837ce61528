#pragma once

#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "calibration/inputs/study.hpp"
#include "cli/options/train_tokens.hpp"
#include "cli/report/document.hpp"
#include "estimator/explain/comparison.hpp"

namespace ddl {

/// A comparison of the explained plan with another plan.
struct PlanComparison {
  std::string asked;    ///< the other plan, as typed: `data`, `data=64,spatial=2x2`, a file
  std::string heading;  ///< heading: `Why not data`
  std::string explained_name, other_name;
  std::optional<Explanation> other;  ///< empty if the strategy cannot divide the number of devices
  Comparison comparison;
  std::string sentence;  ///< the comparison, or the reason why there is no other plan
};

/// Adds the terms of the comparison (time, memory, exchanges), then the sentence with the deciding term.
void add_comparison(Document& document, const Explanation& explained, const PlanComparison& pair);
[[nodiscard]] nlohmann::ordered_json comparison_to_json(const Explanation& explained, const PlanComparison& pair,
                                                        const Study& study, const Training& training = {});

}  // namespace ddl
