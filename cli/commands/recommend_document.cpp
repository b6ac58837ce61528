#include <algorithm>
#include <bit>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands/recommendation.hpp"
#include "cli/commands/search_watch.hpp"
#include "cli/documents/charts.hpp"
#include "cli/documents/check.hpp"
#include "cli/documents/convergence.hpp"
#include "cli/documents/estimate.hpp"
#include "cli/documents/headline.hpp"
#include "cli/documents/intervals.hpp"
#include "cli/documents/ranking.hpp"
#include "cli/documents/startable.hpp"
#include "cli/documents/throughput.hpp"
#include "cli/options/job_file.hpp"
#include "cli/options/strategies.hpp"
#include "cli/report/fields.hpp"
#include "cli/report/figures.hpp"
#include "cli/sentences/sentences.hpp"
#include "core/units.hpp"
#include "estimator/choices/plan_choice.hpp"
#include "estimator/search/rank.hpp"
#include "estimator/search/ties.hpp"

namespace ddl {
namespace {

/// Compares the best plan with plain data parallelism. Empty if data parallelism is the best plan, or was not searched.
std::string compared_with_data(const RecommendAnswer& answer) {
  const Estimate& best = answer.shown.front();
  const Family family = family_bit(Axis::data);
  const auto is_data = [&](const Estimate& estimate) {
    return estimate.plan.mesh.family() == family && !has_layouts(estimate.plan);
  };
  if (answer.single || answer.gpus == 1 || is_data(best)) return {};
  const auto data = std::ranges::find_if(answer.result.best, is_data);
  if (data == answer.result.best.end()) {
    const bool is_tried = std::ranges::any_of(answer.result.rejected, is_data);
    return is_tried ? "plain data parallelism is not possible" : "";
  }
  // A plan that may not fit is not compared with a plan that fits.
  if (data->verdict > best.verdict) return "plain data parallelism may not fit";
  const double ratio = data->time.step_time() / best.time.step_time();
  return ratio >= 1 ? fmt::format("{:.2f}x as fast as plain data parallelism", ratio)
                    : fmt::format("{:.2f}x the speed of plain data parallelism", ratio);
}

bool uses_host(const Plan& plan) { return plan.offload != Offload::none || plan.offload_activations; }

/// Whether the search chose a first plan that offloads to host memory.
bool chose_offload(const RecommendAnswer& answer) {
  const ChosenOfPlan chosen = chosen_of(answer.options.plan);
  const Plan& plan = answer.shown.front().plan;
  const auto is_taken = [&](const PlanChoiceRow& row) { return row.needs_host && !chosen[row.choice] && row.get(plan) > 0; };
  return !answer.single && std::any_of(plan_choices().begin(), plan_choices().end(), is_taken);
}

/// The number of plans that are not shown: ranked plans, and plans that provably rank lower.
std::size_t plans_not_shown(const RecommendAnswer& answer) {
  if (answer.single) return 0;
  const std::size_t ranked = answer.options.all ? answer.result.ranked.size() : answer.result.best.size();
  return ranked + answer.result.behind.size() - answer.shown.size();
}

/// Whether a plan fits with the memory that the allocator reserves.
bool fits_as_reserved(const RecommendAnswer& answer, Estimate estimate) {
  add_reserved(*answer.estimator, estimate);
  return verdict_of(estimate.memory, answer.study->machine().device.memory) == Verdict::fits;
}

/// Explains the star of the recommended plan; empty if the recommended plan is in the first row.
std::string star_text(const RecommendAnswer& answer, const RankedRows& rows) {
  if (rows.recommended == 0) return {};
  const Estimate &first = answer.shown[rows.order.front()], &recommended = answer.shown.front();
  const bool is_near = recommended.time.step_time() <= first.time.step_time() * (1 + usual_tie);
  const bool is_simpler = simplicity_of(recommended.plan) < simplicity_of(first.plan);
  if (!is_near || !is_simpler) {
    if (!fits_as_reserved(answer, first))
      return "★ is recommended: with the memory that the allocator reserves, faster plans may not fit";
  }
  if (!is_near)
    return fmt::format(
        "★ is recommended: measured runs cover this kind of plan, and its time is more certain; row 1 takes {} less",
        share_text(1 - first.time.step_time() / recommended.time.step_time()));
  const bool is_started = is_startable(*answer.study, recommended);
  return fmt::format("★ is recommended: of the plans within {:.0f} % of the fastest, the simplest{}", usual_tie * 100,
                     is_started ? " that a tool can run" : "");
}

/// Whether a plan of the search is another plan of the recommended plan's strategy.
bool is_of_first(const RecommendAnswer& answer, const std::optional<Estimate>& each) {
  if (!each || answer.shown.empty() || !answer.options.framework.empty()) return false;
  const Plan& first = answer.shown.front().plan;
  return !has_layouts(first) && each->plan.mesh.family() == first.mesh.family();
}

/// Names the faster plan that another plan of the same strategy replaced, and the reason; empty if it is less than 0.5 %
/// faster.
std::string faster_text(const RecommendAnswer& answer) {
  const std::optional<Estimate>& fastest = answer.result.fastest;
  const Estimate& first = answer.shown.front();
  if (!is_of_first(answer, fastest) || fastest->time.step_time() * 1.005 >= first.time.step_time()) return {};
  const bool is_simpler = simplicity_of(first.plan) < simplicity_of(fastest->plan);
  const bool is_near = is_simpler && first.time.step_time() <= fastest->time.step_time() * (1 + usual_tie);
  return fmt::format("{} takes {}, {} less{}", plan_word(fastest->plan), humanize(fastest->time.step_time()),
                     share_text(1 - fastest->time.step_time() / first.time.step_time()),
                     is_near ? fmt::format("; not recommended, because the simplest plan within {:.0f} % of the fastest is",
                                           usual_tie * 100)
                             : ", but may not fit with the memory that the allocator reserves");
}

void add_table(Document& document, const RecommendAnswer& answer, const RankedRows& rows, const Training& training) {
  Table table = ranked_table(answer.shown, rows, *answer.study, training);
  if (const std::size_t more = plans_not_shown(answer); more > 0) {
    const auto all = static_cast<std::int64_t>(more + answer.shown.size());
    const std::int64_t asked = std::min(all, most_rows);
    // The text does not say that these plans fit, because some of them were ruled out before their memory was computed.
    table.left_out = fmt::format("{} of {} {}{}", answer.shown.size(), with_thousands(all),
                                 answer.options.all ? "plans" : "strategies, each with its best plan",
                                 asked > static_cast<std::int64_t>(answer.shown.size())
                                     ? fmt::format("; --top {} shows {}", asked, asked < all ? "more" : "all")
                                     : "");
  }
  document.apart(std::move(table));
  if (answer.single) return;
  if (const std::string ties = ties_text(rows); !ties.empty()) document.paragraph(ties);
  if (const std::string star = star_text(answer, rows); !star.empty()) document.paragraph(star);
  if (const std::string faster = faster_text(answer); !faster.empty()) document.paragraph(faster);
  const bool has_segments = std::ranges::any_of(answer.shown, [](const Estimate& each) { return has_layouts(each.plan); });
  const bool has_recomputed =
      std::ranges::any_of(answer.shown, [](const Estimate& each) { return !each.plan.recompute_segments.empty(); });
  if (answer.recompute_gap && has_recomputed) {
    document.paragraph(fmt::format("with other recomputed blocks, {} takes at most about {} less ({})",
                                   plan_word(answer.layered->plan), humanize(*answer.recompute_gap),
                                   share_text(*answer.recompute_gap / answer.layered->time.step_time())));
  }
  if (answer.options.per_layer && !has_segments) {
    document.paragraph(
        answer.result.stopped ? "plans that lay out layers differently were not searched, because the search was stopped"
        : answer.layered || answer.searched_layers
            ? fmt::format("no plan that lays out layers differently is more than {:.0f} % faster", usual_tie * 100)
            : "no plan that lays out layers differently is possible with these options");
  }
  const auto differs = [&](const Estimate& each) { return each.verdict != answer.shown.front().verdict; };
  if (!answer.options.allow_risk && std::ranges::any_of(answer.shown, differs))
    document.paragraph("plans that may not fit follow plans that fit: --allow-risk sorts all by time");
}

/// Why a plan that is faster than the recommended plan ranks lower; empty if it is only less simple.
std::string_view why_lower(const RecommendAnswer& answer, const Estimate& faster) {
  const Estimate& first = answer.shown.front();
  if (!is_startable(*answer.study, faster) && is_startable(*answer.study, first)) return "no tool can run this plan";
  const bool is_near = first.time.step_time() <= faster.time.step_time() * (1 + usual_tie);
  const bool has_more_axes = std::popcount(faster.plan.mesh.family()) > std::popcount(first.plan.mesh.family());
  if (is_near && has_more_axes) return {};
  if (!answer.options.allow_risk && !fits_as_reserved(answer, faster))
    return "may not fit with the memory that the allocator reserves";
  return splits_short_contexts(answer.study->job().facts, faster.plan) ? "no measured run shards such short samples" : "";
}

void add_why_not(Document& document, const RecommendAnswer& answer, const RankedRows& rows) {
  document.section("Why not the others");
  Table others(
      {essential(figures("#")), essential(words("strategy")), essential(figures("longer")), essential(prose("why"))});
  for (std::size_t row = 0; row < rows.order.size(); ++row) {
    if (row == rows.recommended) continue;
    const Estimate& each = answer.shown[rows.order[row]];
    const Estimate& first = answer.shown.front();
    const bool is_faster = each.time.step_time() < first.time.step_time();
    SlowdownReason behind = behind_first(each, first, answer.study->coefficients().learned, answer.objective,
                                         is_faster ? why_lower(answer, each) : "");
    others.add(
        {std::to_string(row + 1), family_name(each.plan.mesh.family()), std::move(behind.longer), std::move(behind.why)});
  }
  document.add(std::move(others));
}

void add_shown_plans(Document& document, const RecommendAnswer& answer, const RankedRows& rows,
                     const std::optional<WhatFits>& changes, bool drawn) {
  const Study& study = *answer.study;
  const Training training = shown_length(answer.options.training, study, answer.global_batch);
  if (drawn && answer.objective != Objective::memory) {
    if (auto chart = ranking_plot(answer.shown, rows)) document.add(*std::move(chart));
  }
  add_table(document, answer, rows, training);
  if (!answer.shares.empty()) document.line("kernel time of the best plan: " + kernel_shares_text(answer.shares.front()), 2);
  if (drawn) {
    std::vector<Estimate> in_rows;
    for (const std::size_t position : rows.order) in_rows.push_back(answer.shown[position]);
    document.section("Where the time goes");
    document.add(time_bars(in_rows));
  }
  add_throughput(document, answer.shown.front(), study, answer.shown.size() > 1 ? "best plan" : "throughput");
  add_findings(document, answer.shown.front(), study);
  if (const std::string compared = compared_with_data(answer); !compared.empty()) document.line(compared, 2);
  if (changes) add_what_fits(document, *changes, study);
  if (chose_offload(answer)) {
    document.line(fits_on_devices(answer) ? "plans without host memory are slower or may not fit: --offload none shows them"
                                          : "no plan fits without host memory",
                  2);
  }
  if (answer.shown.size() > 1 && answer.objective != Objective::memory && !answer.options.all)
    add_why_not(document, answer, rows);
}

/// Returns the plans that are shown, in the order of the table, the recommended plan first.
std::vector<const Estimate*> plans_to_start(const RecommendAnswer& answer, const RankedRows& rows) {
  std::vector<const Estimate*> plans{&answer.shown.front()};
  for (const std::size_t position : rows.order) {
    if (position > 0) plans.push_back(&answer.shown[position]);
  }
  return plans;
}

/// The choices that every plan of the answer has, because the user or the software fixed them.
FixedChoices fixed_choices(const RecommendAnswer& answer) {
  const PlanOptions& plan = answer.options.plan;
  return {answer.study->software().admits, chosen_of(plan), !plan.placement.empty(), plan.micro_batches.has_value()};
}

/// Says which tools start the recommended plan, or else the best plan that some tool starts.
std::optional<Card> start_card(const RecommendAnswer& answer, const RankedRows& rows) {
  const Estimate& best = answer.shown.front();
  if (!best.feasible() || answer.options.study.ideal) return std::nullopt;
  const Start start = start_of(*answer.study, *answer.estimator, plans_to_start(answer, rows), fixed_choices(answer));
  const std::string tools = fmt::format("{}", fmt::join(start.tools, ", "));
  Card card{"Start", "no tool"};
  std::string others_need;
  for (const StartingTool& each : start.too_small)
    others_need +=
        fmt::format("{}{} needs {}", others_need.empty() ? "" : ", ", each.name, humanize(each.estimate.memory.total()));
  if (start.plan) {
    const Seconds step = start.plan->time.step_time();
    const double longer = step / best.time.step_time() - 1;
    const std::string change = longer <= -0.005 ? fmt::format("{} shorter", share_text(-longer))
                               : longer < 0.005 ? "as fast"
                               : longer < 2     ? fmt::format("{} longer", share_text(longer))
                                                : fmt::format("{:.0f} times as long", longer + 1);
    const std::string verdict =
        start.plan->verdict == best.verdict ? "" : fmt::format(", {}", to_string(start.plan->verdict));
    // Predictions for different software do not say which plan is faster.
    card.details.push_back(
        fmt::format("no tool can run this plan; the best plan that a tool can run: {}, {} per step{} ({}), with {}",
                    plan_word(start.plan->plan), humanize(step), verdict,
                    start.other_software.empty() ? change : fmt::format("predicted for {}", start.other_software), tools));
    return card;
  }
  // The weights that LoRA freezes need no offloading in 4 bits.
  const bool may_quantize = best.plan.offload == Offload::weights && !answer.study->assumptions().base &&
                            answer.study->model().name.find("@lora=") != std::string::npos;
  if (start.tools.empty()) {
    if (!others_need.empty()) card.figure = "too large";
    card.details.push_back(others_need.empty()
                               ? fmt::format("no tool has launch files for this plan ({})", start.reason)
                               : fmt::format("too large for the software of tools that have launch files ({}); --for finds "
                                             "a plan that fits",
                                             others_need));
    if (may_quantize) card.details.emplace_back("without offloading: --base nf4 holds the frozen weights in 4 bits (QLoRA)");
    return card;
  }
  card.figure = tools;
  if (!others_need.empty()) card.details.push_back(fmt::format("too large: {}", others_need));
  const char* const others = answer.options.framework.empty() ? " (--for predicts for others)" : "";
  if (const std::string& software = answer.study->software().name; !software.empty())
    card.details.push_back(fmt::format("predicted for {}{}", software, others));
  return card;
}

/// Adds the answer for the recommended plan: as cards for a page, else as lines. `changes`: for a plan that does not fit.
void add_answer(Document& document, const RecommendAnswer& answer, const RankedRows& rows,
                const std::optional<WhatFits>& changes, bool drawn) {
  const Study& study = *answer.study;
  const Estimate& best = answer.shown.front();
  const Training training = shown_length(answer.options.training, study, answer.global_batch);
  const std::optional<Card> start = start_card(answer, rows), fitting = fitting_card(changes),
                            supposed = what_if_card(best, answer.what_if);
  Cards cards;
  if (drawn) {
    cards = answer_cards(best, study, training);
  } else {
    add_headline(document, best, study, training);
  }
  for (const std::optional<Card>& each : {fitting, start, supposed}) {
    if (each && drawn) cards.cards.push_back(*each);
    if (each && !drawn) add_card(document, *each);
  }
  if (drawn) document.add(Chart{"", "", std::move(cards)});
}

void add_no_plan(Document& document, const RecommendAnswer& answer) {
  const Study& study = *answer.study;
  document.line(answer.result.stopped ? "No plan was found yet" : "No plan is possible",
                fmt::format(" for {} on {} of {}", study.model().name,
                            count_text(answer.gpus, device_noun(study.machine().device)), study.machine().name));
  add_question(document, study, answer.gpus, answer.global_batch);
  if (answer.possible.empty()) return;
  document.section("What would be possible");
  Table table({essential(words("change")), essential(words("best plan")), essential(figures("step")),
               essential(figures("memory")), essential(words("verdict"))});
  for (const PossibleChange& each : answer.possible) {
    table.add({each.change, plan_word(each.best.plan), humanize(each.best.time.step_time()),
               humanize(each.best.memory.total()), std::string(to_string(each.best.verdict))});
  }
  document.add(std::move(table));
}

}  // namespace

bool fits_on_devices(const RecommendAnswer& answer) {
  const auto fits = [](const Estimate& each) { return each.verdict == Verdict::fits && !uses_host(each.plan); };
  return std::ranges::any_of(answer.result.best, fits) || std::ranges::any_of(answer.shown, fits);
}

Document document_of(const RecommendAnswer& answer, bool drawn) {
  const Study& study = *answer.study;
  const RankedRows rows = ranked_rows(answer.shown, answer.objective, answer.options.allow_risk, answer.options.risk);
  Document document;
  if (answer.configured) add_configured_plan(document, *answer.configured, answer.best(), study);
  if (answer.shown.empty()) {
    add_no_plan(document, answer);
  } else {
    add_question(document, study, answer.gpus, answer.global_batch);
    const std::optional<WhatFits> changes =
        answer.single ? what_fits(*answer.estimator, answer.shown.front(), study) : std::nullopt;
    add_answer(document, answer, rows, changes, drawn);
    add_shown_plans(document, answer, rows, changes, drawn);
  }
  if (!answer.shown.empty()) add_what_if(document, answer.shown.front(), answer.what_if);
  if (answer.options.training.convergence) add_convergence(document, *answer.options.training.convergence);
  if (drawn && !answer.shown.empty()) add_plan_figures(document, *answer.estimator, answer.shown.front().plan, study);
  if (!answer.result.rejected.empty() || !answer.without_plans.empty()) {
    document.folded_section("Rejected");
    add_rejected(document, answer.result.rejected, study.model());
    for (const Family family : answer.without_plans)
      document.line(fmt::format("{}: {}", family_name(family), why_without_plans(answer.gpus, family)), 2);
  }
  add_sources(document, study, answer.gpus, answer.shown.empty() ? nullptr : &answer.shown.front());
  add_defaults(document, answer.defaults);
  if (!answer.single) {
    document.section();
    const SearchResult& result = answer.result;
    document.line(
        fmt::format("{} considered: {} excluded by limits, {} pruned by bounds, {} estimated, {} feasible; "
                    "{:.0f} ms",
                    count_text(result.considered, "plan"),
                    with_thousands(result.considered - result.pruned - result.estimated), with_thousands(result.pruned),
                    with_thousands(result.estimated), with_thousands(result.feasible), answer.seconds * 1e3));
  }
  return document;
}

Json json_of(const RecommendAnswer& answer) {
  const Study& study = *answer.study;
  Json json = json_head();
  const RankedRows rows = ranked_rows(answer.shown, answer.objective, answer.options.allow_risk, answer.options.risk);
  const auto shown = [&](std::size_t place) {
    Json plan = estimate_to_json(answer.shown[place], answer.single ? 0 : static_cast<int>(place) + 1, study,
                                 answer.options.training);
    if (!answer.shares.empty()) plan["kernel_time_share"] = kernel_shares_to_json(answer.shares[place]);
    return plan;
  };
  if (answer.configured)
    json["like"] = configured_plan_to_json(*answer.configured, answer.best(), study, answer.options.training);
  json["best"] = answer.shown.empty() ? Json(nullptr) : shown(0);
  json["faster"] = is_of_first(answer, answer.result.fastest)
                       ? estimate_to_json(*answer.result.fastest, 0, study, answer.options.training)
                       : Json(nullptr);
  if (answer.recompute_gap) json["recompute_gap_s"] = answer.recompute_gap->value();
  json["plans"] = Json::array();
  for (std::size_t i = 0; i < answer.shown.size(); ++i) json["plans"].push_back(shown(i));
  for (const Estimate& estimate : answer.result.rejected)
    json["plans"].push_back(estimate_to_json(estimate, 0, study, answer.options.training));
  json["ratios_to_first"] = ratios_to_json(answer.shown);
  // The table of the text is sorted by time. `rank` prefers simple plans among plans that are hardly slower.
  json["table_order"] = Json::array();
  for (const std::size_t position : rows.order) json["table_order"].push_back(position + 1);
  json["ties"] = Json::array();
  for (const TieGroup& each : rows.groups) {
    if (each.is_tie()) json["ties"].push_back({{"first_row", each.first + 1}, {"last_row", each.last + 1}});
  }
  if (!answer.what_if.empty()) json["what_if"] = what_if_to_json(answer.shown.front(), answer.what_if);
  json["inputs"] = inputs_to_json(study, answer.options.training);
  json["inputs"]["gpus"] = answer.gpus;
  json["inputs"]["global_batch"] = answer.global_batch;
  json["inputs"]["objective"] = to_string(answer.objective);
  if (answer.options.risk) json["inputs"]["risk"] = *answer.options.risk;
  json["inputs"]["ideal"] = answer.options.study.ideal;
  if (answer.best() != nullptr) {
    JobFile job = job_of(study, answer.best()->plan, answer.options.folder);
    if (study.spec().dataset.empty()) job.dataset.clear();  // costs of epochs are for data sets that the user names
    json["inputs"]["job"] = print_job(job);
  }
  json["inputs"]["defaults"] = defaults_to_json(answer.defaults);
  if (answer.best() != nullptr && answer.best()->feasible() && !answer.options.study.ideal) {
    const Start start = start_of(study, *answer.estimator, plans_to_start(answer, rows), fixed_choices(answer));
    json["start"]["tools"] = start.tools;
    json["start"]["too_small"] = Json::array();
    for (const StartingTool& each : start.too_small)
      json["start"]["too_small"].push_back({{"tool", each.name}, {"total_bytes", each.estimate.memory.total().value()}});
    json["start"]["software"] = or_null(start.other_software);
    json["start"]["plan"] = start.plan ? estimate_to_json(*start.plan, 0, study, answer.options.training) : Json(nullptr);
  }
  if (answer.shown.empty()) {
    json["possible"] = Json::array();
    for (const PossibleChange& each : answer.possible)
      json["possible"].push_back({{"change", each.change}, {"best", estimate_to_json(each.best, 0, study)}});
  }
  json["search"] = {{"considered", answer.result.considered}, {"pruned", answer.result.pruned},
                    {"priced", answer.result.estimated},      {"feasible", answer.result.feasible},
                    {"interrupted", answer.result.stopped},   {"seconds", answer.seconds}};
  if (!answer.options.framework.empty()) json["search"]["framework"] = answer.options.framework;
  const auto gap = answer.shown.empty() ? std::nullopt : gap_of(answer.result, answer.shown.front(), answer.objective);
  if (gap) json["search"]["gap"] = *gap;
  return json;
}

}  // namespace ddl
