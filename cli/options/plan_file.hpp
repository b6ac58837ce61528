#pragma once

#include <optional>
#include <set>
#include <string>

#include "cli/options/plan_notation.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

template <class Row>
struct Fields;

/// Returns all choices of a plan as fields, for JSON and CSV. read_plan reads the same plan back from their JSON object.
[[nodiscard]] Fields<Plan> plan_fields();

/// A plan as read from a file. Precision, optimizer and the members about a report are set only if the file gives their
/// values.
struct PlanFile {
  Plan plan;
  std::optional<Precision> precision;
  std::optional<Optimizer> optimizer;
  std::set<std::string> given;                ///< the keys of the plan's object
  std::optional<std::string> model, machine;  ///< set if the file is a report of the program
  std::optional<std::string> job;             ///< the text of a job file with the names and settings of the report
  bool ideal = false;                         ///< whether the report is one of --ideal
  std::optional<double> price;                ///< the report's price of a GPU hour, in `currency`
  std::string currency{};
  std::optional<bool> rents_nodes{};  ///< whether the price is a part of the price of a whole node; unset: not stated
};
/// Reads a plan from a plan's JSON object or from a whole report. A report of `recommend` gives its best plan, and a report
/// of `explain` gives its plan. Predictions in a report are ignored; other unknown keys are refused. Errors have a position
/// in the text. `origin`: the text's name in errors.
[[nodiscard]] PlanFile read_plan(const std::string& text, const std::string& origin);

}  // namespace ddl
