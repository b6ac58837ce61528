#include "cli/study_comparison.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "cli/estimate_text.hpp"
#include "cli/plan_text.hpp"
#include "cli/table.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"
#include "core/units.hpp"
#include "core/version.hpp"
#include "estimator/comparison.hpp"
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
                                 family_name(family_of(best.plan)),
                                 degrees_text(best.plan),
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
      text += fmt::format("; nearest is {}: {}", degrees_text(each.nearest->plan),
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
      const Comparison comparison = compare({labels.of(best), *best.best, best.study->model()},
                                            {labels.of(*order[i]), *order[i]->best, order[i]->study->model()}, Basis::epoch);
      others += "  " + wrap_text(comparison.sentence, 116, "    ") + "\n";
    }
    if (!others.empty()) out += "\n" + style.bold("Why not the others") + "\n" + others;
  }
  if (const std::string problems = problems_text(outcomes, labels); !problems.empty())
    out += "\n" + style.bold("Without an answer") + "\n" + problems;
  return out + defaults_table(outcomes, labels, style);
}

Json json_of(const Outcomes& outcomes) {
  Json json;
  json["schema"] = 1;
  json["version"] = version();
  json["commit"] = commit();
  const std::vector<const StudyOutcome*> order = ranked(outcomes);
  json["comparison"] = Json::array();
  for (const StudyOutcome& each : outcomes) {
    Json one;
    one["model"] = each.study ? each.study->model().name : each.model;
    one["machine"] = each.study ? each.study->machine().name : each.machine;
    const auto place = std::find(order.begin(), order.end(), &each);
    one["rank"] = place == order.end() || !comparable(outcomes) ? Json(nullptr) : Json(place - order.begin() + 1);
    one["best"] = each.best ? estimate_to_json(*each.best, 1, *each.study) : Json(nullptr);
    one["nearest"] = each.nearest ? estimate_to_json(*each.nearest, 0, *each.study) : Json(nullptr);
    const bool timed = each.best && each.best->time.iteration().value() > 0;
    one["samples_per_s"] = timed ? Json(samples_per_second(*each.best)) : Json(nullptr);
    one["iterations_per_epoch"] = timed ? Json(each.best->epoch / each.best->time.iteration()) : Json(nullptr);
    one["epochs_per_day"] = timed ? Json(epochs_per_day(*each.best)) : Json(nullptr);
    const bool priced = each.study && each.study->machine().price_per_gpu_hour;
    one["currency"] = priced ? Json(each.study->machine().currency) : Json(nullptr);
    one["problem"] = each.problem.empty() ? Json(nullptr) : Json(each.problem);
    one["hint"] = each.hint.empty() ? Json(nullptr) : Json(each.hint);
    one["inputs"] = nullptr;
    if (each.study) {
      one["inputs"] = inputs_to_json(*each.study);
      one["inputs"]["gpus"] = each.gpus;
      one["inputs"]["global_batch"] = each.global_batch;
      one["inputs"]["objective"] = to_string(each.objective);
      one["inputs"]["defaults"] = Json::object();
      for (const Default& fixed : each.defaults) one["inputs"]["defaults"][fixed.option] = fixed.value;
    }
    json["comparison"].push_back(std::move(one));
  }
  return json;
}

std::string csv_text(const Outcomes& outcomes) {
  const Json json = json_of(outcomes);
  Json rows = Json::array();
  for (const Json& each : json.at("comparison")) {
    const Json& best = each.at("best");
    const auto of_best = [&](const char* key) { return best.is_null() ? Json(nullptr) : best.at(key); };
    const auto inside = [&](const char* key, const char* part) {
      const Json object = of_best(key);
      return object.is_null() ? Json(nullptr) : object.at(part);
    };
    Json row;
    for (const char* key : {"model", "machine", "rank"}) row[key] = each.at(key);
    row["dataset"] = each.at("inputs").is_null() ? Json(nullptr) : each.at("inputs").at("dataset");
    for (const char* key : {"strategy", "feasible"}) row[key] = of_best(key);
    for (const char* axis : {"data", "spatial", "layer", "filter", "channel", "tensor"}) row[axis] = inside("degrees", axis);
    for (const char* key : {"iteration_s", "epoch_s"}) row[key] = inside("time", key);
    for (const char* key : {"samples_per_s", "iterations_per_epoch", "epochs_per_day"}) row[key] = each.at(key);
    row["cost"] = of_best("cost");
    row["currency"] = each.at("currency");
    row["efficiency"] = of_best("efficiency");
    row["total_bytes"] = inside("memory", "total_bytes");
    row["device_memory_bytes"] = each.at("inputs").is_null() ? Json(nullptr) : each.at("inputs").at("device_memory_bytes");
    row["problem"] = each.at("problem");
    rows.push_back(std::move(row));
  }
  return csv_of(rows);
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
  report.json = [shared] { return json_of(*shared); };
  report.csv = [shared] { return csv_text(*shared); };
  const auto understood = [](const StudyOutcome& each) { return each.understood; };
  report.status = !std::all_of(shared->begin(), shared->end(), understood) ? ExitStatus::could_not_answer
                  : std::any_of(shared->begin(), shared->end(), fits)      ? ExitStatus::ok
                                                                           : ExitStatus::nothing_fits;
  return report;
}

}  // namespace ddl
