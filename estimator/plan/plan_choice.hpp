#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/plan/plan.hpp"

namespace ddl {

/// What is chosen of a plan beside its mesh, its batch, its micro-batches and its placement.
enum class PlanChoice { schedule, zero, recompute };
inline constexpr std::size_t plan_choice_count = 3;

/// What another value of a choice than its first does to a plan, as far as it is known before anything is priced.
enum class Trade {
  open,                ///< it may be faster or slower, and need more or less memory
  slower_but_smaller,  ///< it is not faster than a smaller value, and needs no more memory
  never_better,        ///< it is not faster and does not need less memory
};

/// All that options, files, reports and the search know of a choice. A new choice is one member of Plan and one row.
struct PlanChoiceRow {
  PlanChoice choice;
  std::string_view key;      ///< in reports and tables: `zero_stage`
  std::string_view option;   ///< on the command line, without dashes, and in job files: `zero`
  std::string_view meaning;  ///< behind "fix" in the help: `the ZeRO stage`
  std::string_view noun;     ///< what values are names or numbers of: `stage of ZeRO`
  int last;                  ///< values are 0 to `last`, the simplest first
  bool by_number;            ///< values are written as numbers, not by their names
  Trade trade;
  std::string_view beyond_ideal;  ///< what the closed forms of ParaDL do not have of values above 0; empty: they have all
  std::string_view separator;     ///< between this choice and those before it, where people read a plan
  std::string_view (*name)(int value);
  /// What people read of a value: `ZeRO-1`; empty where it goes without saying.
  std::string (*words)(int value);
  /// Whether the choice makes a difference on such a mesh.
  bool (*matters)(const Mesh& mesh);
  int (*get)(const Plan& plan);
  void (*set)(Plan& plan, int value);

  [[nodiscard]] std::optional<int> parse(std::string_view text) const;
  /// Every value by its name.
  [[nodiscard]] std::vector<std::string_view> names() const;
  /// `none or full`, `0 to 3`.
  [[nodiscard]] std::string values_text() const;
};

/// Nothing else lists the choices.
[[nodiscard]] std::span<const PlanChoiceRow, plan_choice_count> plan_choices();
[[nodiscard]] const PlanChoiceRow& row_of(PlanChoice choice);

/// The choices that somebody has made.
class ChosenOfPlan {
 public:
  [[nodiscard]] std::optional<int>& operator[](PlanChoice choice) { return values_[static_cast<std::size_t>(choice)]; }
  [[nodiscard]] const std::optional<int>& operator[](PlanChoice choice) const {
    return values_[static_cast<std::size_t>(choice)];
  }
  /// Sets what was chosen; the rest stays as it is.
  void apply(Plan& plan) const;
  friend bool operator==(const ChosenOfPlan&, const ChosenOfPlan&) = default;

 private:
  std::array<std::optional<int>, plan_choice_count> values_;
};

/// Leaves what is open, and the closed forms of ParaDL do not have, at its first value.
void keep_to_ideal(ChosenOfPlan& chosen);

/// The plan without what the division of layers among ranks does not depend on. Whoever keeps something by it tells plans
/// apart that differ in a choice nobody here has heard of.
[[nodiscard]] Plan split_of(const Plan& plan);

}  // namespace ddl
