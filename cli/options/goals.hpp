#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/options/command_line.hpp"
#include "core/quantity.hpp"
#include "core/units.hpp"

namespace ddl {

/// An amount of money in a currency.
struct Money {
  double amount = 0;
  std::string currency{};  ///< empty: the machine's currency
};
/// The maximum cost and the maximum time of a whole training.
struct Goals {
  std::optional<Money> budget;
  std::optional<Seconds> deadline;
  [[nodiscard]] bool any() const { return budget || deadline; }
};

/// The largest accepted value of --budget, in units of the currency.
inline constexpr double most_budget = 1'000'000'000'000'000;

/// Parses an amount of money: `10kUSD`, `2.5M EUR`, `5000`. The number may be followed by k or M
/// for thousands or millions, and by the letters of a currency. Returns empty and sets `problem` if
/// the text is invalid, or if the amount is not from 0.01 to most_budget.
[[nodiscard]] std::optional<Money> parse_money(std::string_view text, UnitProblem& problem);

void add_measured_step(const Command& command, std::optional<Seconds>& measured);
/// Adds --budget and --deadline.
void add_goal_options(const Command& command, Goals& goals);

}  // namespace ddl
