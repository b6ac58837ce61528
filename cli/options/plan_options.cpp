#include "cli/options/plan_options.hpp"

#include <algorithm>
#include <bit>
#include <filesystem>

#include <fmt/format.h>

#include "calibration/inputs/machine_reader.hpp"
#include "calibration/inputs/plan_degrees.hpp"
#include "cli/options/device_count.hpp"
#include "cli/options/layer_layouts.hpp"
#include "cli/options/option_value.hpp"
#include "cli/options/plan_notation.hpp"
#include "cli/options/strategies.hpp"
#include "cli/report/figures.hpp"
#include "cli/sentences/sentences.hpp"
#include "core/error.hpp"
#include "core/find.hpp"
#include "core/lower_case.hpp"
#include "core/source_text.hpp"
#include "core/units.hpp"
#include "model_zoo/files/load_model.hpp"

namespace ddl {
namespace {

constexpr std::int64_t most_gpus = std::int64_t{1} << 20;
constexpr std::int64_t most_batch_per_gpu = std::int64_t{1} << 20;
constexpr std::int64_t most_samples = std::int64_t{1} << 40;

/// Returns the ZeRO stage that a strategy's name in --strategy or --degrees implies.
int zero_stage_said(const PlanOptions& options) {
  int stage = zero_stage_in(options.strategy).value_or(0);
  for (const std::string& part : comma_separated(options.degrees))
    stage = std::max(stage, zero_stage_in(part.substr(0, part.find('='))).value_or(0));
  return stage;
}

/// Throws Error if an option needs optimizer sharding or recomputation, which the closed forms of
/// --ideal do not have.
void refuse_beyond_ideal(const PlanOptions& options, bool ideal) {
  if (!ideal) return;
  const ChosenOfPlan chosen = chosen_of(options);
  if (!chosen[PlanChoice::zero]) refuse_sharding_in_ideal(zero_stage_said(options));
  for (const PlanChoiceRow& row : plan_choices()) {
    const int value = chosen[row.choice].value_or(0);
    if (value == 0 || row.beyond_ideal.empty()) continue;
    throw Error(fmt::format("--ideal does not support {}: it cannot be combined with --{} {}", row.beyond_ideal, row.option,
                            row.name(value)),
                "leave one of them out");
  }
}

/// The name of a model without the sizes that options change: `gpt2` of `gpt2@tokens=512`.
std::string without_sizes(const std::string& name) { return name.substr(0, name.find('@')); }

/// Throws Error if the report with the plan is about another model or machine than the requested one.
void refuse_other_report(const PlanFile& file, const Study& study, const std::string& path) {
  std::string said, options;
  const auto compare = [&](const char* kind, const std::optional<std::string>& reported, const std::string& asked) {
    if (!reported || without_sizes(*reported) == without_sizes(asked)) return;
    said += fmt::format("{}the {} {}, not {}", said.empty() ? "" : ", and ", kind, quote(*reported), quote(asked));
    options += fmt::format("{}--{} {}", options.empty() ? "" : " ", kind, *reported);
  };
  compare("model", file.model, study.model().name);
  compare("machine", file.machine, study.machine().name);
  if (said.empty()) return;
  throw Error(fmt::format("the report {} is about {}", quote_path(path), said),
              fmt::format("add {}, or pass only the object of the plan", options));
}

/// Returns the strategy that the degrees of --degrees determine.
Family family_of_degrees(const std::string& degrees) {
  Plan plan;
  parse_degrees(degrees, plan);
  return plan.mesh.family();
}

/// Returns whether the degrees name exactly the axes of a family. Degrees of 1 count: `data=1` names data.
bool names_axes_of(const std::string& degrees, Family family) {
  std::string names;
  for (const std::string& each : comma_separated(degrees))
    names += (names.empty() ? "" : "+") + each.substr(0, each.find('='));
  return parse_family(names) == family;
}

/// If exactly one axis of the strategy has no degree, gives the remaining GPUs to this axis.
void give_the_rest(Plan& plan, Family family, const PlanOptions& options) {
  const Family missing = family & ~plan.mesh.family();
  if (!options.gpus || std::popcount(missing) != 1 || (family | plan.mesh.family()) != family) return;
  const std::int64_t rest = *options.gpus / plan.mesh.devices();
  if (rest < 2 || rest * plan.mesh.devices() != *options.gpus) return;
  for (const Axis axis : all_axes) {
    if (family_bit(axis) != missing) continue;
    plan = Plan{};
    parse_degrees(fmt::format("{},{}={}", options.degrees, to_string(axis), rest), plan);
  }
}

/// Returns the default number of micro-batches: the fastest number that fits in memory; of equally
/// fast numbers, the smallest. Without a pipeline, returns the smallest number that fits and does not page managed memory;
/// if all that fit page, the fastest of them; 1 if none fits.
std::int64_t searched_micro_batches(const Study& study, const Plan& named) {
  constexpr std::int64_t most_tried = 4096;
  const std::int64_t share = named.global_batch / named.mesh.batch_parts();
  const Estimator estimator(study.job());
  std::optional<Estimate> best;
  for (std::int64_t count = 1; count <= std::min(share, most_tried); ++count) {
    if (share % count != 0) continue;
    Plan plan = named;
    plan.micro_batches = count;
    const Estimate estimate = estimator.estimate(plan);
    const bool is_possible =
        std::ranges::all_of(estimate.limits, [](const Limit& limit) { return limit.kind == Limit::Kind::memory; });
    if (!is_possible) continue;
    const bool is_better = !best || estimate.verdict < best->verdict ||
                           (estimate.verdict == best->verdict && estimate.time.step_time() < best->time.step_time());
    if (is_better) best = estimate;
    if (named.mesh[Axis::pipeline] == 1 && best->verdict == Verdict::fits && best->paging == Seconds{}) break;
  }
  const bool is_default = !best || (best->verdict == Verdict::does_not_fit && named.mesh[Axis::pipeline] == 1);
  return is_default ? 1 : best->plan.micro_batches;
}

/// Returns the reason why searched_micro_batches chose this number of micro-batches.
const char* why_this_many(const Study& study, const Plan& plan) {
  const Estimate estimate = Estimator(study.job()).estimate(plan);
  if (!estimate.feasible()) return "the fastest number; none fits";
  const bool is_fastest = plan.mesh[Axis::pipeline] > 1 || estimate.verdict != Verdict::fits || estimate.paging > Seconds{};
  if (is_fastest) return "the fastest number that fits";
  const bool pages = study.job().coefficients.software.managed_memory.value_or(false) && plan.mesh[Axis::spatial] > 1;
  return pages ? "the smallest number that fits, and loads no managed memory from the host"
               : "the smallest number that fits";
}

/// Returns the plan of --plan in the short notation.
Plan plan_of_word(const PlanOptions& options, const Study& study) {
  Plan plan = parse_plan_word(options.plan_word);
  if (options.gpus && plan.mesh.devices() != *options.gpus) {
    throw Error(fmt::format("the plan {} uses {}, but --gpus is {}", quote(options.plan_word),
                            count_text(plan.mesh.devices(), "device"), *options.gpus),
                "the product of the degrees is the number of GPUs; leave --gpus out: the plan determines the number");
  }
  plan.precision = study.precision();
  plan.optimizer = study.optimizer();
  plan.global_batch = global_batch_of(options, plan.mesh.devices(), study);
  return plan;
}

/// A plan file contains its batch, so the options of the batch contradict it. A plan in the short notation has no batch.
void refuse_batch_with_file(const PlanOptions& options) {
  if (options.plan_file.empty()) return;
  const auto refuse = [](const char* option) {
    throw Error(fmt::format("{} and --plan contradict each other", option), "leave one of them out");
  };
  if (options.global_batch || !options.global_batches.empty()) refuse("--global-batch");
  if (options.batch_per_gpu) refuse("--batch-per-gpu");
}

/// Returns the plan that the user requests. `file`: the plan of --plan, if given. Choices that the
/// user does not give have their defaults.
Plan requested_plan(const PlanOptions& options, const std::optional<PlanFile>& file, const Study& study, bool ideal) {
  if (file) {
    if (options.gpus && file->plan.mesh.devices() != *options.gpus) {
      throw Error(fmt::format("the plan in {} uses {}, but --gpus is {}", quote(options.plan_file),
                              count_text(file->plan.mesh.devices(), "device"), *options.gpus),
                  "leave --gpus out: the plan determines the number");
    }
    return file->plan;
  }
  if (!options.plan_word.empty()) return plan_of_word(options, study);
  Plan plan;
  // The strategy follows from the degrees if --strategy is not given.
  const std::optional<Family> family =
      options.strategy.empty() ? family_of_degrees(options.degrees) : parse_family(options.strategy);
  if (!family) throw Error(fmt::format("unknown strategy {}", quote(options.strategy)), suggest_family(options.strategy));
  parse_degrees(options.degrees, plan);
  give_the_rest(plan, *family, options);
  // A strategy on one device shards nothing.
  const bool is_serial = plan.mesh.family() == 0 && names_axes_of(options.degrees, *family);
  if (plan.mesh.family() != *family && !is_serial) {
    throw Error(fmt::format("{} belongs to the strategy '{}', not '{}'", quote("--degrees " + options.degrees),
                            family_name(plan.mesh.family()), family_name(*family)),
                "name the same strategies in both, with degrees above 1");
  }
  if (options.gpus && plan.mesh.devices() != *options.gpus) {
    throw Error(fmt::format("--degrees {} uses {}, but --gpus is {}", options.degrees,
                            count_text(plan.mesh.devices(), "device"), *options.gpus),
                "the product of the degrees is the number of GPUs");
  }
  plan.precision = study.precision();
  plan.optimizer = study.optimizer();
  plan.global_batch = global_batch_of(options, plan.mesh.devices(), study);
  plan.micro_batches = options.micro_batches.value_or(plan.micro_batches);
  if (!options.placement.empty()) plan.placement = parse_placement(options.placement);
  plan.zero_stage = zero_stage_said(options);
  chosen_of(options).apply(plan);
  lay_out_layers(options.layers, study.job().facts, plan);
  if (!options.micro_batches && !ideal) plan.micro_batches = searched_micro_batches(study, plan);
  return plan;
}

/// Adds the choices that have their defaults in the user's plan. A choice is named by its key if a
/// plan file is given, else by its option.
void add_choices(std::vector<Default>& defaults, const Plan& plan, const Study& study, const Command& command,
                 const std::optional<PlanFile>& file) {
  const auto add = [&](const std::string& option, std::string_view key, const std::string& value, const char* why) {
    if (file ? file->given.contains(std::string(key)) : command.count(option) > 0) return;
    defaults.push_back({file ? std::string(key) : option, value, why});
  };
  const bool is_searched = !file && plan.micro_batches > 1;
  add("--micro-batches", "micro_batches", std::to_string(plan.micro_batches), is_searched ? why_this_many(study, plan) : "");
  for (const PlanChoiceRow& row : plan_choices()) {
    if (row.choice == PlanChoice::tables && study.job().facts.tables.empty()) continue;
    const bool counts = row.matters(plan.mesh) && (row.counts == nullptr || row.counts(plan));
    if (counts) add(fmt::format("--{}", row.option), row.key, std::string(row.name(row.get(plan))), "");
  }
  if (std::popcount(plan.mesh.family()) > 1) add("--placement", "placement", placement_text(plan), "innermost first");
}

std::vector<std::string> strategy_words() {
  const std::vector<std::string_view> names = axis_names();
  return {names.begin(), names.end()};
}

/// Returns the option besides --machine that gives a number of GPUs; empty if there is none.
std::string_view counting_option(const PlanOptions& plan, bool is_configured) {
  if (plan.gpus || !plan.gpu_counts.empty()) return "--gpus";
  if (!plan.plan_word.empty() || !plan.plan_file.empty()) return "--plan";
  if (!plan.degrees.empty()) return "--degrees";
  return is_configured ? "--like" : "";
}

}  // namespace

void settle_lists(PlanOptions& options) {
  const auto settle = [](std::vector<std::int64_t>& list, std::optional<std::int64_t>& one) {
    if (list.size() != 1) return;
    one = list.front();
    list.clear();
  };
  settle(options.gpu_counts, options.gpus);
  settle(options.global_batches, options.global_batch);
}

void settle_counts(StudyOptions& study, PlanOptions& plan, bool is_configured) {
  const std::vector<NamedStudy> studies = studies_named(study);
  const auto has_count = [](const NamedStudy& each) { return each.gpus.has_value(); };
  if (std::ranges::none_of(studies, has_count)) return;
  const std::string_view other = counting_option(plan, is_configured);
  const bool agrees = other == "--plan" && studies.size() == 1 && !plan.plan_word.empty() &&
                      parse_plan_word(plan.plan_word).mesh.devices() == *studies.front().gpus;
  if (!other.empty() && !agrees)
    throw Error(fmt::format("both --machine {} and {} set the number of GPUs", study.machine, other),
                "set the number of GPUs once: in --machine, or in --gpus for all machines");
  const auto without = std::ranges::find_if_not(studies, has_count);
  if (without != studies.end())
    throw Error(fmt::format("--machine {} does not set the number of GPUs of {}", study.machine, without->machine),
                fmt::format("use for example {}:{}", without->machine, *std::ranges::find_if(studies, has_count)->gpus));
  if (studies.size() > 1) return;
  study.machine = studies.front().machine;
  plan.gpus = studies.front().gpus;
}

BatchOptionHandles add_batch_options(const Command& command, PlanOptions& options, bool lists) {
  const std::string samples = "samples per step over all GPUs";
  if (lists) {
    add_number_list(command, "--gpus", options.gpu_counts, 1, most_gpus,
                    "number of GPUs (or other devices); several: 8,64 or 8..1024 (powers of two)");
  } else {
    add_whole_number(command, "--gpus", options.gpus, 1, most_gpus, "number of GPUs (or other devices)");
  }
  const auto global =
      lists ? add_number_list(command, "--global-batch,--batch", options.global_batches, 1, most_samples,
                              samples + "; several as with --gpus")
            : add_whole_number(command, "--global-batch,--batch", options.global_batch, 1, most_samples, samples);
  const auto per_gpu =
      add_whole_number(command, "--batch-per-gpu", options.batch_per_gpu, 1, most_batch_per_gpu,
                       "samples per step and GPU; default: that of the model file, else 16,384 tokens, else 32 samples");
  per_gpu.excludes(global);
  const auto micro_batches = add_whole_number(command, "--micro-batches", options.micro_batches, 1, most_samples,
                                              "fix the number of micro-batches");
  return {global, per_gpu, micro_batches};
}

PlanOptionHandles add_plan_options(const Command& command, PlanOptions& options, bool lists) {
  const Option micro_batches = add_batch_options(command, options, lists).micro_batches;
  const auto placement = command.add_option("--placement", options.placement,
                                            "order in which degrees are placed on neighboring devices, innermost first, "
                                            "such as filter,data",
                                            "AXES");
  std::vector<Option> choices;
  for (const PlanChoiceRow& row : plan_choices()) {
    const auto at = static_cast<std::size_t>(row.choice);
    const std::string option = fmt::format("--{}", row.option);
    const std::string description = fmt::format("fix {}: {}", row.meaning, row.values_text());
    if (row.first_number) {
      choices.push_back(add_whole_number(command, option, options.numbers[at], *row.first_number,
                                         *row.first_number + row.last, description));
    } else {
      choices.push_back(command.add_option(option, options.names[at], description).words([&row] {
        const std::vector<std::string_view> names = row.names();
        return std::vector<std::string>(names.begin(), names.end());
      }));
    }
  }
  const auto plan =
      command
          .add_option_function(
              "--plan",
              [&options](const std::string& text) {
                std::error_code ignored;
                // A text that is not the name of a file, and does not look like one, is a plan, or a plan with an error.
                const std::string word = lower_case(text);
                const bool may_be_file = text.find('/') != std::string::npos || text.find('.') != std::string::npos;
                const bool is_word =
                    !std::filesystem::exists(text, ignored) && !text.empty() && (is_plan_word(word) || !may_be_file);
                (is_word ? options.plan_word : options.plan_file) = is_word ? word : text;
              },
              "predict this plan instead of searching: 'dp32·tp2 z1 m4' (see 'help notation'), or a JSON report")
          .file()
          .type_name("PLAN");
  const auto strategy =
      command
          .add_option("--strategy,--strategies", options.strategy,
                      "search only these strategies, separated by commas: data,data+filter,…; with --degrees, the strategy "
                      "of the plan",
                      "NAMES")
          .words(strategy_words);
  const auto degrees =
      command.add_option("--degrees", options.degrees, "parallelism degrees: data=64,spatial=2x2", "DEGREES");
  const auto layers =
      command
          .add_option("--layers", options.layers,
                      "degrees of some layers, by their names or operations: 'fc*: filter=32', or 'recompute', 'keep', "
                      "'zero=2'; repeatable",
                      "LAYERS")
          .one_value_each();
  // Options that the plan file already determines are refused, because they would be ignored.
  for (const Option& said : {placement, micro_batches, strategy, degrees, layers}) plan.excludes(said);
  for (const Option said : choices) plan.excludes(said);
  return {plan, strategy, degrees};
}

ChosenOfPlan chosen_of(const PlanOptions& options) {
  ChosenOfPlan all;
  for (const PlanChoiceRow& row : plan_choices()) {
    const auto at = static_cast<std::size_t>(row.choice);
    if (options.numbers[at]) all[row.choice] = static_cast<int>(*options.numbers[at]) - row.first_number.value_or(0);
    if (options.names[at].empty()) continue;
    if (row.choice == PlanChoice::schedule && options.names[at].starts_with("interleaved")) {
      throw Error(fmt::format("--schedule does not support {}", quote(options.names[at])),
                  "interleaved 1F1B is --schedule 1f1b with --virtual-stages 2 or more");
    }
    const auto parse = [&](const std::string& text) { return row.parse(text); };
    all[row.choice] = chosen(fmt::format("--{}", row.option), options.names[at], parse, row.names());
  }
  const int blocks = all[PlanChoice::recompute_blocks].value_or(0);
  const std::optional<int>& recompute = all[PlanChoice::recompute];
  if (blocks > 0 && recompute && *recompute != static_cast<int>(Recompute::full)) {
    throw Error(fmt::format("--recompute-blocks {} needs --recompute full, not --recompute {}", blocks,
                            row_of(PlanChoice::recompute).name(*recompute)),
                "leave one of them out");
  }
  const std::optional<int>& modules = all[PlanChoice::recompute_modules];
  if (modules && recompute && *recompute != static_cast<int>(Recompute::selective)) {
    throw Error(
        fmt::format("--recompute-modules {} needs --recompute selective, not --recompute {}",
                    row_of(PlanChoice::recompute_modules).name(*modules), row_of(PlanChoice::recompute).name(*recompute)),
        "leave one of them out");
  }
  const int second = all[PlanChoice::secondary_shards].value_or(0);
  const std::optional<int>& zero = all[PlanChoice::zero];
  if (second > 1 && zero && *zero != 3) {
    throw Error(fmt::format("--secondary-shards {} needs --zero 3, not --zero {}", second, *zero), "leave one of them out");
  }
  choose_what_follows(all);
  return all;
}

std::vector<NamedFamily> families_asked(const PlanOptions& options, bool ideal) {
  std::vector<NamedFamily> families = parse_families(options.strategy);
  const bool says_zero = chosen_of(options)[PlanChoice::zero].has_value();
  for (NamedFamily& each : families) {
    // --zero overrides the ZeRO stage that a strategy's name implies.
    if (says_zero) each.zero_stage.reset();
    if (ideal) refuse_sharding_in_ideal(each.zero_stage.value_or(0));
  }
  if (options.gpus == 1) families.clear();
  return families;
}

std::int64_t usual_batch_per_gpu(const Model& model) {
  constexpr std::int64_t usual = 32, usual_tokens = 16'384;
  // Assumed: a batch has few samples of large images or videos. The limit is about the FLOPs of 16,384 tokens in a model
  // with 30 billion weights.
  constexpr double most_forward = 1e15;
  if (model.usual_batch) return *model.usual_batch;
  std::int64_t batch = usual;
  const double flops = model.input.sequence ? 0 : model.flops_forward();
  while (batch > 1 && static_cast<double>(batch) * flops > most_forward) batch /= 2;
  while (batch > 1 && model.input.sequence && batch * model.input.positions() > usual_tokens) batch /= 2;
  return batch;
}

std::int64_t global_batch_of(const PlanOptions& options, std::int64_t gpus, const Study& study) {
  if (options.global_batch) return *options.global_batch;
  if (options.batch_per_gpu) return *options.batch_per_gpu * gpus;
  std::int64_t batch = usual_batch_per_gpu(study.model()) * gpus;
  while (batch > 1 && static_cast<double>(batch) > study.job().samples_per_epoch) batch /= 2;
  return batch;
}

void refuse_contradiction(const Estimate& estimate, const Model& model, const PlanOptions& options) {
  for (const Limit& limit : estimate.limits) {
    if (limit.kind == Limit::Kind::memory) continue;
    std::string layouts;
    const Plan& plan = estimate.plan;
    for (const std::string& word : {segments_word(plan), recompute_segments_text(plan), zero_segments_text(plan)})
      layouts += (word.empty() ? "" : " ") + word;
    throw Error(fmt::format("the plan '{}{}' is not possible: {}", degrees_text(estimate.plan.mesh), layouts,
                            describe(limit, model)),
                fmt::format("leave {} out to see possible plans",
                            options.plan_file.empty() && options.plan_word.empty() ? "--degrees" : "--plan"));
  }
}

PlanStudy plan_study(const StudyOptions& study, const PlanOptions& options) {
  refuse_beyond_ideal(options, study.ideal);
  refuse_batch_with_file(options);
  PlanStudy asked;
  StudySpec spec = spec_of(study);
  if (!options.plan_file.empty()) {
    asked.file = read_plan(read_file(options.plan_file), options.plan_file);
    // A plan file may contain the precision and optimizer with which its memory and time were predicted.
    if (!spec.precision) spec.precision = asked.file->precision;
    if (!spec.optimizer) spec.optimizer = asked.file->optimizer;
  }
  asked.study = study_of(spec, study);
  if (!options.layers.empty() && !options.name_plan())
    throw Error("--layers needs the degrees of the other layers",
                "add for example --degrees data=64; recommend --per-layer searches for layouts of layers");
  if (asked.file) refuse_other_report(*asked.file, *asked.study, options.plan_file);
  if (options.gpus) refuse_more_than(asked.study->machine(), *options.gpus);
  if (options.name_plan()) {
    asked.plan = requested_plan(options, asked.file, *asked.study, study.ideal);
    asked.plan->precision = asked.study->precision();
    asked.plan->optimizer = asked.study->optimizer();
  }
  return asked;
}

std::vector<Default> plan_defaults(const Command& command, const StudyOptions& study_options, const PlanOptions& options,
                                   const PlanStudy& asked, std::int64_t global_batch) {
  const std::optional<PlanFile>& file = asked.file;
  std::vector<Default> defaults = defaults_of(command, study_options, *asked.study);
  std::erase_if(defaults, [&](const Default& each) {
    return file && ((each.option == "--precision" && file->precision) || (each.option == "--optimizer" && file->optimizer));
  });
  if (options.plan_file.empty() && command.count("--global-batch") == 0 && command.count("--batch-per-gpu") == 0) {
    const Model& model = asked.study->model();
    const std::int64_t each = usual_batch_per_gpu(model);
    const std::int64_t gpus = asked.plan ? asked.plan->mesh.devices() : *options.gpus;
    std::string why = fmt::format("global batch {}", with_thousands(global_batch));
    if (model.usual_batch) why += ", the model's default";
    if (!model.usual_batch && model.input.sequence)
      why = fmt::format("{} tokens; {}, {} tokens", with_thousands(each * model.input.positions()), why,
                        with_thousands(global_batch * model.input.positions()));
    if (global_batch < each * gpus) {
      why = fmt::format("{} per GPU would exceed the data set", each);
      defaults.push_back({"--global-batch", with_thousands(global_batch), why});
    } else {
      defaults.push_back({"--batch-per-gpu", std::to_string(each), why});
    }
  }
  if (asked.plan && options.plan_word.empty()) add_choices(defaults, *asked.plan, *asked.study, command, file);
  return defaults;
}

}  // namespace ddl
