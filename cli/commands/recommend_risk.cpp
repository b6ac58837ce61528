#include <algorithm>

#include <fmt/format.h>

#include "cli/commands/recommendation.hpp"
#include "cli/documents/intervals.hpp"
#include "cli/options/option_value.hpp"
#include "core/error.hpp"
#include "estimator/search/rank.hpp"

namespace ddl {

Option add_risk(const Command& command, std::optional<double>& risk) {
  constexpr double least = 0.5, most = 0.99;
  return add_number(command, "--risk", risk, least, most,
                    "rank by the time that a step does not exceed with this probability: 0.9 prefers plans that are surely "
                    "fast")
      .excludes(command.get_option("--ideal"));
}

void refuse_risk(Objective objective) {
  if (objective == Objective::time || objective == Objective::cost) return;
  throw Error(fmt::format("--risk ranks by time, but --objective {} does not", to_string(objective)),
              "leave one of them out");
}

void rank_by_risk(RecommendAnswer& answer, const SearchOptions& options) {
  std::vector<Estimate>& plans = answer.options.all ? answer.result.first : answer.result.best;
  add_intervals(plans, *answer.study, *answer.estimator);
  const double chance = *answer.options.risk;
  std::ranges::stable_sort(plans, [&](const Estimate& a, const Estimate& b) {
    const Verdict of_a = verdict_for(a, options), of_b = verdict_for(b, options);
    return of_a != of_b ? of_a < of_b : time_within(a, chance) < time_within(b, chance);
  });
}

}  // namespace ddl
