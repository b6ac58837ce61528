#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "calibration/inputs/plan_degrees.hpp"
#include "calibration/network/fits/fitted_links.hpp"
#include "calibration/runs/time_errors_file.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/recommendation.hpp"
#include "cli/commands/top_ranked_plan.hpp"
#include "cli/documents/charts.hpp"
#include "cli/documents/check.hpp"
#include "cli/documents/comparison.hpp"
#include "cli/documents/configuration.hpp"
#include "cli/documents/energy.hpp"
#include "cli/documents/estimate.hpp"
#include "cli/documents/evidence.hpp"
#include "cli/documents/explanation.hpp"
#include "cli/documents/goodput.hpp"
#include "cli/documents/headline.hpp"
#include "cli/documents/intervals.hpp"
#include "cli/documents/measured_step.hpp"
#include "cli/documents/memory.hpp"
#include "cli/documents/memory_figures.hpp"
#include "cli/documents/memory_terms.hpp"
#include "cli/documents/out_of_core.hpp"
#include "cli/documents/ranking.hpp"
#include "cli/documents/throughput.hpp"
#include "cli/documents/what_if.hpp"
#include "cli/options/job_file.hpp"
#include "cli/options/option_value.hpp"
#include "cli/options/plan_options.hpp"
#include "cli/options/strategies.hpp"
#include "cli/options/train_tokens.hpp"
#include "cli/report/fields.hpp"
#include "cli/report/figures.hpp"
#include "cli/report/steps.hpp"
#include "cli/sentences/sentences.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"
#include "estimator/out_of_core/out_of_core.hpp"
#include "estimator/search/search.hpp"

namespace ddl {
namespace {

struct ExplainOptions {
  StudyOptions study;
  PlanOptions plan;
  Training training;
  std::string why_not, against, memory_timeline, like;
  std::vector<std::string> set_words;  ///< values of --set
  std::vector<std::string> what_if;    ///< values of --what-if
  bool memory = false, out_of_core = false;
  std::optional<std::int64_t> stage;  ///< value of --stage, 1-based
  std::optional<std::int64_t> row;    ///< value of --row, 1-based
  std::optional<Seconds> measured;    ///< value of --measured
};

/// The content of the report. The whole content is computed before the report is written.
struct ExplainAnswer {
  std::shared_ptr<Study> study;
  Explanation explanation;
  std::optional<PlanComparison> why_not, against;
  std::optional<MemoryTimeline> timeline;  ///< set with --memory-timeline
  std::optional<MemoryTerms> terms;        ///< set with --memory
  std::vector<StageFigures> stages;        ///< set with --memory
  std::optional<int> stage;                ///< 0-based; set with --stage
  std::string drawn;                       ///< the file with the drawing of --memory-timeline
  std::optional<OutOfCore> out_of_core;    ///< set with --out-of-core
  std::optional<Seconds> measured;         ///< the step that the user measured
  std::vector<Default> defaults;
  Training training;
  bool ideal = false;
  std::string folder{};                      ///< the folder of the report, to which paths of its job are relative
  std::optional<ConfiguredPlan> configured;  ///< the plan of the file that --like names
  std::vector<SupposedOutcome> what_if{};
};

bool is_plan_file(const std::string& text) { return text.ends_with(".json") || text.find('/') != std::string::npos; }

/// Returns the explained plan with other degrees. Micro-batches are reduced if a replica would have fewer samples than
/// micro-batches.
Plan with_degrees(const std::string& degrees, const std::string& option, const Plan& explained) {
  Plan plan = on_mesh(explained, {});
  plan.table_segments.clear();
  parse_degrees(degrees, plan, option);
  plan.micro_batches = std::clamp<std::int64_t>(plan.global_batch / plan.mesh.batch_parts(), 1, plan.micro_batches);
  return plan;
}

/// Returns the plan of a file. The precision and optimizer of the file must be those of the explained plan.
Plan plan_of_file(const std::string& path, const std::string& option, const Plan& explained) {
  PlanFile file = read_plan(read_file(path), path);
  const auto refuse = [&](std::string_view theirs, std::string_view ours) {
    throw Error(
        fmt::format("the plan in {} is for {}, but the explained plan is for {}", quote_path(path), theirs, ours),
        fmt::format("compare plans with the same precision and optimizer, or remove both from the file of {}", option));
  };
  if (file.precision && *file.precision != explained.precision)
    refuse(to_string(*file.precision), to_string(explained.precision));
  if (file.optimizer && *file.optimizer != explained.optimizer)
    refuse(to_string(*file.optimizer), to_string(explained.optimizer));
  file.plan.precision = explained.precision;
  file.plan.optimizer = explained.optimizer;
  return file.plan;
}

PlanComparison compared_with(const std::string& option, const std::string& text, const ExplainAnswer& answer,
                             const Estimator& estimator) {
  const Plan& explained = answer.explanation.estimate.plan;
  PlanComparison pair;
  pair.asked = text;
  std::optional<NamedFamily> family;
  std::optional<Plan> plan;
  std::string none;  // the reason why there is no plan
  if (is_plan_file(text)) {
    plan = plan_of_file(text, option, explained);
  } else if (text.find('=') == std::string::npos && is_plan_word(text)) {
    plan = parse_plan_word(text);
    plan->global_batch = explained.global_batch;
    plan->precision = explained.precision;
    plan->optimizer = explained.optimizer;
  } else if (text.find('=') != std::string::npos) {
    plan = with_degrees(text, option, explained);
    if (answer.ideal) refuse_sharding_in_ideal(plan->zero_stage);
  } else {
    if (text != "best") family = parse_named_family(text);
    if (answer.ideal && family) refuse_sharding_in_ideal(family->zero_stage.value_or(0));
    SearchOptions search_options;
    search_options.devices = explained.mesh.devices();
    search_options.global_batch = explained.global_batch;
    if (family) search_options.families = {*family};
    plan = best_plan(*answer.study, estimator, search_options, answer.ideal);
    if (!plan) none = family ? why_without_plans(explained.mesh.devices(), family->family) : std::string("has no plan");
  }
  const std::string beginning = option == "--why-not" ? "Why not" : "Against";
  if (!plan) {
    pair.explained_name = family_name(explained.mesh.family());
    pair.other_name = family ? family_name(family->family) : text;
    pair.heading = fmt::format("{} {}", beginning, pair.other_name);
    // A reason such as `needs at least 4 devices` gets `it` as its subject. A reason that begins
    // with a number has its own subject.
    const char* it = none.empty() || (none.front() >= '0' && none.front() <= '9') ? "" : "it ";
    pair.sentence =
        fmt::format("{} cannot run on {}: {}{}", pair.other_name, count_text(explained.mesh.devices(), "device"), it, none);
    return pair;
  }
  pair.explained_name = name_against(explained, *plan);
  pair.other_name = name_against(*plan, explained);
  if (pair.explained_name == pair.other_name && !(*plan == explained)) {
    pair.explained_name = plan_word(explained);
    pair.other_name = plan_word(*plan);
    if (pair.explained_name == pair.other_name) {
      pair.explained_name = "the explained plan";
      pair.other_name = "the other plan";
    }
  }
  pair.heading = fmt::format("{} {}", beginning, family_name(plan->mesh.family()));
  pair.other = explain(estimator, *plan);
  add_intervals(pair.other->estimate, *answer.study, estimator);
  const Model& model = answer.study->model();
  const Compared ours{pair.explained_name, answer.explanation.estimate, model};
  const Compared theirs{pair.other_name, pair.other->estimate, model};
  pair.comparison = compare(ours, theirs);
  pair.sentence = describe(pair.comparison, ours, theirs);
  return pair;
}

/// Returns the report as a document. `drawn`: add the drawings and sections that only an HTML page has.
Document document_of(const ExplainAnswer& answer, bool drawn = false) {
  const Study& study = *answer.study;
  const Estimate& estimate = answer.explanation.estimate;
  Document document;
  if (answer.configured) add_configured_plan(document, *answer.configured, nullptr, study);
  const std::int64_t batch = estimate.plan.global_batch;
  const Training training = shown_length(answer.training, study, batch);
  add_question(document, study, estimate.plan.mesh.devices(), batch);
  const bool is_changed = answer.explanation.has_time() && !answer.configured;
  const std::optional<WhatFits> changes = is_changed ? what_fits(Estimator(study.job()), estimate, study) : std::nullopt;
  std::vector<Card> more;
  if (const std::optional<Card> fitting = fitting_card(changes)) more.push_back(*fitting);
  if (const std::optional<Card> supposed = what_if_card(estimate, answer.what_if)) more.push_back(*supposed);
  if (answer.measured) more.push_back(measured_card(estimate, *answer.measured));
  for (const auto* pair : {&answer.why_not, &answer.against}) {
    if (!*pair) continue;
    more.push_back({"Compared", (*pair)->other_name});
    more.back().details.push_back((*pair)->sentence);
  }
  if (drawn) {
    Cards cards = answer_cards(estimate, study, training);
    std::ranges::move(more, std::back_inserter(cards.cards));
    document.add(Chart{"", "", std::move(cards)});
  } else {
    add_headline(document, estimate, study, training);
    for (const Card& each : more) add_card(document, each);
  }
  const bool measured = study.kernels().measured() != nullptr && answer.explanation.has_time();
  if (measured) document.line("of the kernel time: " + kernel_shares_text(answer.explanation), 2);
  if (answer.explanation.has_time()) {
    document.apart(plan_table(estimate, study, training));
    if (drawn) document.add(time_bars({estimate}));
    add_throughput(document, estimate, study, "throughput");
    add_explanation(document, answer.explanation, study);
    add_findings(document, estimate, study);
    if (changes) add_what_fits(document, *changes, study);
    add_what_if(document, estimate, answer.what_if);
    if (answer.measured) add_measured(document, estimate, *answer.measured, Estimator(study.job()));
    add_width(document, estimate, study.spec());
    add_evidence(document, alike_runs(study, estimate, bundled_time_errors_file().evidence));
  }
  if (answer.terms) add_memory_terms(document, *answer.terms, estimate.memory);
  if (!answer.stages.empty()) add_shown_figures(document, answer.stages, answer.stage);
  if (answer.timeline) add_timeline(document, *answer.timeline, study.model());
  if (answer.out_of_core) add_out_of_core(document, *answer.out_of_core, estimate, study);
  if (!answer.drawn.empty()) document.line(fmt::format("drawn in {}", answer.drawn));
  for (const auto* pair : {&answer.why_not, &answer.against}) {
    if (*pair) add_comparison(document, answer.explanation, **pair);
  }
  if (drawn)
    add_plan_figures(document, Estimator(study.job()), estimate.plan, study, {.phases = false, .memory_items = false});
  add_sources(document, study, estimate.plan.mesh.devices());
  add_defaults(document, answer.defaults);
  return document;
}

Json json_of(const ExplainAnswer& answer) {
  const Study& study = *answer.study;
  const Estimate& estimate = answer.explanation.estimate;
  Json json = json_head();
  if (answer.configured) json["like"] = configured_plan_to_json(*answer.configured, nullptr, study, answer.training);
  json["plan"] = estimate_to_json(estimate, 0, study, answer.training);  // rank 0, because no plan was ranked
  if (study.kernels().measured() != nullptr) {
    json["plan"]["kernel_time_share"] = kernel_shares_to_json(answer.explanation);
  }
  json["phases"] = phases_to_json(answer.explanation);
  const auto& congested = answer.explanation.congested;
  json["congested"] =
      congested ? Json{{"low_s", congested->low.value()}, {"high_s", congested->high.value()}} : Json(nullptr);
  json["layers"] = layers_to_json(answer.explanation, study);
  json["exchanges"] = json_list(answer.explanation.exchanges, exchange_to_json);
  const auto compared = [&](const std::optional<PlanComparison>& pair) {
    return pair ? comparison_to_json(answer.explanation, *pair, study, answer.training) : Json(nullptr);
  };
  json["communicators"] = communicators_to_json(answer.explanation.estimate, study);
  if (answer.terms) json["memory_terms"] = memory_terms_to_json(*answer.terms);
  if (!answer.stages.empty()) json["memory_by_stage"] = figures_to_json(answer.stages);
  if (answer.timeline) json["memory_timeline"] = timeline_to_json(*answer.timeline, study.model());
  if (answer.out_of_core) json["out_of_core"] = out_of_core_to_json(*answer.out_of_core, estimate, study);
  json["why_not"] = compared(answer.why_not);
  json["against"] = compared(answer.against);
  if (answer.measured) json["measured"] = measured_to_json(estimate, *answer.measured, Estimator(study.job()));
  if (!answer.what_if.empty()) json["what_if"] = what_if_to_json(estimate, answer.what_if);
  json["evidence"] = evidence_to_json(alike_runs(study, estimate, bundled_time_errors_file().evidence));
  json["inputs"] = inputs_to_json(study, answer.training);
  json["inputs"]["gpus"] = estimate.plan.mesh.devices();
  json["inputs"]["global_batch"] = estimate.plan.global_batch;
  json["inputs"]["ideal"] = answer.ideal;
  JobFile job = job_of(study, estimate.plan, answer.folder);
  if (study.spec().dataset.empty()) job.dataset.clear();  // costs of epochs are for data sets that the user names
  json["inputs"]["job"] = print_job(job);
  json["inputs"]["defaults"] = defaults_to_json(answer.defaults);
  return json;
}

/// Computes the memory timeline of the step. Draws the timeline if the user named a file for the drawing.
void draw_timeline(const ExplainOptions& options, ExplainAnswer& answer, const Estimator& estimator,
                   const std::string& output) {
  const Study& study = *answer.study;
  const Plan& plan = answer.explanation.estimate.plan;
  answer.timeline = memory_timeline(estimator, plan);
  if (!answer.timeline) {
    const Limits& limits = answer.explanation.estimate.limits;
    throw Error(fmt::format("the plan {} has no timeline of memory", quote(plan_word(plan))),
                options.study.ideal        ? "the closed forms of --ideal give only totals"
                : plan.offload_activations ? "the model of the allocator does not include activations on the host"
                : !limits.empty()          ? describe(limits, study.model())
                                           : "the plan cannot be predicted");
  }
  const Estimate& estimate = answer.explanation.estimate;
  if (options.memory)
    answer.terms = memory_terms(estimate, parameter_counts(estimator.stage(plan, estimate.critical.memory)), study);
  if (options.memory && !study.machine().device.is_processor) answer.stages = figures_by_stage(estimator, plan);
  if (options.stage) {
    const int stages = plan.mesh[Axis::pipeline];
    if (*options.stage > stages) {
      throw Error(fmt::format("--stage {}: the plan has {}", *options.stage, count_text(stages, "stage")),
                  "stages are counted from 1; without a pipeline, there is one");
    }
    answer.stage = static_cast<int>(*options.stage) - 1;
  }
  if (options.memory_timeline.empty()) return;
  if (!options.memory_timeline.ends_with(".svg")) {
    throw Error(fmt::format("--memory-timeline {} does not end in '.svg'", quote(options.memory_timeline)),
                "use --memory-timeline step.svg");
  }
  if (is_file(output) && output == options.memory_timeline) {
    throw Error(fmt::format("--memory-timeline and --output both name {}", quote_path(output)), "use two different names");
  }
  const std::string title = fmt::format("{}: {}, {}", study.model().name, plan_word(plan),
                                        fullest_rank_text(plan, answer.explanation.estimate.critical.memory));
  write_output(options.memory_timeline, draw_memory(*answer.timeline, study.model(), title, study.device_memory()),
               "--memory-timeline");
  answer.drawn = options.memory_timeline;
}

/// Returns the explained plan out of core: with activations offloaded to the host, or recomputed.
OutOfCore taken_out_of_core(const ExplainAnswer& answer) {
  const Study& study = *answer.study;
  const Estimate& estimate = answer.explanation.estimate;
  if (!answer.explanation.has_time() || !may_be_out_of_core(estimate.plan, study.assumptions())) {
    const char* hint = answer.ideal ? "the closed forms of --ideal give only totals"
                                    : "use --out-of-core for plans without a pipeline, --recompute and "
                                      "--offload-activations";
    throw Error("--out-of-core needs a plan without pipeline, recompute or offload", hint);
  }
  return out_of_core(study.job(), estimate.plan, estimate.memory);
}

/// Estimates the plan again for each case of --what-if.
void suppose(const ExplainOptions& options, ExplainAnswer& answer, const Plan& plan) {
  for (const std::string& text : options.what_if) {
    StudyOptions changed = options.study;
    changed.supposed = parse_what_if(text);
    const std::shared_ptr<Study> study = study_of(spec_of(changed), changed);
    answer.what_if.push_back(supposed_outcome(text, plan, *study, Estimator(study->job())));
  }
}

/// Takes the step that the user measured. Throws Error if the plan has no predicted step.
void take_measured(const ExplainOptions& options, ExplainAnswer& answer) {
  if (options.measured && !answer.explanation.has_time())
    throw Error("--measured needs a plan that can be predicted", "leave --measured out to see the reasons");
  answer.measured = options.measured;
}

/// Throws the reason why `explain` has no plan.
[[noreturn]] void refuse_without_plan(const StudyOptions& study) {
  if (studies_named(study).size() > 1)
    throw Error("explain takes one model and one machine, but there are several",
                "only 'recommend' compares several; name one model and one machine");
  throw Error("no plan is given",
              "use --gpus 64 for the best plan, --gpus 64 --row 5 for row 5 of the ranking, --plan 'dp32·tp2 z1' for a "
              "given plan, --plan FILE or --like FILE");
}

Report explain(const ExplainOptions& asked_options, const Command& command, const ReportOptions& report_options) {
  ExplainOptions options = asked_options;
  std::optional<Configuration> configuration;
  std::vector<std::string> said;
  if (!options.like.empty()) {
    configuration = read_configuration(options.like, script_values_in(options.set_words));
    ConfiguredOptions like = options_of(*configuration, options.study, options.plan,
                                        [&](const std::string& option) { return command.count(option) > 0; });
    options.study = std::move(like.study);
    options.plan = std::move(like.own);
    said = std::move(like.said);
    configuration->warnings.insert(configuration->warnings.end(), like.warnings.begin(), like.warnings.end());
  }
  if (report_options.format == "csv" && !(options.why_not.empty() && options.against.empty())) {
    throw Error(fmt::format("--format csv contains only the layers of one plan, not {}",
                            options.why_not.empty() ? "--against" : "--why-not"),
                "use --format json, or leave one of them out");
  }
  // With --out-of-core, the number of micro-batches keeps its default of one.
  if (options.out_of_core && options.plan.plan_file.empty() && !options.plan.micro_batches) options.plan.micro_batches = 1;
  const bool is_searched = options.row || leave_degrees_open(options.plan);
  if (!is_searched && !options.plan.name_plan()) refuse_without_plan(options.study);
  if (options.like.empty()) said = take_from_plan(options.study, options.plan, command);
  auto answer = std::make_shared<ExplainAnswer>();
  PlanStudy asked = options.row   ? plan_of_row(*options.row, options.study, options.plan, options.training)
                    : is_searched ? top_ranked_plan(options.study, options.plan)
                                  : plan_study(options.study, options.plan);
  answer->study = asked.study;
  refuse_without_tokens(options.training, answer->study->model());
  refuse_unknown_epoch(options.training, *answer->study);
  answer->training = options.training;
  settle_target(answer->training, answer->study->model());
  refuse_useless_recovery(*answer->study, answer->training);
  refuse_unpublished_batch(answer->training, asked.plan->global_batch);
  answer->ideal = options.study.ideal;
  answer->folder = report_folder(report_options.output);
  const Estimator estimator(answer->study->job());
  answer->explanation = explain(estimator, *asked.plan);
  take_measured(options, *answer);
  if (wants_energy(*answer->study)) answer->explanation.estimate.power = power_of(answer->study->job(), answer->explanation);
  add_intervals(answer->explanation.estimate, *answer->study, estimator);
  if (configuration) {
    answer->configured =
        ConfiguredPlan{.configuration = *std::move(configuration), .estimate = answer->explanation.estimate};
    refuse_impossible(*answer->configured, answer->study->model());
  }
  if (!options.why_not.empty()) answer->why_not = compared_with("--why-not", options.why_not, *answer, estimator);
  if (!options.against.empty()) answer->against = compared_with("--against", options.against, *answer, estimator);
  if (options.memory || !options.memory_timeline.empty()) draw_timeline(options, *answer, estimator, report_options.output);
  if (options.out_of_core) answer->out_of_core = taken_out_of_core(*answer);
  suppose(options, *answer, *asked.plan);
  const std::int64_t global_batch = asked.plan->global_batch;
  if (is_searched) asked.plan.reset();  // choices that a search made are not listed as defaults
  answer->defaults = plan_defaults(command, options.study, options.plan, asked, global_batch);
  remove_said(answer->defaults, said);
  Report report;
  report.warnings = answer->study->warnings();
  const Plan& plan = answer->explanation.estimate.plan;
  report.warn(without_effect_on(plan_word(plan), options_without_effect(options.plan, *answer->study, plan)));
  if (answer->configured) report.warn(answer->configured->configuration.warnings);
  for (std::string& outside :
       outside_of_measured(answer->study->coefficients(), answer->study->machine(), answer->explanation)) {
    report.warnings.push_back(std::move(outside));
  }
  report.document = document_of(*answer);
  report.page = [answer] { return document_of(*answer, true); };
  report.json = [answer] { return json_of(*answer); };
  report.steps = [answer] {
    const Estimator again(answer->study->job());
    return std::vector{named_step(again, answer->explanation.estimate.plan)};
  };
  report.rows = [answer] { return layer_rows(answer->explanation, *answer->study); };
  const bool fits_out_of_core = answer->out_of_core && answer->out_of_core->verdict() != Verdict::does_not_fit;
  if (!answer->explanation.estimate.feasible() && !fits_out_of_core) report.status = ExitStatus::nothing_fits;
  return report;
}

}  // namespace

void add_explain(const Command& program, Request& request) {
  const Command command =
      program.add_subcommand("explain", "explain one plan by layer and phase, and compare it with others");
  auto options = std::make_shared<ExplainOptions>();
  add_study_options(command, options->study);
  const PlanOptionHandles handles = add_plan_options(command, options->plan);
  handles.plan.description("explain this plan: 'dp32·tp2 z1 m4' (see 'help notation'), or the plan of a JSON report");
  handles.strategy.description(
      "explain the best plan of these strategies, separated by commas; with --degrees, the strategy of the plan");
  const auto like = command.add_option("--like", options->like, like_help).file();
  handles.plan.excludes(like);
  handles.strategy.excludes(like);
  handles.degrees.excludes(like);
  add_set_option(command, options->set_words).needs(like);
  const auto row = add_whole_number(command, "--row", options->row, 1, most_rows,
                                    "explain the plan in this row of the default table of 'recommend' for the same options");
  for (const Option& other : {handles.plan, handles.strategy, handles.degrees, like}) row.excludes(other);
  add_training_options(command, options->training);
  add_price_option(command, options->study.prices);
  add_what_if_option(command, options->what_if).excludes(command.get_option("--ideal"));
  command.examples(
      {{"ddl-oracle explain resnet50 --machine a100 --strategy data --gpus 64", "one plan, layer by layer"},
       {"ddl-oracle explain resnet50 --degrees data=64 --why-not data+tensor",
        "why this plan and not the best one of another strategy"},
       {"ddl-oracle explain llama3-8b --machine h100 --gpus 64 --memory", "the memory of the best plan by item, and why"}});
  command.add_option("--why-not", options->why_not,
                     "compare with the best plan of this strategy on the same number of GPUs, with the 'best' of all, or "
                     "with another plan: 'dp32·tp2 z1'",
                     "PLAN");
  command.add_option("--against", options->against,
                     "compare with another plan: 'dp32·tp2 z1' (see 'help notation'), or a JSON report; degrees alone "
                     "(data=64,spatial=1x2x2) keep the other choices",
                     "PLAN");
  add_measured_step(command, options->measured);
  const Option memory = command.add_switch(
      "--memory", options->memory, "list the contents of memory at the peak of a step, with the source of each number");
  add_whole_number(
      command, "--stage", options->stage, 1, 1'000'000,
      "pipeline stage whose figures of memory tools (nvidia-smi, torch) are listed, counted from 1; default: all")
      .needs(memory);
  command
      .add_option("--memory-timeline", options->memory_timeline, "draw the memory over a step into a file that ends in .svg")
      .file();
  command.add_switch(
      "--out-of-core", options->out_of_core,
      "make the plan fit: each group of layers keeps its activations, offloads them to the host, or recomputes them");
  add_report_options(command, request.report, {Content::rows, Content::steps});
  request.on_choice(command, [options, command, &request] {
    settle_counts(options->study, options->plan, !options->like.empty());
    Report report = explain(*options, command, request.report);
    report.next.push_back(request.command + (options->why_not.empty() ? " --why-not best" : " --format html -o plan.html"));
    return report;
  });
}

}  // namespace ddl
