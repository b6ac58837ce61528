#include "cli/options/goals.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "calibration/inputs/currency.hpp"
#include "cli/options/option_value.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"

namespace ddl {

std::optional<Money> parse_money(std::string_view text, UnitProblem& problem) {
  const auto refuse = [&](std::string message) {
    problem = {std::move(message), "use for example 10kUSD, 2.5MEUR or 5000"};
    return std::nullopt;
  };
  Money money;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), money.amount);
  if (error != std::errc{}) return refuse(fmt::format("{} is not an amount of money", quote(text)));
  std::string_view unit = text.substr(static_cast<std::size_t>(stop - text.data()));
  const auto skip_blanks = [&] {
    while (unit.starts_with(' ')) unit.remove_prefix(1);
  };
  skip_blanks();
  // An M alone, or an M before a currency, means a million. MXN is a currency.
  if (!is_currency(unit) && (unit.starts_with('k') || unit.starts_with('K') || unit.starts_with('M'))) {
    money.amount *= unit.front() == 'M' ? 1e6 : 1e3;
    unit.remove_prefix(1);
    skip_blanks();
  }
  if (!unit.empty() && !is_currency(unit)) return refuse(fmt::format("{} is not an amount of money", quote(text)));
  money.currency = unit;
  // This form of the condition is false for NaN, so NaN is refused.
  const bool within = money.amount >= 0.01 && money.amount <= most_budget;
  if (!within) return refuse(fmt::format("{} is not from 0.01 to {:.0e}", quote(text), most_budget));
  return money;
}

/// The times that --measured accepts.
constexpr Seconds least_measured{1e-9}, most_measured{1e9};

void add_measured_step(const Command& command, std::optional<Seconds>& measured) {
  const auto parse = [](const std::string& text, UnitProblem& problem) -> std::optional<Seconds> {
    const auto time = parse_quantity<Seconds>(text, problem);
    // This form of the condition is false for NaN, so NaN is refused.
    if (!time || (*time >= least_measured && *time <= most_measured)) return time;
    problem.message = fmt::format("{} is not from 1 ns to 1e9 s", quote(text));
    return std::nullopt;
  };
  add_parsed(command, "--measured", measured, parse, "use for example 3.1s or 850ms", "TIME",
             "time of a step that you measured, such as 3.1s; says whether it is as predicted, and what would explain it");
}

void add_goal_options(const Command& command, Goals& goals) {
  add_parsed(command, "--budget", goals.budget, parse_money, "", "MONEY",
             "maximum cost of the whole training, such as 10kUSD");
  const auto parse = [](const std::string& text, UnitProblem& problem) {
    const auto time = parse_quantity<Seconds>(text, problem);
    if (time && time->value() <= 0) throw Error("--deadline must be positive", "use for example 7d or 36h");
    return time;
  };
  add_parsed(command, "--deadline", goals.deadline, parse, "use for example 7d, 36h or 90min", "TIME",
             "maximum time of the whole training, such as 7d or 36h");
}

}  // namespace ddl
