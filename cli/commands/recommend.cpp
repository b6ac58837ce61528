#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "cli/commands/commands.hpp"
#include "cli/estimate_text.hpp"
#include "cli/number_option.hpp"
#include "cli/plan_text.hpp"
#include "cli/study_options.hpp"
#include "cli/table.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "core/units.hpp"
#include "core/version.hpp"
#include "estimator/findings.hpp"
#include "estimator/search.hpp"

namespace ddl {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t most_gpus = std::int64_t{1} << 20;
constexpr std::int64_t most_batch_per_gpu = std::int64_t{1} << 20;
constexpr std::int64_t default_batch_per_gpu = 32;
constexpr std::int64_t most_rows = 100'000;
constexpr std::int64_t example_gpus = 64;

struct Options {
  StudyOptions study;
  std::optional<std::int64_t> gpus, global_batch, batch_per_gpu, micro_batches, zero;
  std::optional<std::int64_t> top = 10;
  std::string strategies, objective = "time", placement, schedule, recompute, plan_file, strategy, degrees;
  bool all = false;
};

/// Everything the report says, computed before any of it is written.
struct Answer {
  std::shared_ptr<Study> study;
  std::shared_ptr<Estimator> estimator;
  Options options;
  std::int64_t gpus = 1, global_batch = 1;
  Objective objective = Objective::time;
  SearchResult result;
  std::vector<Estimate> shown;  ///< ranked, as many as are printed
  std::vector<Default> defaults;
  double seconds = 0;
  bool single = false;  ///< one plan was asked for, nothing was searched
  /// Strategies that were asked for and that no plan of so many devices belongs to.
  std::vector<Family> without_plans;
};

bool needs_pricing_only(const Limit& limit) { return limit.kind == Limit::Kind::memory; }

/// Degrees that cannot be are the user's own contradiction when the user wrote them.
void refuse_contradiction(const Estimate& estimate, const Model& model, const Options& options) {
  for (const Limit& limit : estimate.limits) {
    if (needs_pricing_only(limit)) continue;
    throw Error(
        fmt::format("the plan '{}' cannot be: {}", degrees_text(estimate.plan), describe(limit, model)),
        fmt::format("leave {} out to see what can", options.plan_file.empty() ? "--strategy and --degrees" : "--plan"));
  }
}

std::optional<Schedule> chosen_schedule(const Options& options) {
  if (options.schedule.empty()) return std::nullopt;
  const std::optional<Schedule> schedule = parse_schedule(options.schedule);
  if (!schedule) unknown_choice("--schedule", options.schedule, {"gpipe", "1f1b"});
  return schedule;
}

std::optional<Recompute> chosen_recompute(const Options& options) {
  if (options.recompute.empty()) return std::nullopt;
  const std::optional<Recompute> recompute = parse_recompute(options.recompute);
  if (!recompute) unknown_choice("--recompute", options.recompute, {"none", "full"});
  return recompute;
}

/// The closed forms know no sharding of the optimizer and no recomputation: asked for, it would be ignored.
void refuse_beyond_ideal(const Options& options) {
  if (!options.study.ideal) return;
  const char* hint = "leave one of them out";
  if (options.zero.value_or(0) > 0) {
    throw Error(
        fmt::format("--ideal knows no sharding of the optimizer: it cannot be combined with --zero {}", *options.zero),
        hint);
  }
  if (chosen_recompute(options) == Recompute::full)
    throw Error("--ideal knows no recomputation: it cannot be combined with --recompute full", hint);
}

void refuse_unpriced_cost(const Machine& machine) {
  if (machine.price_per_gpu_hour) return;
  throw Error(fmt::format("--objective cost needs the price of a device, and the sheet of {} has none", machine.name),
              "add 'price: {value: 2.5 USD/h, source: ...}' to a machine file");
}

/// A report about something else than what is asked now would be priced without a word.
void refuse_other_report(const PlanFile& file, const Study& study, const std::string& path) {
  std::string said, options;
  const auto compare = [&](const char* kind, const std::optional<std::string>& reported, const std::string& asked) {
    if (!reported || *reported == asked) return;
    said += fmt::format("{}the {} {}, not {}", said.empty() ? "" : ", and ", kind, quote(*reported), quote(asked));
    options += fmt::format("{}--{} {}", options.empty() ? "" : " ", kind, *reported);
  };
  compare("model", file.model, study.model().name);
  compare("machine", file.machine, study.machine().name);
  if (said.empty()) return;
  throw Error(fmt::format("the report {} is about {}", quote(path), said),
              fmt::format("add {}, or give the object of its plan alone", options));
}

/// Nothing can run on devices that are not there: said at once, not once for each strategy after a long search.
void refuse_more_than(const Machine& machine, std::int64_t gpus) {
  if (gpus <= machine.devices()) return;
  throw Error(fmt::format("--gpus is {}, but {} has {}", gpus, machine.name, count_text(machine.devices(), "device")),
              fmt::format("ask for at most {}, or name a larger machine with --machine", machine.devices()));
}

std::int64_t global_batch_of(const Options& options, std::int64_t gpus) {
  return options.global_batch.value_or(options.batch_per_gpu.value_or(default_batch_per_gpu) * gpus);
}

/// The prime factors of `number`, smallest first.
std::vector<std::int64_t> prime_factors(std::int64_t number) {
  std::vector<std::int64_t> factors;
  for (std::int64_t prime = 2; prime * prime <= number; ++prime) {
    for (; number % prime == 0; number /= prime) factors.push_back(prime);
  }
  if (number > 1) factors.push_back(number);
  return factors;
}

/// Whether so many devices are the product of a degree above 1 for each axis of the family.
bool can_divide(std::int64_t gpus, Family family) {
  const std::size_t axes = static_cast<std::size_t>(std::popcount(family));
  return axes == 0 ? gpus == 1 : prime_factors(gpus).size() >= axes;
}

std::string why_without_plans(std::int64_t gpus, Family family) {
  const int axes = std::popcount(family);
  const std::int64_t least = std::int64_t{1} << axes;
  if (axes == 0) return "is a single device";
  if (gpus < least) return fmt::format("needs at least {}", count_text(least, "device"));
  return fmt::format("{} are not a product of {} degrees above 1", count_text(gpus, "device"), axes);
}

/// Degrees of this very strategy as a user types them: for so many devices where they can be divided so.
std::string example_degrees(Family family, std::int64_t gpus) {
  std::vector<std::int64_t> factors = prime_factors(gpus);
  if (!can_divide(gpus, family)) factors.assign(static_cast<std::size_t>(std::popcount(family)), 2);
  // The data degree, which goes furthest, takes what the others leave.
  std::string text;
  std::size_t taken = 0;
  std::vector<Axis> axes;
  for (const Axis axis : {Axis::spatial, Axis::tensor, Axis::channel, Axis::filter, Axis::layer, Axis::data}) {
    if ((family & family_bit(axis)) != 0) axes.push_back(axis);
  }
  for (const Axis axis : axes) {
    std::int64_t value = factors[taken++];
    if (axis == axes.back()) {
      while (taken < factors.size()) value *= factors[taken++];
    }
    const std::string part = fmt::format("{}={}", to_string(axis), value);
    text = axis == Axis::data ? part + (text.empty() ? "" : "," + text) : text + (text.empty() ? "" : ",") + part;
  }
  return text;
}

void search_into(Answer& answer) {
  const Options& options = answer.options;
  SearchOptions search_options;
  search_options.devices = answer.gpus;
  search_options.global_batch = answer.global_batch;
  search_options.precision = answer.study->precision();
  search_options.optimizer = answer.study->optimizer();
  search_options.objective = answer.objective;
  search_options.all = options.all;
  search_options.top = *options.top;
  if (!options.placement.empty()) search_options.placement = parse_placement(options.placement);
  if (options.zero) search_options.zero_stage = static_cast<int>(*options.zero);
  search_options.micro_batches = options.micro_batches;
  search_options.schedule = chosen_schedule(options);
  search_options.recompute = chosen_recompute(options);
  if (options.study.ideal) {
    // The closed forms know no sharding of the optimizer and no recomputation.
    search_options.zero_stage = search_options.zero_stage.value_or(0);
    search_options.recompute = search_options.recompute.value_or(Recompute::none);
  }
  search_options.families = parse_families(options.strategies);

  const auto start = std::chrono::steady_clock::now();
  answer.result = search(*answer.estimator, search_options);
  answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  for (const Family family : search_options.families) {
    const auto is_said = [&](const Estimate& rejected) { return family_of(rejected.plan) == family; };
    const auto& known = answer.without_plans;
    if (can_divide(answer.gpus, family) || std::find(known.begin(), known.end(), family) != known.end() ||
        std::any_of(answer.result.rejected.begin(), answer.result.rejected.end(), is_said)) {
      continue;
    }
    answer.without_plans.push_back(family);
  }

  const auto top = static_cast<std::size_t>(*options.top);
  if (options.all) {
    for (std::size_t i = 0; i < std::min(top, answer.result.ranked.size()); ++i) {
      answer.shown.push_back(answer.estimator->estimate(answer.result.ranked[i].plan));
    }
  } else {
    answer.shown.assign(answer.result.best.begin(),
                        answer.result.best.begin() + static_cast<std::ptrdiff_t>(std::min(top, answer.result.best.size())));
  }
}

/// What is to be priced when the user names the plan: `file` is the plan of --plan, if there is one; what is left open takes
/// its default.
Plan requested_plan(const Options& options, const std::optional<PlanFile>& file, const Study& study) {
  if (file) {
    if (options.gpus && devices(file->plan) != *options.gpus) {
      throw Error(fmt::format("the plan in {} uses {}, --gpus says {}", quote(options.plan_file),
                              count_text(devices(file->plan), "device"), *options.gpus),
                  "leave --gpus out: the plan says it");
    }
    return file->plan;
  }
  Plan plan;
  const std::optional<Family> family = parse_family(options.strategy);
  if (!family)
    throw Error(fmt::format("no strategy is called {}", quote(options.strategy)), suggest_family(options.strategy));
  if (options.degrees.empty()) {
    if (!options.gpus) {
      throw Error("--strategy needs --degrees or --gpus",
                  *family == 0 ? "write --gpus 1"
                               : fmt::format("write for example --degrees {}", example_degrees(*family, example_gpus)));
    }
    // One part of the hybrid alone can be given all devices.
    if ((*family & (*family - 1)) != 0) {
      throw Error(fmt::format("--strategy {} needs --degrees", options.strategy),
                  fmt::format("write for example --degrees {}", example_degrees(*family, *options.gpus)));
    }
    if (*family != 0) parse_degrees(fmt::format("{}={}", options.strategy, *options.gpus), plan);
  } else {
    parse_degrees(options.degrees, plan);
    if (family_of(plan) != *family) {
      throw Error(fmt::format("{} is the strategy '{}', not '{}'", quote("--degrees " + options.degrees),
                              family_name(family_of(plan)), family_name(*family)),
                  "name the same strategies in both, with degrees above 1");
    }
  }
  if (options.gpus && devices(plan) != *options.gpus) {
    const std::string said = options.degrees.empty() ? "--strategy " + options.strategy : "--degrees " + options.degrees;
    throw Error(fmt::format("{} uses {}, --gpus says {}", said, count_text(devices(plan), "device"), *options.gpus),
                "the product of the degrees is the number of GPUs");
  }
  plan.precision = study.precision();
  plan.optimizer = study.optimizer();
  plan.global_batch = global_batch_of(options, devices(plan));
  plan.micro_batches = options.micro_batches.value_or(plan.micro_batches);
  plan.zero_stage = static_cast<int>(options.zero.value_or(plan.zero_stage));
  if (!options.placement.empty()) plan.placement = parse_placement(options.placement);
  plan.schedule = chosen_schedule(options).value_or(plan.schedule);
  plan.recompute = chosen_recompute(options).value_or(plan.recompute);
  return plan;
}

/// How the best plan compares with data parallelism, which everybody knows; nothing where that is the best, or nobody has
/// tried.
std::string compared_with_data(const Answer& answer) {
  const Estimate& best = answer.shown.front();
  const Family family = family_bit(Axis::data);
  if (answer.single || answer.gpus == 1 || family_of(best.plan) == family) return {};
  const auto is_data = [&](const Estimate& estimate) { return family_of(estimate.plan) == family; };
  if (std::any_of(answer.result.rejected.begin(), answer.result.rejected.end(), is_data)) {
    return ", where data parallelism alone is not possible";
  }
  const auto data = std::find_if(answer.result.best.begin(), answer.result.best.end(), is_data);
  if (data == answer.result.best.end()) return {};
  const double ratio = data->time.iteration() / best.time.iteration();
  return ratio >= 1 ? fmt::format(", {:.2f}x as fast as data parallelism", ratio)
                    : fmt::format(", {:.2f}x the speed of data parallelism", ratio);
}

std::string best_line(const Answer& answer, const Style& style) {
  const Estimate& best = answer.shown.front();
  const Bytes capacity = answer.study->machine().device.memory;
  std::string line = style.bold(fmt::format("{} ({})", family_name(family_of(best.plan)), degrees_text(best.plan)));
  if (!best.feasible()) {
    std::string why;
    for (const Limit& limit : best.limits) why += (why.empty() ? "" : "; ") + describe(limit, answer.study->model());
    return line + style.bold(" does not fit") + ": " + why;
  }
  line += fmt::format(": {} per epoch", humanize(best.epoch));
  line += compared_with_data(answer);
  line += fmt::format(", {} of {} per GPU", humanize(best.memory.total()), humanize(capacity));
  return line;
}

/// How many of those that were ranked, or are provably behind, are not shown.
std::size_t slower_plans(const Answer& answer) {
  if (answer.single) return 0;
  const std::size_t ranked = answer.options.all ? answer.result.ranked.size() : answer.result.best.size();
  return ranked + answer.result.behind.size() - answer.shown.size();
}

std::string text_of(const Answer& answer, const Style& style) {
  const Study& study = *answer.study;
  std::string out;
  if (answer.shown.empty()) {
    out += style.bold("No plan is possible") +
           fmt::format(" for {} on {} of {}\n", study.model().name, count_text(answer.gpus, "GPU"), study.machine().name);
  } else {
    out += best_line(answer, style) + "\n";
  }
  out += fmt::format("{} on {}, {} of {}, global batch {}, {} with {}{}\n", study.model().name, study.dataset().name,
                     count_text(answer.gpus, "GPU"), study.machine().name, with_thousands(answer.global_batch),
                     to_string(study.precision()), to_string(study.optimizer()),
                     study.spec().assumptions.linear_kernels ? ", ideal" : "");
  out += fmt::format("kernel times: {}\n", to_string(study.kernels().origin()));
  if (!answer.shown.empty()) {
    out += "\n" + ranked_table(answer.shown, *answer.study).text();
    if (const std::size_t more = slower_plans(answer); more > 0) {
      const std::size_t all = std::min<std::size_t>(more + answer.shown.size(), most_rows);
      out += style.faint(fmt::format("  and {} {}{}\n", with_thousands(static_cast<std::int64_t>(more)),
                                     answer.objective == Objective::memory ? "more" : "slower",
                                     all > answer.shown.size() ? fmt::format(": --top {}", all) : ""));
    }
    out += "\n" + style.bold("Why") + fmt::format(" ({})\n", family_name(family_of(answer.shown.front().plan)));
    for (const Finding& finding : findings_of(study.job(), answer.shown.front())) {
      out += "  " + wrap_text(finding.sentence, 116, "    ") + "\n";
    }
    if (answer.shown.size() > 1 && answer.objective != Objective::memory && !answer.options.all) {
      out += "\n" + style.bold("Why not the others") + "\n";
      for (std::size_t i = 1; i < answer.shown.size(); ++i) {
        out += fmt::format("  {}. {}: {}\n", i + 1, family_name(family_of(answer.shown[i].plan)),
                           comparison(answer.shown.front(), answer.shown[i]));
      }
    }
  }
  if (!answer.result.rejected.empty() || !answer.without_plans.empty()) {
    out += "\n" + style.bold("Rejected") + "\n" + rejected_text(answer.result.rejected, study.model());
    for (const Family family : answer.without_plans)
      out += fmt::format("  {}: {}\n", family_name(family), why_without_plans(answer.gpus, family));
  }
  if (!answer.defaults.empty()) {
    out += "\n" + style.bold("Defaults in force") + "\n";
    Table table({{"option", Table::Align::left}, {"value", Table::Align::left}, {"why", Table::Align::left}});
    for (const Default& each : answer.defaults) table.add({each.option, each.value, each.reason});
    out += table.text();
  }
  if (!answer.single) {
    out += fmt::format("\n{} considered ({} of them pruned by bounds), {} feasible, {:.0f} ms\n",
                       count_text(answer.result.considered, "plan"), with_thousands(answer.result.pruned),
                       with_thousands(answer.result.feasible), answer.seconds * 1e3);
  }
  return out;
}

Json json_of(const Answer& answer) {
  const Study& study = *answer.study;
  Json json;
  json["schema"] = 1;
  json["version"] = version();
  json["commit"] = commit();
  json["best"] = answer.shown.empty() ? Json(nullptr) : estimate_to_json(answer.shown.front(), 1, study);
  json["plans"] = Json::array();
  int rank = 0;
  for (const Estimate& estimate : answer.shown) json["plans"].push_back(estimate_to_json(estimate, ++rank, study));
  for (const Estimate& estimate : answer.result.rejected) json["plans"].push_back(estimate_to_json(estimate, 0, study));
  json["inputs"] = inputs_to_json(study);
  json["inputs"]["gpus"] = answer.gpus;
  json["inputs"]["global_batch"] = answer.global_batch;
  json["inputs"]["objective"] = to_string(answer.objective);
  json["inputs"]["ideal"] = answer.options.study.ideal;
  json["inputs"]["defaults"] = Json::object();
  for (const Default& each : answer.defaults) json["inputs"]["defaults"][each.option] = each.value;
  json["search"] = {{"considered", answer.result.considered},
                    {"pruned", answer.result.pruned},
                    {"feasible", answer.result.feasible},
                    {"seconds", answer.seconds}};
  return json;
}

/// What a plan of the user's own leaves open. A file is asked for the key, the command line for the option.
void add_plan_defaults(std::vector<Default>& defaults, const Plan& plan, const CLI::App& command,
                       const std::optional<PlanFile>& file) {
  const auto add = [&](const std::string& option, const char* key, const std::string& value, const char* why) {
    if (file ? file->given.contains(key) : command.count(option) > 0) return;
    defaults.push_back({file ? key : option, value, why});
  };
  add("--micro-batches", "micro_batches", std::to_string(plan.micro_batches), "");
  if (plan.layer > 1) add("--schedule", "schedule", std::string(to_string(plan.schedule)), "");
  add("--zero", "zero_stage", std::to_string(plan.zero_stage), "");
  add("--recompute", "recompute", std::string(to_string(plan.recompute)), "");
  if (std::popcount(family_of(plan)) > 1) add("--placement", "placement", placement_text(plan), "innermost first");
}

Report answer_report(const std::shared_ptr<Answer>& answer) {
  Report report;
  report.text = [answer](const Style& style) { return text_of(*answer, style); };
  report.json = [answer] { return json_of(*answer); };
  report.csv = [answer] { return plans_csv(answer->shown, answer->result.rejected, *answer->study); };
  const bool fits = !answer->shown.empty() && answer->shown.front().feasible();
  report.status = fits ? ExitStatus::ok : ExitStatus::nothing_fits;
  return report;
}

Report recommend(const Options& options, const CLI::App& command) {
  const bool plan_given = !options.plan_file.empty() || !options.strategy.empty() || !options.degrees.empty();
  if (!options.gpus && !plan_given) throw Error("--gpus is missing", "say how many: --gpus 1024");
  if (!options.degrees.empty() && options.strategy.empty()) {
    throw Error("--degrees needs --strategy", "write for example --strategy data+spatial --degrees data=64,spatial=2x2");
  }
  auto answer = std::make_shared<Answer>();
  answer->options = options;
  const std::optional<Objective> objective = parse_objective(options.objective);
  if (!objective) unknown_choice("--objective", options.objective, {"time", "cost", "memory"});
  answer->objective = *objective;
  refuse_beyond_ideal(options);

  StudySpec spec = spec_of(options.study);
  std::optional<PlanFile> file;
  if (!options.plan_file.empty()) {
    file = read_plan(read_file(options.plan_file), options.plan_file);
    // The plan may say which precision and optimizer its memory and time are about.
    if (!spec.precision) spec.precision = file->precision;
    if (!spec.optimizer) spec.optimizer = file->optimizer;
  }
  answer->study = std::make_shared<Study>(spec);
  if (file) refuse_other_report(*file, *answer->study, options.plan_file);
  if (answer->objective == Objective::cost) refuse_unpriced_cost(answer->study->machine());
  if (options.gpus) refuse_more_than(answer->study->machine(), *options.gpus);
  answer->estimator = std::make_shared<Estimator>(answer->study->job());
  answer->single = plan_given;
  if (plan_given) {
    Plan plan = requested_plan(options, file, *answer->study);
    plan.precision = answer->study->precision();
    plan.optimizer = answer->study->optimizer();
    answer->gpus = devices(plan);
    answer->global_batch = plan.global_batch;
    const Estimate estimate = answer->estimator->estimate(plan);
    refuse_contradiction(estimate, answer->study->model(), options);
    answer->shown.push_back(estimate);
    answer->result.considered = 1;
    answer->result.feasible = estimate.feasible() ? 1 : 0;
  } else {
    answer->gpus = *options.gpus;
    answer->global_batch = global_batch_of(options, answer->gpus);
    search_into(*answer);
  }
  answer->defaults = defaults_of(command, options.study, *answer->study);
  std::erase_if(answer->defaults, [&](const Default& each) {
    return file && ((each.option == "--precision" && file->precision) || (each.option == "--optimizer" && file->optimizer));
  });
  if (options.plan_file.empty() && command.count("--global-batch") == 0 && command.count("--batch-per-gpu") == 0) {
    answer->defaults.push_back({"--batch-per-gpu", std::to_string(default_batch_per_gpu),
                                fmt::format("global batch {}", with_thousands(answer->global_batch))});
  }
  if (plan_given) add_plan_defaults(answer->defaults, answer->shown.front().plan, command, file);
  if (!plan_given && command.count("--objective") == 0) answer->defaults.push_back({"--objective", "time", ""});
  return answer_report(answer);
}

}  // namespace

void add_recommend(CLI::App& program, Request& request) {
  CLI::App& command = *program.add_subcommand("recommend", "rank all ways of training a model on N GPUs");
  auto options = std::make_shared<Options>();
  add_study_options(command, options->study);
  constexpr std::int64_t most_samples = std::int64_t{1} << 40;
  add_whole_number(command, "--gpus", options->gpus, 1, most_gpus, "number of GPUs (or other devices)");
  auto* global = add_whole_number(command, "--global-batch", options->global_batch, 1, most_samples,
                                  "samples per iteration over all GPUs");
  auto* per_gpu =
      add_whole_number(command, "--batch-per-gpu", options->batch_per_gpu, 1, most_batch_per_gpu,
                       fmt::format("the same, divided by the number of GPUs (default {})", default_batch_per_gpu));
  per_gpu->excludes(global);
  auto* strategies =
      command.add_option("--strategies", options->strategies, "only these, separated by commas: data,data+filter,…");
  auto* objective = command.add_option("--objective", options->objective, "time, cost or memory")->capture_default_str();
  auto* placement =
      command.add_option("--placement", options->placement, "which degrees are neighbours, innermost first: filter,data");
  auto* zero = add_whole_number(command, "--zero", options->zero, 0, 3, "fix the ZeRO stage: 0 to 3");
  auto* recompute = command.add_option("--recompute", options->recompute, "fix recomputation: none or full");
  auto* schedule = command.add_option("--schedule", options->schedule, "fix the pipeline schedule: gpipe or 1f1b");
  auto* micro_batches = add_whole_number(command, "--micro-batches", options->micro_batches, 1, most_samples,
                                         "fix the number of micro-batches");
  auto* plan = command.add_option("--plan", options->plan_file, "price the plan of this JSON file instead of searching");
  auto* strategy = command.add_option("--strategy", options->strategy, "price one plan of this strategy");
  auto* degrees = command.add_option("--degrees", options->degrees, "its degrees: data=64,spatial=2x2");
  add_whole_number(command, "--top", options->top, 1, most_rows, "rows to show");
  auto* all = add_switch(command, "--all", options->all, "rank every plan, not only the best of each strategy");
  // What the file of a plan says, and what only a search asks for, would be ignored.
  for (auto* said : {global, per_gpu, placement, zero, recompute, schedule, micro_batches, strategy, degrees})
    plan->excludes(said);
  for (auto* sought : {strategies, objective, all}) {
    plan->excludes(sought);
    strategy->excludes(sought);
  }
  add_report_options(command, request.report);
  command.callback(
      [options, &command, &request] { request.run = [options, &command] { return recommend(*options, command); }; });
}

}  // namespace ddl
