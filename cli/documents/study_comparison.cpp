
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/documents/charts.hpp"
#include "cli/documents/energy.hpp"
#include "cli/documents/estimate.hpp"
#include "cli/documents/headline.hpp"
#include "cli/documents/intervals.hpp"
#include "cli/documents/ranking.hpp"
#include "cli/documents/study_outcomes.hpp"
#include "cli/documents/throughput.hpp"
#include "cli/options/plan_file.hpp"
#include "cli/report/fields.hpp"
#include "cli/report/figures.hpp"
#include "cli/report/shell_words.hpp"
#include "cli/sentences/sentences.hpp"
#include "core/error.hpp"
#include "core/find.hpp"
#include "core/units.hpp"
#include "estimator/explain/comparison.hpp"

namespace ddl {
namespace {

bool answered(const StudyOutcome& outcome) { return outcome.study != nullptr; }

std::optional<Throughput> throughput_of(const StudyOutcome& outcome) {
  const Job& job = outcome.study->job();
  return throughput_of(job, sample_flops(job), outcome.best_estimate());
}
double epochs_per_day(const Estimate& estimate) { return 86400.0 / estimate.epoch.value(); }

std::string figure_text(const StudyOutcome& outcome) {
  if (outcome.objective == Objective::memory)
    return fmt::format("{} per {}", humanize(outcome.best_estimate().memory.total()),
                       device_noun(outcome.study->machine().device));
  const std::string of = " " + purpose_of(outcome.training);
  if (outcome.objective == Objective::time) return humanize(time_of(outcome)) + of;
  const std::string unit = outcome.objective == Objective::energy ? "kWh" : outcome.study->machine().currency;
  return fmt::format("{} {}{}", amount(figure_of(outcome)), unit, of);
}

std::string_view superlative(const StudyOutcome& best, bool several_models) {
  if (best.objective == Objective::cost) return "is cheapest";
  if (best.objective == Objective::memory) return "needs the least memory";
  if (best.objective == Objective::energy) return "needs the least energy";
  return several_models && !best.training.is_whole() && best.training.unit.empty() ? "has the shortest epoch" : "is fastest";
}

/// Whether the errors of two predictions may change the order of their studies. The errors are taken as independent, because
/// the machines differ. Memory has no such error, and models on one machine share most of theirs.
bool may_change_places(const StudyOutcome& best, const StudyOutcome& other) {
  const std::optional<TimeInterval>& a = best.best_estimate().interval;
  const std::optional<TimeInterval>& b = other.best_estimate().interval;
  if (best.objective == Objective::memory || best.study->machine().name == other.study->machine().name || !a || !b)
    return false;
  return std::log(figure_of(other) / figure_of(best)) < std::hypot(std::log(a->high), std::log(b->low));
}

/// Compares the second study with the best one: `dgx-a100 takes 1.07 times as long, within the error`. Names further studies
/// that may be as good as the best one.
std::string against_best(const std::vector<const StudyOutcome*>& order, const Labels& labels) {
  const StudyOutcome &best = *order[0], &next = *order[1];
  const double ratio = figure_of(next) / figure_of(best);
  std::string text;
  if (ratio < 1.005) {
    text = fmt::format("; {} is within 0.5 %", labels.of(next));
  } else {
    text = best.objective == Objective::time   ? fmt::format("; {} takes {:.3g} times as long", labels.of(next), ratio)
           : best.objective == Objective::cost ? fmt::format("; {} costs {:.3g} times as much", labels.of(next), ratio)
                                               : fmt::format("; {} needs {:.3g} times as much", labels.of(next), ratio);
    if (may_change_places(best, next)) text += ", within the error";
  }
  std::vector<std::string> tied;
  for (std::size_t i = 2; i < order.size(); ++i) {
    if (may_change_places(best, *order[i])) tied.push_back(labels.of(*order[i]));
  }
  if (!tied.empty()) text += fmt::format("; also within the error: {}", fmt::join(tied, ", "));
  if (!labels.several_models() && best.global_batch != next.global_batch) text += "; the global batches differ";
  return text;
}

void add_first_line(Document& document, const Outcomes& outcomes, const Labels& labels) {
  const std::vector<const StudyOutcome*> order = ranked(outcomes);
  if (order.empty()) return document.line("No plan fits", " any of them");
  const StudyOutcome& best = *order.front();
  if (!comparable(outcomes)) return document.line("Costs are in different currencies", ": none is named the cheapest");
  if (order.size() == 1) {
    const bool all_answered = std::ranges::all_of(outcomes, answered);
    return document.line(labels.of(best) + (all_answered ? " alone has a plan that fits" : " alone has an answer"),
                         ": " + figure_text(best));
  }
  document.line(fmt::format("{} {}", labels.of(best), superlative(best, labels.several_models())),
                fmt::format(": {}{}", figure_text(best), against_best(order, labels)));
}

Table plans_table(const Outcomes& outcomes, const Labels& labels) {
  const bool priced = std::ranges::any_of(outcomes, [](const StudyOutcome& each) { return each.best && cost_of(each); });
  // Tokens per second are only comparable between models of sequences.
  const bool of_tokens = std::ranges::all_of(
      outcomes, [](const StudyOutcome& each) { return !each.best || each.study->model().sequence_length > 0; });
  const Training& training = outcomes.front().training;
  std::vector<Column> columns{essential(words("study")), essential(words("plan")), figures("step"),
                              figures(of_tokens ? "tokens/s" : "samples/s"), essential(figures(name_of(training)))};
  if (priced)
    columns.push_back(essential(figures(training.is_whole() || !training.unit.empty() ? "cost" : "cost of an epoch")));
  const bool powered = std::ranges::any_of(outcomes, [](const StudyOutcome& each) { return each.best && each.best->power; });
  const bool emits = powered && std::ranges::any_of(outcomes, [](const StudyOutcome& each) {
                       return each.best && each.study->assumptions().carbon;
                     });
  if (powered) columns.push_back(figures("kWh"));
  if (emits) columns.push_back(figures("kg CO2"));
  columns.insert(columns.end(), {figures("MFU"), essential(figures("memory")), if_asked(figures("of device")),
                                 essential(words("verdict")), figures("eff."), words(interval_name())});
  if (!training.is_whole()) columns.push_back(if_asked(figures("epochs/day")));
  columns.insert(columns.end(), {if_asked(words("data set")), if_asked(words("strategy")), if_asked(words("degrees")),
                                 if_asked(words("with"))});
  Table table(std::move(columns));
  for (const StudyOutcome& each : outcomes) {
    if (!each.best) continue;
    const Estimate& best = *each.best;
    const Study& study = *each.study;
    std::vector<std::string> row{labels.of(each), plan_word(best.plan)};
    const std::optional<Throughput> throughput = throughput_of(each);
    const double rate = !throughput ? 0 : of_tokens ? throughput->tokens.value_or(0) : throughput->samples;
    row.insert(row.end(), {humanize(best.time.step_time()), rate_text(rate), humanize(time_of(each))});
    if (priced) {
      const std::optional<double> cost = cost_of(each);
      row.push_back(cost ? fmt::format("{} {}", amount(*cost), study.machine().currency) : "-");
    }
    const std::optional<double> energy = kilowatt_hours(best, study, each.training);
    const std::optional<double> carbon = energy ? carbon_kilograms(study, *energy) : std::nullopt;
    if (powered) row.push_back(energy ? amount(*energy) : "-");
    if (emits) row.push_back(carbon ? amount(*carbon) : "-");
    row.insert(row.end(), {mfu_text(throughput), humanize(best.memory.total()), humanize(study.device_memory()),
                           std::string(to_string(best.verdict)), share_text(best.efficiency),
                           interval_text(best.time.step_time(), best.interval)});
    if (!training.is_whole()) row.push_back(rate_text(epochs_per_day(best)));
    row.insert(row.end(), {study.dataset().name, family_name(best.plan.mesh.family()), degrees_text(best.plan.mesh),
                           choices_text(best.plan)});
    table.add(std::move(row));
  }
  return table;
}

/// Says where the price of each machine is from, if costs are compared that are based on prices of different years, or on
/// prices of the user and of machine files; else empty.
std::string price_origins_text(const Outcomes& outcomes) {
  std::map<std::string, std::string> origins;
  std::set<std::string> different;
  for (const StudyOutcome& each : outcomes) {
    if (!each.best || !cost_of(each)) continue;
    const bool is_own = has_own_price(*each.study);
    const std::string year = is_own ? std::string() : price_year(*each.study);
    if (!is_own && year.empty()) continue;
    const std::string origin = is_own ? "yours (--price)" : "list price of " + year;
    origins.emplace(each.study->machine().name, origin);
    different.insert(origin);
  }
  if (different.size() < 2) return {};
  std::vector<std::string> parts;
  for (const auto& [machine, origin] : origins) parts.push_back(fmt::format("{} {}", machine, origin));
  return fmt::format("prices: {}", fmt::join(parts, "; "));
}

/// Names the machines without a price, if other costs are compared; else empty.
std::string missing_prices_text(const Outcomes& outcomes) {
  std::set<std::string> missing;
  bool any_cost = false;
  for (const StudyOutcome& each : outcomes) {
    if (!each.best) continue;
    if (cost_of(each)) {
      any_cost = true;
    } else if (!each.study->machine().price_per_gpu_hour) {
      missing.insert(each.study->machine().name);
    }
  }
  if (!any_cost || missing.empty()) return {};
  const std::array prices{fmt::format("{}=2.5USD/h", fmt::join(missing, "=2.5USD/h,"))};
  return fmt::format("{} {} no price: add --price {}", fmt::join(missing, ", "), missing.size() == 1 ? "has" : "have",
                     shell_words(prices));
}

/// Lists the problem and the hint of each study without an answer.
Document problems_of(const Outcomes& outcomes, const Labels& labels) {
  Document problems;
  for (const StudyOutcome& each : outcomes) {
    if (each.best && !each.best->feasible()) {
      problems.paragraph(
          fmt::format("{}: does not fit: {}", labels.of(each), reasons_text(*each.best, each.study->model())));
    }
    if (each.problem.empty()) continue;
    std::string text = fmt::format("{}: {}", labels.of(each), each.problem);
    if (each.nearest) {
      text += fmt::format("; nearest is {}: {}", degrees_word(each.nearest->plan.mesh),
                          reasons_text(*each.nearest, each.study->model()));
    }
    problems.paragraph(text);
    if (!each.hint.empty()) problems.line("hint: " + each.hint, 4);
  }
  return problems;
}

/// Returns a table of defaults with a column for each answered study. An option that the user gave
/// for one study may be a default in another study.
Table defaults_table(const Outcomes& outcomes, const Labels& labels) {
  std::vector<Column> columns{essential(words("option"))};
  std::vector<std::string> options;
  for (const StudyOutcome& each : outcomes) {
    if (!each.study) continue;
    columns.push_back(prose(labels.of(each)));
    for (const Default& one : each.defaults) {
      if (!contains(options, one.option)) options.push_back(one.option);
    }
  }
  Table table(std::move(columns));
  for (const std::string& option : options) {
    std::vector<std::string> row{option};
    for (const StudyOutcome& each : outcomes) {
      if (!each.study) continue;
      const auto found = std::ranges::find_if(each.defaults, [&](const Default& one) { return one.option == option; });
      row.push_back(found == each.defaults.end() ? "-" : found->value);
    }
    table.add(std::move(row));
  }
  return table;
}

/// Lists the reasons why the best plan is better than the best plan of each other study.
Document others_of(const Outcomes& outcomes, const Labels& labels) {
  Document others;
  const std::vector<const StudyOutcome*> order = ranked(outcomes);
  if (order.size() <= 1 || order.front()->objective != Objective::time) return others;
  const StudyOutcome& best = *order.front();
  for (std::size_t i = 1; i < order.size(); ++i) {
    // Epochs of different data sets are not compared.
    if (order[i]->study->dataset().name != best.study->dataset().name) continue;
    Estimate first_plan = best.best_estimate(), other_plan = order[i]->best_estimate();
    first_plan.epoch = time_of(best);
    other_plan.epoch = time_of(*order[i]);
    const Compared first{labels.of(best), first_plan, best.study->model()};
    const Compared other{labels.of(*order[i]), other_plan, order[i]->study->model()};
    Comparison comparison = compare(first, other, Basis::epoch);
    const std::string basis = name_of(best.training);
    comparison.basis = basis;
    others.paragraph(describe(comparison, first, other));
  }
  return others;
}

/// Draws a bar for each plan. A step has a different number of samples in each model, so each label contains the batch.
Chart bars_of(const Outcomes& outcomes, const Labels& labels) {
  std::vector<std::pair<std::string, const Estimate*>> plans;
  for (const StudyOutcome& each : outcomes) {
    if (!each.best) continue;
    plans.emplace_back(fmt::format("{}: {}, global batch {}", labels.of(each), plan_word(each.best->plan),
                                   with_thousands(each.global_batch)),
                       &*each.best);
  }
  return time_bars(plans);
}

/// Returns a card for each study with a plan that fits, best first.
Cards cards_of(const Outcomes& outcomes, const Labels& labels) {
  constexpr std::size_t most_cards = 6;
  Cards cards;
  for (const StudyOutcome* const each : ranked(outcomes)) {
    if (cards.cards.size() == most_cards) break;
    const Estimate& best = each->best_estimate();
    const Seconds step = best.time.step_time();
    Card card{labels.of(*each), humanize(time_of(*each))};
    card.about = purpose_of(each->training);
    card.badge = to_string(best.verdict);
    card.grade = best.verdict == Verdict::fits ? Grade::good : Grade::risk;
    card.details.push_back(plan_word(best.plan));
    card.details.push_back(
        fmt::format("{} per step, {} ({})", humanize(step), interval_text(step, best.interval), interval_name()));
    const std::optional<Throughput> throughput = throughput_of(*each);
    if (throughput) card.details.push_back("MFU " + mfu_text(throughput));
    if (const std::optional<double> cost = cost_of(*each))
      card.details.push_back(
          fmt::format("{} {} {}", amount(*cost), each->study->machine().currency, purpose_of(each->training)));
    cards.cards.push_back(std::move(card));
  }
  return cards;
}

/// Adds the drawings of the best plan; adds nothing if no plan fits.
void add_figures_of_best(Document& document, const Outcomes& outcomes, const Labels& labels) {
  const std::vector<const StudyOutcome*> order = ranked(outcomes);
  if (order.empty()) return;
  const StudyOutcome& best = *order.front();
  document.section("The plan in detail", fmt::format(" ({}: {})", labels.of(best), plan_word(best.best_estimate().plan)));
  document.line("The details below are for this plan only. Name one model and one machine for the details of another plan.");
  add_plan_figures(document, Estimator(best.study->job()), best.best_estimate().plan, *best.study);
}

/// Returns the outcomes with the length for which text gives time and cost (shown_length). Outcomes of different data sets
/// keep the epoch, because the order of the studies must not depend on the format of the report.
Outcomes with_shown_length(Outcomes outcomes) {
  const StudyOutcome* first = nullptr;
  for (const StudyOutcome& each : outcomes) {
    if (!each.study) continue;
    if (first == nullptr) first = &each;
    if (each.study->dataset().name != first->study->dataset().name) return outcomes;
  }
  if (first == nullptr) return outcomes;
  // A whole training has the length that its own model needs.
  if (first->training.is_whole()) return outcomes;
  const Training shown = shown_length(first->training, *first->study);
  for (StudyOutcome& each : outcomes) each.training = shown;
  return outcomes;
}

/// Returns the report as a document. `drawn`: add the drawings and sections that only an HTML page has.
Document document_of(const Outcomes& exact, bool drawn = false) {
  const Outcomes outcomes = with_shown_length(exact);
  const Labels labels(outcomes);
  Document document;
  const auto add_part = [&](const char* heading, Document part) {
    if (part.blocks.empty()) return;
    document.section(heading);
    document.append(std::move(part));
  };
  const auto add_table = [&](const char* heading, Table table) {
    if (table.empty()) return;
    document.section(heading);
    document.add(std::move(table));
  };
  add_first_line(document, outcomes, labels);
  if (drawn) {
    if (Cards cards = cards_of(outcomes, labels); !cards.cards.empty()) document.add(Chart{"", "", std::move(cards)});
  }
  const auto first = std::ranges::find_if(outcomes, answered);
  if (first != outcomes.end()) {
    const bool all_processors = std::ranges::all_of(
        outcomes, [](const StudyOutcome& each) { return !each.study || each.study->machine().device.is_processor; });
    const auto batch_text = [&](const StudyOutcome& each) {
      return fmt::format("{}, global batch {}", count_text(each.gpus, all_processors ? "processor" : "GPU"),
                         with_thousands(each.global_batch));
    };
    const bool differ = std::ranges::any_of(
        outcomes, [&](const StudyOutcome& each) { return answered(each) && batch_text(each) != batch_text(*first); });
    if (!differ) document.line(batch_text(*first));
    for (const StudyOutcome& each : outcomes) {
      if (differ && answered(each)) document.line(fmt::format("{}: {}", labels.of(each), batch_text(each)));
    }
  }
  add_table("Best plan of each", plans_table(outcomes, labels));
  if (drawn && std::ranges::any_of(outcomes, [](const StudyOutcome& each) { return each.best.has_value(); }))
    document.add(bars_of(outcomes, labels));
  if (const std::string prices = missing_prices_text(outcomes); !prices.empty()) document.line(prices, 2);
  if (const std::string origins = price_origins_text(outcomes); !origins.empty()) document.line(origins, 2);
  for (const StudyOutcome& each : outcomes) {
    if (each.study) document.line(fmt::format("{}: kernel times: {}", labels.of(each), kernel_times_text(*each.study)), 2);
  }
  add_part("Why not the others", others_of(outcomes, labels));
  add_part("No answer", problems_of(outcomes, labels));
  if (drawn) add_figures_of_best(document, outcomes, labels);
  add_table("Defaults in force", defaults_table(outcomes, labels));
  return document;
}

Json inputs_json(const StudyOutcome& each) {
  if (!each.study) return nullptr;
  Json json = inputs_to_json(*each.study, each.training);
  json["gpus"] = each.gpus;
  json["global_batch"] = each.global_batch;
  json["objective"] = to_string(each.objective);
  json["defaults"] = defaults_to_json(each.defaults);
  return json;
}

/// Returns all fields of a study's outcome in JSON and CSV.
Fields<StudyOutcome> outcome_fields(const Outcomes& outcomes) {
  using Row = StudyOutcome;
  Fields<Row> fields;
  // Returns the value if the condition is true, otherwise null.
  const auto value_if = [](auto met, auto value) {
    return [met = std::move(met), value = std::move(value)](const Row& each) {
      return met(each) ? Json(value(each)) : Json(nullptr);
    };
  };
  const auto add_if = [&](std::string name, auto met, auto value) {
    fields.add(std::move(name), value_if(std::move(met), std::move(value)));
  };
  const auto json_if = [&](std::string name, auto met, auto value) {
    fields.add_json(std::move(name), value_if(std::move(met), std::move(value)));
  };
  const auto csv_if = [&](std::string name, auto met, auto value) {
    fields.add_csv(std::move(name), value_if(std::move(met), std::move(value)));
  };
  const auto studied = [](const Row& each) { return each.study != nullptr; };
  const auto planned = [](const Row& each) { return each.best.has_value(); };
  const auto timed = [](const Row& each) { return each.best && each.best->time.step_time().value() > 0; };
  fields.add("model", [](const Row& each) { return each.study ? each.study->model().name : each.model; });
  fields.add("machine", [](const Row& each) { return each.study ? each.study->machine().name : each.machine; });
  std::map<const Row*, std::ptrdiff_t> ranks;
  if (comparable(outcomes)) {
    for (const Row* each : ranked(outcomes)) ranks.emplace(each, std::ssize(ranks) + 1);
  }
  fields.add("rank", [ranks](const Row& each) {
    const auto rank = ranks.find(&each);
    return rank == ranks.end() ? Json(nullptr) : Json(rank->second);
  });
  json_if("best", planned, [](const Row& each) { return estimate_to_json(*each.best, 1, *each.study, each.training); });
  const auto missed = [](const Row& each) { return each.nearest.has_value(); };
  json_if("nearest", missed, [](const Row& each) { return estimate_to_json(*each.nearest, 0, *each.study, each.training); });
  csv_if("dataset", studied, [](const Row& each) { return each.study->dataset().name; });
  csv_if("strategy", planned, [](const Row& each) { return family_name(each.best->plan.mesh.family()); });
  csv_if("feasible", planned, [](const Row& each) { return each.best->feasible(); });
  for (const Field<Plan>& field : plan_fields()) {
    if (field.object == "degrees")
      csv_if(field.name, planned, [value = field.value](const Row& each) { return value(each.best->plan); });
  }
  csv_if("iteration_s", timed, [](const Row& each) { return each.best->time.step_time().value(); });
  const auto end_of = [](double TimeInterval::*end) {
    return [end](const Row& each) {
      const auto& interval = each.best->interval;
      return interval ? Json(each.best->time.step_time().value() * ((*interval).*end)) : Json(nullptr);
    };
  };
  csv_if("iteration_low_s", timed, end_of(&TimeInterval::low));
  csv_if("iteration_high_s", timed, end_of(&TimeInterval::high));
  csv_if("epoch_s", timed, [](const Row& each) { return each.best->epoch.value(); });
  add_if("samples_per_s", timed, [](const Row& each) { return throughput_of(each)->samples; });
  csv_if("tokens_per_s", timed, [](const Row& each) { return or_null(throughput_of(each)->tokens); });
  csv_if("mfu", timed, [](const Row& each) { return or_null(throughput_of(each)->model_share); });
  csv_if("hfu", timed, [](const Row& each) { return or_null(throughput_of(each)->hardware_share); });
  add_if("iterations_per_epoch", timed, [](const Row& each) { return each.best->epoch / each.best->time.step_time(); });
  add_if("epochs_per_day", timed, [](const Row& each) { return epochs_per_day(*each.best); });
  const auto add_cost = [&](const char* name, auto training_of) {
    fields.add_csv(name, [training_of](const Row& each) {
      return or_null(each.best ? cost_of(*each.best, *each.study, training_of(each)) : std::nullopt);
    });
  };
  add_cost("cost", [](const Row&) { return Training{}; });
  if (outcomes.front().training.is_whole()) {
    csv_if("training_s", timed, [](const Row& each) { return time_of(each).value(); });
    add_cost("training_cost", [](const Row& each) { return each.training; });
  }
  const auto has_price = [](const Row& each) { return each.study && each.study->machine().price_per_gpu_hour; };
  add_if("currency", has_price, [](const Row& each) { return each.study->machine().currency; });
  csv_if("efficiency", timed, [](const Row& each) { return each.best->efficiency; });
  csv_if("total_bytes", timed, [](const Row& each) { return each.best->memory.total().value(); });
  csv_if("device_memory_bytes", studied, [](const Row& each) { return each.study->device_memory().value(); });
  fields.add("problem", [](const Row& each) { return or_null(each.problem); });
  fields.add_json("hint", [](const Row& each) { return or_null(each.hint); });
  fields.add_json("inputs", inputs_json);
  return fields;
}

Json report_json(const Outcomes& outcomes) {
  Json json = json_head();
  const Fields<StudyOutcome> fields = outcome_fields(outcomes);
  json["comparison"] = json_list(outcomes, [&](const StudyOutcome& each) { return json_of(fields, each); });
  return json;
}

}  // namespace

Report compare_studies(Outcomes outcomes) {
  if (std::ranges::none_of(outcomes, answered)) throw Error(outcomes.front().problem, outcomes.front().hint);
  const auto shared = std::make_shared<Outcomes>(std::move(outcomes));
  Report report;
  report.document = document_of(*shared);
  report.page = [shared] { return document_of(*shared, true); };
  report.json = [shared] { return report_json(*shared); };
  report.rows = [shared] { return flat_rows(outcome_fields(*shared), *shared); };
  const auto understood = [](const StudyOutcome& each) { return each.understood; };
  report.status = !std::all_of(shared->begin(), shared->end(), understood) ? ExitStatus::could_not_answer
                  : std::any_of(shared->begin(), shared->end(), has_plan)  ? ExitStatus::ok
                                                                           : ExitStatus::nothing_fits;
  return report;
}

}  // namespace ddl
