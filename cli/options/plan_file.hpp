#pragma once

#include <optional>
#include <set>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "estimator/plan/plan.hpp"

namespace ddl {

template <class Row>
struct Fields;

/// Everything that a plan chooses, for JSON and CSV.
[[nodiscard]] Fields<Plan> plan_fields();
/// Those as an object, enough to ask for the plan again: plan_from_json ∘ plan_to_json is the identity.
[[nodiscard]] nlohmann::ordered_json plan_to_json(const Plan& plan);

/// A plan as a file gives it, and what the file says of the things that have defaults.
struct PlanFile {
  Plan plan;
  std::optional<Precision> precision;
  std::optional<Optimizer> optimizer;
  std::set<std::string> given;                ///< the keys of the plan's object
  std::optional<std::string> model, machine;  ///< what the report is about, where the file is a whole one
};
/// Reads a plan's object, or a whole report of `recommend` (then its best plan) or `explain`. What a report says of a plan
/// besides is let through, other keys are refused; errors are placed in the text, `origin` is its name.
[[nodiscard]] PlanFile read_plan(const std::string& text, const std::string& origin);
[[nodiscard]] Plan plan_from_json(const std::string& text, const std::string& origin);

/// What a plan does beyond its degrees: `8 micro-batches 1f1b, ZeRO-1, recompute`; empty when nothing.
[[nodiscard]] std::string choices_text(const Plan& plan);
/// A plan as one word, in the letters that its users write: `dp64·tp8·pp4 z1 m4`.
[[nodiscard]] std::string plan_word(const Plan& plan);
/// The same for a sentence: `dp64·tp8·pp4 as ZeRO-1, 4 micro-batches 1f1b`.
[[nodiscard]] std::string plan_phrase(const Plan& plan);
/// What the letters behind the degrees of a plan mean, of those that occur; empty where none does.
[[nodiscard]] std::string letters_text(const std::vector<Plan>& plans);

}  // namespace ddl
