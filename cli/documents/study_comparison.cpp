#include "cli/documents/study_comparison.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/documents/estimate.hpp"
#include "cli/documents/fields.hpp"
#include "cli/formats/table.hpp"
#include "cli/options/plan_file.hpp"
#include "cli/sentences/sentences.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"
#include "core/units.hpp"
#include "core/version.hpp"
#include "model_zoo/bundled_name.hpp"

namespace ddl {
namespace {

using Json = nlohmann::ordered_json;
using Align = Table::Align;
using Outcomes = std::vector<StudyOutcome>;

constexpr std::size_t most_studies = 64;

std::vector<std::string> names_in(const std::string& option, const std::string& text) {
  std::error_code ignored;
  if (text.find(',') == std::string::npos || (is_path(text) && std::filesystem::exists(text, ignored))) return {text};
  std::vector<std::string> names;
  std::size_t start = 0;
  while (true) {
    const std::size_t comma = text.find(',', start);
    const std::string name = text.substr(start, comma == std::string::npos ? comma : comma - start);
    if (name.empty())
      throw Error(fmt::format("{} {} has an empty name", option, quote(text)), "separate names by single commas");
    if (std::find(names.begin(), names.end(), name) != names.end())
      throw Error(fmt::format("{} names {} twice", option, quote(name)), "name it once");
    names.push_back(name);
    if (comma == std::string::npos) return names;
    start = comma + 1;
  }
}

bool answered(const StudyOutcome& outcome) { return outcome.study != nullptr; }
bool fits(const StudyOutcome& outcome) { return outcome.best && outcome.best->feasible(); }

double samples_per_second(const Estimate& estimate) {
  return static_cast<double>(estimate.plan.global_batch) / estimate.time.iteration().value();
}
double epochs_per_day(const Estimate& estimate) { return 86400.0 / estimate.epoch.value(); }

std::string rate(double value) { return value < 99.95 ? fmt::format("{:.3g}", value) : whole_text(value + 0.5); }

/// What sets the studies apart: the model, the machine, or both.
class Labels {
 public:
  explicit Labels(const Outcomes& outcomes) {
    for (const StudyOutcome& each : outcomes) {
      models_ = models_ || each.model != outcomes.front().model;
      machines_ = machines_ || each.machine != outcomes.front().machine;
    }
  }
  [[nodiscard]] bool several_models() const { return models_; }
  [[nodiscard]] std::string of(const StudyOutcome& outcome) const {
    if (models_ && machines_) return fmt::format("{} on {}", outcome.model, outcome.machine);
    return models_ ? outcome.model : outcome.machine;
  }

 private:
  bool models_ = false, machines_ = false;
};

/// What the objective ranks by.
double figure_of(const StudyOutcome& outcome) {
  switch (outcome.objective) {
    case Objective::cost:
      return cost_of(*outcome.best, outcome.study->machine()).value_or(0);
    case Objective::memory:
      return outcome.best->memory.total().value();
    case Objective::time:
      break;
  }
  return outcome.best->epoch.value();
}

std::string figure_text(const StudyOutcome& outcome) {
  switch (outcome.objective) {
    case Objective::cost:
      return fmt::format("{} {} per epoch", amount(figure_of(outcome)), outcome.study->machine().currency);
    case Objective::memory:
      return humanize(outcome.best->memory.total()) + " per GPU";
    case Objective::time:
      break;
  }
  return humanize(outcome.best->epoch) + " per epoch";
}

/// Prices in different currencies cannot be ranked.
bool comparable(const Outcomes& outcomes) {
  const StudyOutcome* first = nullptr;
  for (const StudyOutcome& each : outcomes) {
    if (!fits(each) || each.objective != Objective::cost) continue;
    if (first != nullptr && first->study->machine().currency != each.study->machine().currency) return false;
    first = &each;
  }
  return true;
}

/// The outcomes that have a plan that fits, best first; as asked where they are equally good.
std::vector<const StudyOutcome*> ranked(const Outcomes& outcomes) {
  std::vector<const StudyOutcome*> order;
  for (const StudyOutcome& each : outcomes) {
    if (fits(each)) order.push_back(&each);
  }
  if (!comparable(outcomes)) return order;
  std::stable_sort(order.begin(), order.end(),
                   [](const StudyOutcome* a, const StudyOutcome* b) { return figure_of(*a) < figure_of(*b); });
  return order;
}

std::string_view superlative(Objective objective, bool several_models) {
  switch (objective) {
    case Objective::time:
      return several_models ? "has the shortest epoch" : "is fastest";
    case Objective::cost:
      return "is cheapest";
    case Objective::memory:
      return "needs the least memory";
  }
  return "";
}

std::string first_line(const Outcomes& outcomes, const Labels& labels, const Style& style) {
  const std::vector<const StudyOutcome*> order = ranked(outcomes);
  if (order.empty()) return style.bold("No plan fits") + " any of them\n";
  const StudyOutcome& best = *order.front();
  if (!comparable(outcomes)) return style.bold("Prices are in different currencies") + ": nothing is cheapest\n";
  if (order.size() == 1)
    return style.bold(labels.of(best) + (std::all_of(outcomes.begin(), outcomes.end(), answered)
                                             ? " alone has a plan that fits"
                                             : " alone has an answer")) +
           ": " + figure_text(best) + "\n";
  const StudyOutcome& next = *order[1];
  const double ratio = figure_of(next) / figure_of(best);
  const std::string against = ratio < 1.005 ? fmt::format("as is {} within 0.5 %", labels.of(next))
                                            : fmt::format("{} {:.3g} times that", labels.of(next), ratio);
  return style.bold(fmt::format("{} {}", labels.of(best), superlative(best.objective, labels.several_models()))) +
         fmt::format(": {}, {}\n", figure_text(best), against);
}

Table plans_table(const Outcomes& outcomes, const Labels& labels) {
  const bool priced = std::any_of(outcomes.begin(), outcomes.end(), [](const StudyOutcome& each) {
    return each.best && cost_of(*each.best, each.study->machine());
  });
  std::vector<Table::Column> columns{{"", Align::left},
                                     {"data set", Align::left},
                                     {"strategy", Align::left},
                                     {"degrees", Align::left},
                                     {"iteration"},
                                     {"samples/s"},
                                     {"epoch"},
                                     {"epochs/day"}};
  if (priced) columns.push_back({"cost of an epoch"});
  columns.insert(columns.end(), {{"eff."}, {"memory"}, {"of"}, {"with", Align::left}});
  Table table(std::move(columns));
  for (const StudyOutcome& each : outcomes) {
    if (!each.best) continue;
    const Estimate& best = *each.best;
    const Study& study = *each.study;
    std::vector<std::string> row{labels.of(each),
                                 study.dataset().name,
                                 family_name(best.plan.mesh.family()),
                                 degrees_text(best.plan.mesh),
                                 humanize(best.time.iteration()),
                                 rate(samples_per_second(best)),
                                 humanize(best.epoch),
                                 rate(epochs_per_day(best))};
    if (priced) {
      const std::optional<double> cost = cost_of(best, study.machine());
      row.push_back(cost ? fmt::format("{} {}", amount(*cost), study.machine().currency) : "-");
    }
    row.push_back(fmt::format("{:.0f} %", best.efficiency * 100));
    row.push_back(humanize(best.memory.total()) + (best.feasible() ? "" : " !"));
    row.push_back(humanize(study.machine().device.memory));
    row.push_back(choices_text(best.plan));
    table.add(std::move(row));
  }
  return table;
}

/// What keeps the others from being answered, with what to do about it.
std::string problems_text(const Outcomes& outcomes, const Labels& labels) {
  std::string out;
  const auto add = [&](const std::string& text) { out += "  " + wrap_text(text, 116, "    ") + "\n"; };
  for (const StudyOutcome& each : outcomes) {
    if (each.best && !each.best->feasible()) {
      add(fmt::format("{}: does not fit: {}", labels.of(each), reasons_text(*each.best, each.study->model())));
    }
    if (each.problem.empty()) continue;
    std::string text = fmt::format("{}: {}", labels.of(each), each.problem);
    if (each.nearest) {
      text += fmt::format("; nearest is {}: {}", degrees_text(each.nearest->plan.mesh),
                          reasons_text(*each.nearest, each.study->model()));
    }
    add(text);
    if (!each.hint.empty()) out += fmt::format("    hint: {}\n", each.hint);
  }
  return out;
}

/// A column for each study that was answered: what one was asked for is a default of another.
std::string defaults_table(const Outcomes& outcomes, const Labels& labels, const Style& style) {
  std::vector<Table::Column> columns{{"option", Align::left}};
  std::vector<std::string> options;
  for (const StudyOutcome& each : outcomes) {
    if (!each.study) continue;
    columns.push_back({labels.of(each), Align::left});
    for (const Default& one : each.defaults) {
      if (std::find(options.begin(), options.end(), one.option) == options.end()) options.push_back(one.option);
    }
  }
  if (options.empty()) return {};
  Table table(std::move(columns));
  for (const std::string& option : options) {
    std::vector<std::string> row{option};
    for (const StudyOutcome& each : outcomes) {
      if (!each.study) continue;
      const auto found =
          std::find_if(each.defaults.begin(), each.defaults.end(), [&](const Default& one) { return one.option == option; });
      row.push_back(found == each.defaults.end() ? "-" : found->value);
    }
    table.add(std::move(row));
  }
  return "\n" + style.bold("Defaults in force") + "\n" + table.text();
}

std::string text_of(const Outcomes& outcomes, const Style& style) {
  const Labels labels(outcomes);
  std::string out = first_line(outcomes, labels, style);
  for (const StudyOutcome& each : outcomes) {
    if (!each.study) continue;
    out += fmt::format("{}, global batch {}\n", count_text(each.gpus, "GPU"), with_thousands(each.global_batch));
    break;
  }
  const Table plans = plans_table(outcomes, labels);
  if (!plans.empty()) out += "\n" + style.bold("Best plan of each") + "\n" + plans.text();
  for (const StudyOutcome& each : outcomes) {
    if (each.study) out += fmt::format("  {}: kernel times: {}\n", labels.of(each), kernel_times_text(*each.study));
  }
  const std::vector<const StudyOutcome*> order = ranked(outcomes);
  if (order.size() > 1 && order.front()->objective == Objective::time) {
    const StudyOutcome& best = *order.front();
    std::string others;
    for (std::size_t i = 1; i < order.size(); ++i) {
      // An epoch of other samples is longer for no reason of the plan's.
      if (order[i]->study->dataset().name != best.study->dataset().name) continue;
      const Compared first{labels.of(best), *best.best, best.study->model()};
      const Compared other{labels.of(*order[i]), *order[i]->best, order[i]->study->model()};
      others += "  " + wrap_text(describe(compare(first, other, Basis::epoch), first, other), 116, "    ") + "\n";
    }
    if (!others.empty()) out += "\n" + style.bold("Why not the others") + "\n" + others;
  }
  if (const std::string problems = problems_text(outcomes, labels); !problems.empty())
    out += "\n" + style.bold("Without an answer") + "\n" + problems;
  return out + defaults_table(outcomes, labels, style);
}

using Formats = Field<StudyOutcome>::Formats;

Json inputs_json(const StudyOutcome& each) {
  if (!each.study) return nullptr;
  Json json = inputs_to_json(*each.study);
  json["gpus"] = each.gpus;
  json["global_batch"] = each.global_batch;
  json["objective"] = to_string(each.objective);
  json["defaults"] = Json::object();
  for (const Default& fixed : each.defaults) json["defaults"][fixed.option] = fixed.value;
  return json;
}

/// Everything that is said of an outcome to programs.
Fields<StudyOutcome> outcome_fields(const Outcomes& outcomes) {
  using Row = StudyOutcome;
  Fields<Row> fields;
  const auto add = [&](std::string name, auto value, Formats formats = Formats::both) {
    fields.push_back({std::move(name), [value](const Row& each) { return Json(value(each)); }, {}, formats});
  };
  // Null where the condition is not met.
  const auto add_if = [&](std::string name, auto met, auto value, Formats formats = Formats::both) {
    add(
        std::move(name), [met, value](const Row& each) { return met(each) ? Json(value(each)) : Json(nullptr); }, formats);
  };
  const auto studied = [](const Row& each) { return each.study != nullptr; };
  const auto planned = [](const Row& each) { return each.best.has_value(); };
  const auto timed = [](const Row& each) { return each.best && each.best->time.iteration().value() > 0; };
  add("model", [](const Row& each) { return each.study ? each.study->model().name : each.model; });
  add("machine", [](const Row& each) { return each.study ? each.study->machine().name : each.machine; });
  std::map<const Row*, std::ptrdiff_t> ranks;
  if (comparable(outcomes)) {
    for (const Row* each : ranked(outcomes)) ranks.emplace(each, std::ssize(ranks) + 1);
  }
  add("rank", [ranks](const Row& each) {
    const auto rank = ranks.find(&each);
    return rank == ranks.end() ? Json(nullptr) : Json(rank->second);
  });
  add_if(
      "best", planned, [](const Row& each) { return estimate_to_json(*each.best, 1, *each.study); }, Formats::json);
  add_if(
      "nearest", [](const Row& each) { return each.nearest.has_value(); },
      [](const Row& each) { return estimate_to_json(*each.nearest, 0, *each.study); }, Formats::json);
  add_if(
      "dataset", studied, [](const Row& each) { return each.study->dataset().name; }, Formats::csv);
  add_if(
      "strategy", planned, [](const Row& each) { return family_name(each.best->plan.mesh.family()); }, Formats::csv);
  add_if(
      "feasible", planned, [](const Row& each) { return each.best->feasible(); }, Formats::csv);
  for (const Field<Plan>& field : plan_fields()) {
    if (field.object != "degrees") continue;
    add_if(
        field.name, planned, [value = field.value](const Row& each) { return value(each.best->plan); }, Formats::csv);
  }
  add_if(
      "iteration_s", timed, [](const Row& each) { return each.best->time.iteration().value(); }, Formats::csv);
  add_if(
      "epoch_s", timed, [](const Row& each) { return each.best->epoch.value(); }, Formats::csv);
  add_if("samples_per_s", timed, [](const Row& each) { return samples_per_second(*each.best); });
  add_if("iterations_per_epoch", timed, [](const Row& each) { return each.best->epoch / each.best->time.iteration(); });
  add_if("epochs_per_day", timed, [](const Row& each) { return epochs_per_day(*each.best); });
  add_if(
      "cost", [](const Row& each) { return each.best && cost_of(*each.best, each.study->machine()); },
      [](const Row& each) { return *cost_of(*each.best, each.study->machine()); }, Formats::csv);
  add_if(
      "currency", [](const Row& each) { return each.study && each.study->machine().price_per_gpu_hour; },
      [](const Row& each) { return each.study->machine().currency; });
  add_if(
      "efficiency", timed, [](const Row& each) { return each.best->efficiency; }, Formats::csv);
  add_if(
      "total_bytes", timed, [](const Row& each) { return each.best->memory.total().value(); }, Formats::csv);
  add_if(
      "device_memory_bytes", studied, [](const Row& each) { return each.study->machine().device.memory.value(); },
      Formats::csv);
  add_if(
      "problem", [](const Row& each) { return !each.problem.empty(); }, [](const Row& each) { return each.problem; });
  add_if(
      "hint", [](const Row& each) { return !each.hint.empty(); }, [](const Row& each) { return each.hint; }, Formats::json);
  add("inputs", inputs_json, Formats::json);
  return fields;
}

Json report_json(const Outcomes& outcomes) {
  Json json;
  json["schema"] = 1;
  json["version"] = version();
  json["commit"] = commit();
  const Fields<StudyOutcome> fields = outcome_fields(outcomes);
  json["comparison"] = Json::array();
  for (const StudyOutcome& each : outcomes) json["comparison"].push_back(json_of(fields, each));
  return json;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> studies_named(const StudyOptions& options) {
  std::vector<std::pair<std::string, std::string>> studies;
  const std::vector<std::string> machines = names_in("--machine", options.machine);
  for (const std::string& model : names_in("--model", options.model)) {
    for (const std::string& machine : machines) studies.emplace_back(model, machine);
  }
  if (studies.size() > most_studies) {
    throw Error(fmt::format("--model and --machine together ask for {} studies", studies.size()),
                fmt::format("ask for at most {} at a time", most_studies));
  }
  return studies;
}

Report compare_studies(std::vector<StudyOutcome> outcomes) {
  if (std::none_of(outcomes.begin(), outcomes.end(), answered)) throw Error(outcomes.front().problem, outcomes.front().hint);
  const auto shared = std::make_shared<Outcomes>(std::move(outcomes));
  Report report;
  report.text = [shared](const Style& style) { return text_of(*shared, style); };
  report.json = [shared] { return report_json(*shared); };
  report.csv = [shared] { return csv_of(outcome_fields(*shared), *shared); };
  const auto understood = [](const StudyOutcome& each) { return each.understood; };
  report.status = !std::all_of(shared->begin(), shared->end(), understood) ? ExitStatus::could_not_answer
                  : std::any_of(shared->begin(), shared->end(), fits)      ? ExitStatus::ok
                                                                           : ExitStatus::nothing_fits;
  return report;
}

}  // namespace ddl
