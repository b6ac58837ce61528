#pragma once

#include <optional>
#include <set>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "estimator/plan/plan.hpp"

namespace ddl {

template <class Row>
struct Fields;

/// Returns all choices of a plan, for JSON and CSV.
[[nodiscard]] Fields<Plan> plan_fields();
/// Returns the choices as a JSON object. plan_from_json reads the same plan back from this object.
[[nodiscard]] nlohmann::ordered_json plan_to_json(const Plan& plan);

/// A plan as read from a file. Precision, optimizer, model and machine are set only if the file gives them.
struct PlanFile {
  Plan plan;
  std::optional<Precision> precision;
  std::optional<Optimizer> optimizer;
  std::set<std::string> given;                ///< the keys of the plan's object
  std::optional<std::string> model, machine;  ///< set if the file is a report of the program
};
/// Reads a plan's JSON object, or a whole report: the best plan of `recommend`, or the plan of `explain`. Predictions in a
/// report are ignored; other unknown keys are refused. Errors have a position in the text, whose name is `origin`.
[[nodiscard]] PlanFile read_plan(const std::string& text, const std::string& origin);
[[nodiscard]] Plan plan_from_json(const std::string& text, const std::string& origin);

/// The choices of a plan other than its degrees: `8 micro-batches 1f1b, ZeRO-1, recompute`; empty if there are none.
[[nodiscard]] std::string choices_text(const Plan& plan);
/// The short notation of a plan: `dp64·tp8·pp4 z1 m4`.
[[nodiscard]] std::string plan_word(const Plan& plan);
/// A plan in a sentence: `dp64·tp8·pp4 as ZeRO-1, 4 micro-batches 1f1b`.
[[nodiscard]] std::string plan_phrase(const Plan& plan);
/// Explains the letters that follow the degrees in plan_word() of these plans; empty if no plan has such letters.
[[nodiscard]] std::string letters_text(const std::vector<Plan>& plans);

}  // namespace ddl
