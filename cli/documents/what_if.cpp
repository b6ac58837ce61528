#include "cli/documents/what_if.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/options/plan_notation.hpp"
#include "cli/sentences/activities.hpp"
#include "core/units.hpp"
#include "estimator/explain/findings.hpp"

namespace ddl {
namespace {

/// Returns a change of a time in percent: `-12 %`, `+4 %`.
std::string change_text(Seconds now, Seconds then) {
  const double change = then / now - 1;
  if (std::abs(change) < 0.0005) return "none";
  return fmt::format("{:+.{}f} %", change * 100, std::abs(change) < 0.1 ? 1 : 0);
}

/// Returns whether a plan has a step: it is possible, or lacks only memory.
bool has_step(const Estimate& estimate) {
  return estimate.time.step_time() > Seconds{} &&
         std::ranges::all_of(estimate.limits, [](const Limit& limit) { return limit.kind == Limit::Kind::memory; });
}

}  // namespace

SupposedOutcome supposed_outcome(std::string change, const Plan& plan, const Study& supposed, const Estimator& estimator) {
  SupposedOutcome outcome{.change = std::move(change), .same = estimator.estimate(plan), .bound = {}};
  if (!outcome.same.feasible()) return outcome;
  const std::vector<Finding> findings = findings_of(supposed.job(), outcome.same);
  const auto bound = std::ranges::find_if(findings, [](const Finding& each) { return each.bounds; });
  if (bound != findings.end()) outcome.bound = doing_phrase(bound->kind);
  return outcome;
}

std::optional<Card> what_if_card(const Estimate& now, const std::vector<SupposedOutcome>& cases) {
  if (cases.empty()) return std::nullopt;
  Card card{"What if", cases.front().change};
  for (const SupposedOutcome& each : cases) {
    const Seconds then = each.same.time.step_time();
    const std::string change = change_text(now.time.step_time(), then);
    std::string text = !has_step(each.same) ? fmt::format("{}: this plan is not possible", each.change)
                                            : fmt::format("{}: {} per step{}{}", each.change, humanize(then),
                                                          change == "none" ? " as before" : fmt::format(" ({})", change),
                                                          each.same.feasible() ? "" : ", does not fit");
    if (each.best) {
      text += each.best->plan == now.plan
                  ? ", still the best plan"
                  : fmt::format(", best is then {}, {}", plan_word(each.best->plan), humanize(each.best->time.step_time()));
    }
    card.details.push_back(std::move(text));
  }
  return card;
}

void add_what_if(Document& document, const Estimate& now, const std::vector<SupposedOutcome>& cases) {
  if (cases.empty()) return;
  const bool is_searched = std::ranges::any_of(cases, [](const SupposedOutcome& each) { return each.best.has_value(); });
  document.section("What if");
  std::vector<Column> columns{essential(words("change")), essential(figures("step")), essential(figures("change")),
                              words("bound by")};
  if (is_searched) {
    columns.push_back(essential(words("best plan")));
    columns.push_back(essential(figures("its step")));
  }
  Table table(std::move(columns));
  const Seconds step = now.time.step_time();
  for (const SupposedOutcome& each : cases) {
    const bool is_possible = has_step(each.same), fits = each.same.feasible();
    const Seconds then = each.same.time.step_time();
    std::vector<std::string> row{each.change, is_possible ? humanize(then) : "-",
                                 is_possible ? change_text(step, then) + (fits ? "" : ", does not fit") : "not possible",
                                 fits ? each.bound : "-"};
    if (is_searched) {
      row.push_back(!each.best ? "none" : each.best->plan == now.plan ? "the same" : plan_word(each.best->plan));
      row.push_back(each.best ? humanize(each.best->time.step_time()) : "-");
    }
    table.add(std::move(row));
  }
  document.add(std::move(table));
}

nlohmann::ordered_json what_if_to_json(const Estimate& now, const std::vector<SupposedOutcome>& cases) {
  using Json = nlohmann::ordered_json;
  Json all = Json::array();
  for (const SupposedOutcome& each : cases) {
    Json one{{"change", each.change}};
    const bool is_possible = has_step(each.same);
    one["fits"] = each.same.feasible();
    one["step_s"] = is_possible ? Json(each.same.time.step_time().value()) : Json(nullptr);
    one["ratio"] = is_possible ? Json(each.same.time.step_time() / now.time.step_time()) : Json(nullptr);
    one["bound_by"] = or_null(each.bound);
    one["best_plan"] = each.best ? Json(plan_word(each.best->plan)) : Json(nullptr);
    one["best_step_s"] = each.best ? Json(each.best->time.step_time().value()) : Json(nullptr);
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace ddl
