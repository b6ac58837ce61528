#include "cli/commands/search_watch.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/options/option_value.hpp"
#include "cli/options/plan_file.hpp"
#include "cli/report/interrupt.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"
#include "core/units.hpp"

namespace ddl {

Option add_time_limit(const Command& command, std::optional<Seconds>& into) {
  constexpr const char* hint = "use for example 2s or 500ms";
  const auto parse = [](const std::string& text, UnitProblem& problem) {
    const auto time = parse_quantity<Seconds>(text, problem);
    if (time && time->value() <= 0) throw Error("--time-limit must be positive", hint);
    return time;
  };
  return add_parsed(command, "--time-limit", into, parse, hint, "TIME",
                    "end the search after this time, such as 2s, with the best plan so far");
}

void SearchWatch::watch(SearchOptions& options) {
  options.on_better = [this](const RankedPlan& best) {
    progress_.say(fmt::format("plans, best so far {}: {}", humanize(best.step_time), plan_word(best.plan)));
  };
  options.go_on = [this](std::int64_t done, std::int64_t all) {
    progress_.show(static_cast<std::size_t>(done), static_cast<std::size_t>(all));
    at_limit_ = at_limit_ || (limit_ && seconds() >= limit_->value());
    return !at_limit_ && !Interrupt::asked();
  };
}

std::optional<double> gap_of(const SearchResult& result, const Estimate& best, Objective objective) {
  if (!result.stopped || objective == Objective::memory) return std::nullopt;
  return std::clamp(1 - result.least_left / best.time.step_time(), 0.0, 1.0);
}

std::string gap_text(double gap, const SearchResult& result) {
  if (gap >= 1) return "nothing is known of the other plans";
  if (gap <= 0) return "none of the other plans is faster";
  return fmt::format("no other plan takes less than {}, {:.0f} % less than the best one found", humanize(result.least_left),
                     gap * 100);
}

}  // namespace ddl
