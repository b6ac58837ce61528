#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "cli/sentences/activities.hpp"
#include "cli/sentences/sentences.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

/// Prints a share as a percentage, with one decimal below 10 %: `6.7 %`, `67 %`.
std::string fine_percent(double share) {
  const double percents = share * 100;
  return percents < 9.95 ? fmt::format("{:.1f} %", percents) : fmt::format("{:.0f} %", percents);
}

/// Returns the clause about the memory item that decides: `activations decide, 20.1 GiB against 6.3
/// GiB`; empty if no item decides.
std::string memory_decides(const std::optional<PairedTerm<Bytes>>& term, bool of_other) {
  if (!term) return {};
  const Bytes own = of_other ? term->other : term->explained;
  const Bytes against = of_other ? term->explained : term->other;
  return fmt::format("{} decide{}, {} against {}", term->name, term->name.ends_with('s') ? "" : "s", humanize(own),
                     humanize(against));
}

/// Compares the times of two different plans that both fit in memory.
std::string of_times(const Comparison& comparison, const Compared& explained, const Compared& other) {
  const Seconds before = comparison.explained_time, after = comparison.other_time;
  const std::string times = fmt::format("{} against {} per {}", humanize(after), humanize(before), comparison.basis);
  if (are_alike(before, after)) {
    const Bytes less = explained.estimate.memory.total(), more = other.estimate.memory.total();
    const std::string memory = are_alike(less, more) ? "as much"
                                                     : fmt::format("{} {}", humanize(max(more, less) - min(more, less)),
                                                                   more > less ? "more" : "less");
    return fmt::format("{} takes as long as {} within 0.5 %, {}, with {} memory", other.name, explained.name, times, memory);
  }
  const bool longer = after > before;
  const Seconds difference = max(before, after) - min(before, after);
  std::string text =
      fmt::format("{} {} {} ({}) {} than {}, {}", other.name, longer ? "takes" : "is faster: it takes", humanize(difference),
                  fine_percent(difference / before), longer ? "longer" : "less", explained.name, times);
  if (const auto& term = comparison.deciding_time) {
    text += fmt::format(": {} decide{}, {} against {}", doing_phrase(term->name),
                        term->name == "layer_collectives" ? "" : "s", humanize(term->other), humanize(term->explained));
  }
  return text;
}

std::string of_one_that_fits(const Comparison& comparison, const Compared& fitting, const Compared& failing,
                             bool other_fails) {
  const std::string why = describe(failing.estimate.limits, failing.model);
  const std::string time = fmt::format("{} per {}", humanize(comparison.other_time), comparison.basis);
  if ((other_fails ? comparison.other_standing : comparison.explained_standing) == Standing::impossible) {
    if (other_fails) return fmt::format("{} cannot run: {}", failing.name, why);
    return fmt::format("{} can run, in {}, but {} cannot: {}", fitting.name, time, failing.name, why);
  }
  const std::string term = memory_decides(comparison.deciding_memory, other_fails);
  const std::string decides = term.empty() ? "" : fmt::format("; {} of {}", term, fitting.name);
  if (other_fails) return fmt::format("{} does not fit: it {}{}", failing.name, why, decides);
  return fmt::format("{} fits, with {}, but {} does not: it {}{}", fitting.name, time, failing.name, why, decides);
}

std::string of_two_that_fail(const Comparison& comparison, const Compared& explained, const Compared& other) {
  if (comparison.explained_standing == Standing::too_full && comparison.other_standing == Standing::too_full) {
    const auto needs = [](const Compared& one) { return humanize(one.estimate.memory.total()); };
    const std::string why = memory_decides(comparison.deciding_memory, true);
    return fmt::format("neither fits: {} needs {} per device, {} {}{}{}", other.name, needs(other), explained.name,
                       needs(explained), why.empty() ? "" : ": ", why);
  }
  const auto reasons = [](const Compared& one) { return describe(one.estimate.limits, one.model); };
  return fmt::format("neither can run: {}: {}; {}: {}", other.name, reasons(other), explained.name, reasons(explained));
}

/// Says what makes a plan slower than the first plan. The time of compute is that of the longest stage, so it may be longer
/// because the stages are uneven, or because layers are recomputed.
std::string_view why_slower(const Estimate& behind, const Estimate& first) {
  const std::string_view grown = grown_most(first.time, behind.time);
  if (grown != "compute") return doing_phrase(grown);
  const auto compute = [](const Estimate& estimate) { return estimate.time[Part::forward] + estimate.time[Part::backward]; };
  // Backward has twice the products of forward, so recomputation adds a quarter of the sum.
  constexpr double recomputed = 1.0 / 4;
  const auto recomputes_all = [](const Estimate& estimate) {
    return estimate.plan.recompute == Recompute::full && estimate.plan.recompute_blocks == 0 &&
           estimate.plan.recompute_segments.empty();
  };
  const Seconds half_of_growth = (compute(behind) - compute(first)) * 0.5;
  if (compute(behind) * (behind.imbalance / (1 + behind.imbalance)) >= half_of_growth)
    return "uneven stages of the pipeline";
  if (recomputes_all(behind) && !recomputes_all(first) && compute(behind) * recomputed >= half_of_growth)
    return "recomputation of all layers";
  return doing_phrase(grown);
}

}  // namespace

std::string describe(const Comparison& comparison, const Compared& explained, const Compared& other) {
  if (comparison.itself) return fmt::format("{} is the explained plan", other.name);
  if (comparison.both_fit()) return of_times(comparison, explained, other);
  const bool other_fails = comparison.other_standing != Standing::fits;
  if (other_fails && comparison.explained_standing != Standing::fits) return of_two_that_fail(comparison, explained, other);
  return other_fails ? of_one_that_fits(comparison, explained, other, true)
                     : of_one_that_fits(comparison, other, explained, false);
}

SlowdownReason behind_first(const Estimate& behind, const Estimate& first, const LearnedFamilies& learned,
                            Objective objective, std::string_view why_lower) {
  const double longer = behind.time.step_time() / first.time.step_time() - 1.0;
  if (std::abs(longer) < 0.005) return {"as fast", {}};
  const std::int64_t percents = std::max<std::int64_t>(1, std::lround(std::abs(longer) * 100.0));
  if (longer > 0) return {fmt::format("{} %", percents), std::string(why_slower(behind, first))};
  const auto is_fitted = [&](const Estimate& each) { return is_known(learned, each.plan.mesh.family()); };
  const bool is_unfitted = !is_fitted(behind) && is_fitted(first);
  return {fmt::format("-{} %", percents), behind.verdict > first.verdict   ? "may not fit"
                                          : objective == Objective::energy ? "more energy"
                                          : objective == Objective::memory ? "more memory"
                                          : is_unfitted                    ? "not covered by the fitted runs"
                                          : !why_lower.empty()             ? std::string(why_lower)
                                                                           : "less simple"};
}

}  // namespace ddl
