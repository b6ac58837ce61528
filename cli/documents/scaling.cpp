#include "cli/documents/scaling.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "cli/documents/convergence.hpp"
#include "cli/documents/energy.hpp"
#include "cli/documents/estimate.hpp"
#include "cli/documents/goodput.hpp"
#include "cli/documents/headline.hpp"
#include "cli/documents/intervals.hpp"
#include "cli/documents/ranking.hpp"
#include "cli/documents/scaling_charts.hpp"
#include "cli/documents/throughput.hpp"
#include "cli/options/plan_file.hpp"
#include "cli/report/fields.hpp"
#include "cli/report/figures.hpp"
#include "core/error.hpp"
#include "core/pareto.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

using Points = std::vector<StudyOutcome>;

double samples_per_second(const StudyOutcome& point) {
  return static_cast<double>(point.global_batch) / point.best->time.step_time().value();
}
Seconds time_at(const StudyOutcome& point) { return time_of(*point.best, *point.study, point.training); }
std::optional<double> cost_at(const StudyOutcome& point) { return cost_of(*point.best, *point.study, point.training); }

std::string money_text(const StudyOutcome& point) {
  const std::optional<double> cost = cost_at(point);
  return cost ? fmt::format(" and {} {}", amount(*cost), point.study->machine().currency) : "";
}

std::string goals_text(const Goals& goals, const std::string& currency) {
  std::string text;
  if (goals.deadline) text += humanize(*goals.deadline);
  if (goals.budget) text += fmt::format("{}{} {}", text.empty() ? "" : " and ", amount(goals.budget->amount), currency);
  return text;
}

/// Whether a point meets the goals, for a table: `yes`, `no`, or the probability, such as `84 %`.
std::string decision_text(double chance) {
  if (is_sure(chance)) return "yes";
  if (is_sure(1 - chance)) return "no";
  return fmt::format("{:.0f} %", chance * 100);
}

/// Returns what the first sentence adds for a point that may miss the goals.
std::string doubt_text(double chance, bool goals) {
  return goals && !is_sure(chance) ? fmt::format(", likely to meet it ({:.0f} %)", chance * 100) : "";
}

/// Describes a point: `64 GPUs: dp64 as ZeRO-1, 5.20 d and 9,800 USD for 1T tokens`.
std::string point_text(const StudyOutcome& point) {
  return fmt::format("{}, {}{}{} {}", plan_word(point.best->plan), humanize(time_at(point)),
                     interval_behind(time_at(point), point.best->interval), money_text(point), purpose_of(point.training));
}

std::string gpus_text(const StudyOutcome& point, bool several_batches) {
  return count_text(point.gpus, point.study ? device_noun(point.study->machine().device) : "GPU") +
         (several_batches ? fmt::format(" with global batch {}", with_thousands(point.global_batch)) : "");
}

bool several_batches(const Points& points, const ScalingQuestion& question) {
  return question.fixed_batch && std::ranges::any_of(points, [&](const StudyOutcome& each) {
           return each.global_batch != points.front().global_batch;
         });
}

/// Returns the cheapest point that costs less than the cheapest point that surely meets the goals, and is likely to meet
/// them.
std::optional<std::size_t> cheaper_point(const Points& points, const Scaling& scaling, const Goals& goals) {
  std::optional<std::size_t> cheaper;
  if (!goals.any() || !scaling.cheapest) return cheaper;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!has_plan(points[i]) || !is_likely(scaling.chance[i])) continue;
    if (cost_at(points[i]) < cost_at(points[cheaper.value_or(*scaling.cheapest)])) cheaper = i;
  }
  return cheaper;
}

std::string cheaper_text(const StudyOutcome& point, double chance, const std::string& within, bool batches) {
  return fmt::format("{} {} cheaper, and likely to stay within {} ({:.0f} %): {}{}", gpus_text(point, batches),
                     point.gpus == 1 ? "is" : "are", within, chance * 100, humanize(time_at(point)), money_text(point));
}

/// Returns a point as a card: `64 GPUs`, its time with the interval, its cost and its plan.
Card card_of(std::string label, const StudyOutcome& point, const std::string& doubt, bool batches) {
  Card card{std::move(label), gpus_text(point, batches)};
  const std::string money = money_text(point);
  card.details = {fmt::format("{}{}{} {}{}", humanize(time_at(point)), interval_behind(time_at(point), point.best->interval),
                              money, purpose_of(point.training), doubt),
                  fmt::format("{}, {} per step", plan_word(point.best->plan), humanize(point.best->time.step_time()))};
  return card;
}

/// `drawn`: add the answers as cards.
void add_first_sentence(Document& document, const Points& points, const Scaling& scaling, const ScalingQuestion& question,
                        bool drawn) {
  const auto with_plan = std::ranges::find_if(points, has_plan);
  if (with_plan == points.end()) return document.line("No plan is possible", " on any of these device counts");
  const bool batches = several_batches(points, question);
  const std::string within = goals_text(question.goals, with_plan->study->machine().currency);
  if (!scaling.fastest) {
    const bool by_cost = !question.goals.deadline && cost_at(*with_plan).has_value();
    const auto figure = [&](const StudyOutcome& point) {
      return by_cost ? cost_at(point).value_or(most_budget) : time_at(point).value();
    };
    const auto nearest = std::ranges::min_element(points, [&](const StudyOutcome& a, const StudyOutcome& b) {
      return has_plan(a) && (!has_plan(b) || figure(a) < figure(b));
    });
    return document.line(
        fmt::format("No number of {}s stays within ", device_noun(with_plan->study->machine().device)) + within,
        fmt::format(": the {} is {}: {}", by_cost ? "cheapest" : "fastest", gpus_text(*nearest, batches),
                    point_text(*nearest)));
  }
  const StudyOutcome& fastest = points[*scaling.fastest];
  const auto doubt = [&](std::size_t at) { return doubt_text(scaling.chance[at], question.goals.any()); };
  const bool is_certain = is_sure(scaling.chance[*scaling.fastest]);
  const std::optional<std::size_t> cheaper = cheaper_point(points, scaling, question.goals);
  const std::string of = within.empty() ? "" : (is_certain ? " surely within " : " within ") + within;
  if (!scaling.cheapest || scaling.cheapest == scaling.fastest) {
    const std::string what = scaling.cheapest ? "cheapest and fastest" : "fastest";
    if (drawn) {
      Cards cards{{card_of((scaling.cheapest ? "Cheapest and fastest" : "Fastest") + of, fastest, doubt(*scaling.fastest),
                           batches)}};
      if (cheaper) {
        cards.cards.push_back(
            card_of(fmt::format("Cheaper, and likely within {} ({:.0f} %)", within, scaling.chance[*cheaper] * 100),
                    points[*cheaper], "", batches));
      }
      return document.add(Chart{"", "", std::move(cards)});
    }
    document.line(fmt::format("{} {} the {}{}{}", gpus_text(fastest, batches), fastest.gpus == 1 ? "is" : "are", what,
                              within.empty() || !is_certain ? ""
                              : fastest.gpus == 1           ? " that surely stays"
                                                            : " that surely stay",
                              within.empty() ? "" : " within " + within),
                  ": " + point_text(fastest) + doubt(*scaling.fastest));
    if (cheaper) document.line(cheaper_text(points[*cheaper], scaling.chance[*cheaper], within, batches));
    return;
  }
  const StudyOutcome& cheapest = points[*scaling.cheapest];
  const auto text_of = [&](const StudyOutcome& point, std::size_t at) {
    return fmt::format("{}{}: {}{}", gpus_text(point, batches), of, point_text(point), doubt(at));
  };
  if (drawn) {
    document.add(Chart{"", "",
                       Cards{{card_of("Cheapest" + of, cheapest, doubt(*scaling.cheapest), batches),
                              card_of("Fastest" + of, fastest, doubt(*scaling.fastest), batches)}}});
  } else {
    add_card(document, "Cheapest", text_of(cheapest, *scaling.cheapest));
    add_card(document, "Fastest", text_of(fastest, *scaling.fastest));
  }
  if (cheaper) document.line(cheaper_text(points[*cheaper], scaling.chance[*cheaper], within, batches));
}

/// Returns the goodput of a point; empty if failures are unknown.
std::optional<Goodput> goodput_at(const StudyOutcome& point) {
  return goodput_of(*point.best, *point.study, point.training);
}

Table scaling_table(const Points& points, const Scaling& scaling, const ScalingQuestion& question) {
  const StudyOutcome& first = *std::ranges::find_if(points, has_plan);
  const bool tokens = first.study->model().sequence_length > 0;
  const bool priced = first.study->machine().price_per_gpu_hour.has_value();
  const bool batches = several_batches(points, question);
  std::vector<Column> columns{essential(figures(first.study->machine().device.is_processor ? "processors" : "GPUs")),
                              batches ? essential(figures("batch")) : figures("batch"),
                              essential(words("plan")),
                              figures("step"),
                              essential(figures(name_of(first.training))),
                              words(interval_name())};
  if (priced) columns.push_back(essential(figures(first.study->machine().currency)));
  const bool powered = first.best->power.has_value();
  if (powered) columns.push_back(essential(figures("kWh")));
  const bool emits = powered && first.study->assumptions().carbon.has_value();
  if (emits) columns.push_back(figures("kg CO2"));
  const bool fails = goodput_at(first).has_value();
  if (fails) columns.push_back(essential(figures("goodput")));
  if (question.goals.any()) columns.push_back(essential(words("meets")));
  Bars bars;
  bars.column = columns.size();
  bars.pieces = {fmt::format("scaling efficiency per {}", device_noun(first.study->machine().device)), "lost"};
  const Column eff = figures("eff.");  // left out before the goals
  columns.insert(columns.end(), {words("scaling"), question.goals.any() ? eff : essential(eff)});
  if (priced) columns.push_back(words("Pareto"));
  columns.insert(columns.end(), {figures(tokens ? "tokens/s" : "samples/s"), figures("memory"), words("verdict")});
  Table table(std::move(columns));
  std::vector<Plan> plans;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const StudyOutcome& point = points[i];
    if (!has_plan(point)) continue;
    const Estimate& best = *point.best;
    const Throughput throughput =
        throughput_of(point.study->job(), sample_flops(point.study->job()), best).value_or(Throughput{});
    const double efficiency = scaling.efficiency[i].value_or(0);
    std::vector<std::string> row{with_thousands(point.gpus), with_thousands(point.global_batch),
                                 plan_word(best.plan),       humanize(best.time.step_time()),
                                 humanize(time_at(point)),   interval_text(time_at(point), best.interval)};
    if (priced) row.push_back(amount(cost_at(point).value_or(0)));
    const double energy = powered ? kilowatt_hours(best, *point.study, point.training).value_or(0) : 0;
    if (powered) row.push_back(amount(energy));
    if (emits) row.push_back(amount(carbon_kilograms(*point.study, energy).value_or(0)));
    if (fails) row.push_back(share_text(goodput_at(point).value_or(Goodput{}).share));
    if (question.goals.any()) row.push_back(decision_text(scaling.chance[i]));
    row.insert(row.end(), {share_text(efficiency), share_text(efficiency)});
    if (priced) row.emplace_back(scaling.on_front[i] ? "yes" : "");
    row.insert(row.end(), {rate_text(tokens ? throughput.tokens.value_or(0) : throughput.samples),
                           humanize(best.memory.total()), std::string(to_string(best.verdict))});
    table.add(std::move(row));
    const double reached = std::min(efficiency, 1.0);
    bars.shares.push_back({reached, 1 - reached});
    plans.push_back(best.plan);
  }
  table.bars = std::move(bars);
  table.legend = letters_text(plans);
  // Rankings have the efficiency relative to a single device.
  table.legend += fmt::format("{}eff. relative to the fewest {}s{}", table.legend.empty() ? "" : ", ",
                              device_noun(first.study->machine().device),
                              question.goals.any() ? ", meets: whether, or with which probability, the goals are met" : "");
  return table;
}

/// Adds a table of the best strategy by number of GPUs. Neighboring numbers with equal strategies share a row.
void add_winners(Document& document, const Points& points, bool batches) {
  document.section("Best strategy by number of devices");
  const auto alike = [&](const StudyOutcome& a, const StudyOutcome& b) {
    return a.best->plan.mesh.family() == b.best->plan.mesh.family() && (!batches || a.global_batch == b.global_batch);
  };
  std::vector<const StudyOutcome*> planned;
  for (const StudyOutcome& point : points) {
    if (has_plan(point)) planned.push_back(&point);
  }
  const bool one_wins = std::ranges::all_of(planned, [&](const StudyOutcome* each) {
    return each->best->plan.mesh.family() == planned.front()->best->plan.mesh.family();
  });
  if (one_wins) {
    document.line(fmt::format("all: {}", family_name(planned.front()->best->plan.mesh.family())), 2);
    return;
  }
  for (std::size_t first = 0, last = 0; first < planned.size(); first = last + 1) {
    for (last = first; last + 1 < planned.size() && alike(*planned[first], *planned[last + 1]);) ++last;
    const std::string from = first == last ? "" : with_thousands(planned[first]->gpus) + " to ";
    document.line(fmt::format("{}{}: {}", from, gpus_text(*planned[last], batches),
                              family_name(planned[first]->best->plan.mesh.family())),
                  2);
  }
}

/// Returns the smallest number of devices on which a plan fits, and the smallest number on which a
/// plan fits without offloading to host memory.
std::string fewest_text(const Points& points, bool batches) {
  const auto offloads = [](const StudyOutcome& each) { return !each.fits_on_devices; };
  const StudyOutcome *fewest = nullptr, *on_devices = nullptr;
  for (const StudyOutcome& each : points) {
    if (!has_plan(each) || each.best->verdict != Verdict::fits) continue;
    if (fewest == nullptr || each.gpus < fewest->gpus) fewest = &each;
    if (!offloads(each) && (on_devices == nullptr || each.gpus < on_devices->gpus)) on_devices = &each;
  }
  if (fewest == nullptr) return "none of these certainly fits";
  std::string text = fmt::format("smallest number that fits: {}", gpus_text(*fewest, batches));
  if (on_devices == nullptr) return text + ", with host memory";
  if (on_devices != fewest) text += fmt::format(" with host memory, {} without", gpus_text(*on_devices, batches));
  return text;
}

/// Names the software of all plans, which may differ if --for stands for several frameworks.
void name_software(Default& software, const Points& points) {
  std::vector<std::string> names;
  for (const StudyOutcome& each : points) {
    if (has_plan(each) && std::ranges::find(names, each.study->software().name) == names.end())
      names.push_back(each.study->software().name);
  }
  if (names.size() > 1) software = {"--software", fmt::format("{}", fmt::join(names, ", ")), "software of the faster plan"};
}

/// Returns the report as a document. `drawn`: add the drawings that only an HTML page has.
Document document_of(const Points& exact, const Scaling& scaling, const ScalingQuestion& question, bool drawn = false) {
  Points points = exact;
  for (StudyOutcome& each : points) {
    if (each.study) each.training = shown_length(each.training, *each.study);
  }
  Document document;
  add_first_sentence(document, points, scaling, question, drawn);
  const auto answered = std::ranges::find_if(points, [](const StudyOutcome& each) { return each.study != nullptr; });
  const Study& study = *answered->study;
  document.line(fmt::format("{}{} on {}, {} with {}; {}", study.model().name,
                            study.spec().dataset.empty() ? "" : ", data set " + study.dataset().name, study.machine().name,
                            to_string(study.precision()), to_string(study.optimizer()),
                            question.fixed_batch ? std::string("strong scaling: the global batch is fixed")
                                                 : fmt::format("weak scaling: the batch of each {} is fixed",
                                                               device_noun(study.machine().device))));
  document.line("kernel times: " + kernel_times_text(study));
  if (const std::string price = price_text(study); !price.empty()) document.line("price: " + price);
  if (std::ranges::any_of(points, has_plan)) {
    if (drawn) {
      if (auto chart = sizing_plot(points, scaling, question)) document.add(*std::move(chart));
    }
    document.apart(scaling_table(points, scaling, question));
    document.line(fewest_text(points, several_batches(points, question)), 2);
    if (scaling.fastest) {
      const StudyOutcome& fastest = points[*scaling.fastest];
      if (const auto goodput = goodput_at(fastest))
        document.line(fmt::format("goodput on {}: {}", gpus_text(fastest, false), goodput_text(*goodput)), 2);
    }
    if (drawn) {
      if (auto chart = speed_plot(points, question)) {
        document.section("Scaling");
        document.add(*std::move(chart));
      }
    }
    add_winners(document, points, several_batches(points, question));
  }
  if (answered->training.convergence) add_convergence(document, *answered->training.convergence);
  if (!std::ranges::all_of(points, has_plan)) {
    document.section("Without a plan");
    for (const StudyOutcome& point : points) {
      if (has_plan(point)) continue;
      std::string why = point.problem;
      if (point.nearest) {
        why += fmt::format("; nearest is {}: {}", degrees_word(point.nearest->plan.mesh),
                           reasons_text(*point.nearest, point.study->model()));
      }
      document.paragraph(fmt::format("{}: {}", gpus_text(point, several_batches(points, question)), why));
    }
  }
  std::vector<Default> defaults = answered->defaults;
  // The global batch is not listed as a default, because the table gives the global batch of each point.
  std::erase_if(defaults, [](const Default& each) { return each.option == "--global-batch"; });
  for (Default& each : defaults) {
    if (each.option == "--batch-per-gpu") each.reason = "the same for all numbers of GPUs";
    if (each.option == "--software") name_software(each, points);
  }
  add_defaults(document, defaults);
  return document;
}

/// A point of the scaling report, and the index of the point.
struct PlacedPoint {
  const StudyOutcome& point;
  std::size_t at = 0;
};

Fields<PlacedPoint> point_fields(const Scaling& scaling) {
  using Row = PlacedPoint;
  Fields<Row> fields;
  const auto if_planned = [](const auto& value) {
    return [value](const Row& row) { return has_plan(row.point) ? Json(value(row.point)) : Json(nullptr); };
  };
  fields.add("gpus", [](const Row& row) { return row.point.gpus; });
  fields.add("global_batch", [](const Row& row) { return row.point.global_batch; });
  fields.add("efficiency", [&scaling](const Row& row) { return or_null(scaling.efficiency[row.at]); });
  fields.add("on_front", [&scaling](const Row& row) { return static_cast<bool>(scaling.on_front[row.at]); });
  fields.add("meets_goals", [&scaling](const Row& row) { return is_likely(scaling.chance[row.at]); });
  fields.add("chance", [&scaling](const Row& row) { return scaling.chance[row.at]; });
  fields.add("time_s", if_planned([](const StudyOutcome& point) { return time_at(point).value(); }));
  fields.add("cost", if_planned([](const StudyOutcome& point) { return or_null(cost_at(point)); }));
  const auto end_of = [if_planned](double TimeInterval::*end) {
    return if_planned([end](const StudyOutcome& point) {
      const auto& interval = point.best->interval;
      return interval ? Json(time_at(point).value() * ((*interval).*end)) : Json(nullptr);
    });
  };
  fields.add("time_low_s", end_of(&TimeInterval::low));
  fields.add("time_high_s", end_of(&TimeInterval::high));
  fields.add_csv("strategy",
                 if_planned([](const StudyOutcome& point) { return family_name(point.best->plan.mesh.family()); }));
  for (const Field<Plan>& field : plan_fields()) {
    if (field.object == "degrees" || field.name == "micro_batches" || field.name == "zero_stage")
      fields.add_csv(field.name,
                     if_planned([value = field.value](const StudyOutcome& point) { return value(point.best->plan); }));
  }
  fields.add_csv("iteration_s", if_planned([](const StudyOutcome& point) { return point.best->time.step_time().value(); }));
  const auto end_of_step = [if_planned](double TimeInterval::*end) {
    return if_planned([end](const StudyOutcome& point) {
      const auto& interval = point.best->interval;
      return interval ? Json(point.best->time.step_time().value() * ((*interval).*end)) : Json(nullptr);
    });
  };
  fields.add_csv("iteration_low_s", end_of_step(&TimeInterval::low));
  fields.add_csv("iteration_high_s", end_of_step(&TimeInterval::high));
  fields.add_csv("samples_per_s", if_planned(samples_per_second));
  fields.add_csv("total_bytes", if_planned([](const StudyOutcome& point) { return point.best->memory.total().value(); }));
  fields.add_csv("verdict", if_planned([](const StudyOutcome& point) { return to_string(point.best->verdict); }));
  fields.add_json("best", [](const Row& row) {
    return has_plan(row.point) ? estimate_to_json(*row.point.best, 1, *row.point.study, row.point.training) : Json(nullptr);
  });
  fields.add("problem", [](const Row& row) { return or_null(row.point.problem); });
  return fields;
}

std::vector<PlacedPoint> placed(const Points& points) {
  std::vector<PlacedPoint> rows;
  for (std::size_t i = 0; i < points.size(); ++i) rows.push_back({points[i], i});
  return rows;
}

Json json_of(const Points& points, const Scaling& scaling, const ScalingQuestion& question) {
  Json json = json_head();
  const Fields<PlacedPoint> fields = point_fields(scaling);
  const auto place = [&](const std::optional<std::size_t>& at) {
    return at ? Json{{"gpus", points[*at].gpus}, {"global_batch", points[*at].global_batch}} : Json(nullptr);
  };
  json["scaling"] = question.fixed_batch ? "strong" : "weak";
  json["cheapest"] = place(scaling.cheapest);
  json["fastest"] = place(scaling.fastest);
  json["goals"] = {{"budget", question.goals.budget ? Json(question.goals.budget->amount) : Json(nullptr)},
                   {"deadline_s", or_null(question.goals.deadline)}};
  json["points"] = json_list(placed(points), [&](const PlacedPoint& each) { return json_of(fields, each); });
  const auto answered = std::ranges::find_if(points, [](const StudyOutcome& each) { return each.study != nullptr; });
  json["inputs"] = inputs_to_json(*answered->study, answered->training);
  json["inputs"]["objective"] = to_string(answered->objective);
  return json;
}

/// Sets Scaling::cheapest and Scaling::fastest from Scaling::chance.
void choose_best(Scaling& scaling, const Points& points) {
  const bool any_sure = std::ranges::any_of(scaling.chance, is_sure);
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!has_plan(points[i]) || !(any_sure ? is_sure(scaling.chance[i]) : is_likely(scaling.chance[i]))) continue;
    const std::optional<double> cost = cost_at(points[i]);
    // Of two points with equal cost, the faster point is better. Of two points with equal time, the cheaper point is better.
    const auto better = [&](const std::optional<std::size_t>& known, bool by_cost) {
      if (!known) return true;
      const StudyOutcome& best = points[*known];
      const std::pair own{cost.value_or(0), time_at(points[i]).value()};
      const std::pair its{cost_at(best).value_or(0), time_at(best).value()};
      return by_cost ? own < its : std::pair(own.second, own.first) < std::pair(its.second, its.first);
    };
    if (better(scaling.fastest, false)) scaling.fastest = i;
    if (cost && better(scaling.cheapest, true)) scaling.cheapest = i;
  }
}

}  // namespace

Scaling scaling_of(const Points& points, const ScalingQuestion& question) {
  Scaling scaling;
  std::vector<std::pair<double, double>> costs;
  std::vector<std::size_t> priced;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const StudyOutcome& point = points[i];
    scaling.efficiency.emplace_back();
    scaling.on_front.push_back(false);
    scaling.chance.push_back(0);
    if (!has_plan(point)) continue;
    const StudyOutcome* reference = nullptr;
    for (const StudyOutcome& other : points) {
      const bool alike = has_plan(other) && (!question.fixed_batch || other.global_batch == point.global_batch);
      if (alike && (reference == nullptr || other.gpus < reference->gpus)) reference = &other;
    }
    scaling.efficiency[i] = samples_per_second(point) / static_cast<double>(point.gpus) /
                            (samples_per_second(*reference) / static_cast<double>(reference->gpus));
    const std::optional<double> cost = cost_at(point);
    const Goals& goals = question.goals;
    // The cost of a training is proportional to its time.
    const std::optional<TimeInterval>& interval = point.best->interval;
    double chance = goals.deadline ? chance_within(*goals.deadline / time_at(point), interval) : 1;
    if (goals.budget) chance = std::min(chance, cost ? chance_within(goals.budget->amount / *cost, interval) : 0);
    scaling.chance[i] = chance;
    if (cost) {
      costs.emplace_back(time_at(point).value(), *cost);
      priced.push_back(i);
    }
  }
  choose_best(scaling, points);
  const std::vector<bool> front = pareto_front(costs);
  for (std::size_t i = 0; i < priced.size(); ++i) scaling.on_front[priced[i]] = front[i];
  return scaling;
}

Report scaling_report(Points all, const ScalingQuestion& question) {
  if (std::ranges::none_of(all, [](const StudyOutcome& each) { return each.study != nullptr; }))
    throw Error(all.front().problem, all.front().hint);
  const auto points = std::make_shared<Points>(std::move(all));
  const auto scaling = std::make_shared<Scaling>(scaling_of(*points, question));
  Report report;
  report.document = document_of(*points, *scaling, question);
  report.page = [points, scaling, question] { return document_of(*points, *scaling, question, true); };
  report.json = [points, scaling, question] { return json_of(*points, *scaling, question); };
  report.rows = [points, scaling] { return flat_rows(point_fields(*scaling), placed(*points)); };
  report.status = scaling->fastest ? ExitStatus::ok : ExitStatus::nothing_fits;
  for (const StudyOutcome& point : *points) {
    if (point.study) report.warn(point.study->warnings());
  }
  return report;
}

}  // namespace ddl
