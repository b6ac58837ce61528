#include "cli/documents/configuration.hpp"

#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/documents/intervals.hpp"
#include "cli/documents/memory.hpp"
#include "cli/documents/ranking.hpp"
#include "cli/documents/throughput.hpp"
#include "cli/options/plan_file.hpp"
#include "cli/options/plan_options.hpp"
#include "cli/report/fields.hpp"
#include "cli/sentences/sentences.hpp"
#include "core/error.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

/// Returns how much faster the best plan is than the configuration's plan: 0.23 for 23 %; negative
/// if the best plan is slower.
double faster_by(const Estimate& own, const Estimate& best) { return own.time.step_time() / best.time.step_time() - 1; }

std::string comparison_text(const ConfiguredPlan& plan, const Estimate& best) {
  const double share = faster_by(plan.estimate, best);
  constexpr double least = 0.005;  // a smaller share rounds to 0 %
  if (best.plan == plan.estimate.plan || std::abs(share) < least)
    return plan.estimate.verdict == Verdict::fits || best.plan == plan.estimate.plan ? "the search found no faster plan"
                                                                                     : "the best plan that fits is as fast";
  const std::string name = plan_word(best.plan);
  const char* fits = plan.estimate.verdict == Verdict::fits ? "" : "fits and ";
  if (!is_better(best, plan.estimate)) return "the search found no faster plan";
  if (share > 0) return fmt::format("the best plan found {}is {:.0f} % faster: {}", fits, 100 * share, name);
  return fmt::format("the best plan found {}is {:.0f} % slower: {}", fits, -100 * share, name);
}

std::string setting_text(const ConfigEntry& setting) {
  return fmt::format("{} ({})",
                     setting.value.empty() ? setting.shown_key() : setting.shown_key() + " " + visible(setting.value),
                     line_text(setting.place()));
}

/// Returns the line of a change. The file is left out if it is the one that the heading names.
std::string line_in(const std::string& file, const std::optional<Place>& place) {
  return place && place->file == file ? fmt::format("{}", place->line) : line_text(place);
}

std::string or_none(const std::string& value) { return value.empty() ? "-" : visible(value); }

}  // namespace

bool is_better(const Estimate& best, const Estimate& own) {
  if (best.verdict != own.verdict) return best.verdict < own.verdict;
  return best.plan != own.plan && faster_by(own, best) > 0;
}

ConfigurationChanges changes_to(const Estimate& best, const ConfiguredPlan& configured, std::int64_t layers,
                                const StudyOptions& study, const PlanOptions& plan_options, const IsGiven& is_given) {
  const Estimate& own = configured.estimate;
  if (!is_better(best, own)) return {};
  const auto read_again = [&](const Configuration& changed) -> std::optional<Plan> {
    try {
      const ConfiguredOptions again = options_of(changed, study, plan_options, is_given);
      std::optional<Plan> plan = plan_study(again.study, again.own).plan;
      if (plan) plan->placement = best.plan.placement;
      return plan;
    } catch (const Error&) {  // the tool refuses the arguments
      return std::nullopt;
    }
  };
  ConfigurationChanges changes = changes_of(configured.configuration, own.plan, best.plan, layers, false);
  std::optional<Plan> plan = read_again(changes.changed);
  if (plan && plan->global_batch != best.plan.global_batch) {
    changes = changes_of(configured.configuration, own.plan, best.plan, layers, true);
    plan = read_again(changes.changed);
  }
  if (plan != best.plan) changes.arguments.clear();
  return changes;
}

void refuse_impossible(const ConfiguredPlan& plan, const Model& model) {
  using Kind = Limit::Kind;
  for (const Limit& limit : plan.estimate.limits) {
    if (limit.kind == Kind::memory) continue;
    const std::string message =
        fmt::format("the plan '{}' is not possible: {}", degrees_text(plan.estimate.plan.mesh), describe(limit, model));
    const std::string hint = "'recommend' without --like finds a possible one";
    const Configuration& read = plan.configuration;
    switch (limit.kind) {
      case Kind::batch:
        read.fail({ConfigField::global_batch, ConfigField::micro_batch, ConfigField::accumulation}, message, hint);
      case Kind::context:
        read.fail({ConfigField::context, ConfigField::sequence}, message, hint);
      case Kind::heads:
        read.fail({ConfigField::context, ConfigField::tensor, ConfigField::heads}, message, hint);
      case Kind::experts:
        read.fail({ConfigField::expert, ConfigField::experts}, message, hint);
      case Kind::stages:
        read.fail({ConfigField::pipeline, ConfigField::layers}, message, hint);
      case Kind::stage_blocks:
        read.fail({PlanChoice::first_stage_blocks, PlanChoice::last_stage_blocks, ConfigField::stage_layout,
                   ConfigField::pipeline},
                  message, hint);
      case Kind::tokens:
        read.fail({PlanChoice::sequence_parallel, ConfigField::tensor}, message, hint);
      case Kind::virtual_stages:
      case Kind::interleaving:
      case Kind::not_interleaved:
        read.fail({PlanChoice::virtual_stages, ConfigField::layers_per_virtual_stage, ConfigField::pipeline}, message, hint);
      case Kind::schedule:
      case Kind::filled_bubbles:
        read.fail({PlanChoice::schedule, ConfigField::pipeline}, message, hint);
      case Kind::shard_group:
        read.fail({PlanChoice::shard_group, ConfigField::data_shard, ConfigField::shards_nodes}, message, hint);
      case Kind::secondary_shards:
        read.fail({PlanChoice::secondary_shards, PlanChoice::zero}, message, hint);
      default:
        read.fail({ConfigField::tensor, ConfigField::pipeline, ConfigField::context}, message, hint);
    }
  }
}

void add_not_modeled(Document& document, const Configuration& configuration) {
  if (configuration.not_modeled.empty()) return;
  std::string text;
  for (const ConfigEntry& setting : configuration.not_modeled) text += (text.empty() ? "" : ", ") + setting_text(setting);
  document.paragraph("not modeled: " + text, 0, 2);
}

void add_configured_plan(Document& document, const ConfiguredPlan& plan, const Estimate* best, const Study& study) {
  const Configuration& read = plan.configuration;
  const Estimate& own = plan.estimate;
  const auto throughput = throughput_of(study.job(), sample_flops(study.job()), own);
  const std::string time =
      fmt::format("{}{} per step", humanize(own.time.step_time()), interval_behind(own.time.step_time(), own.interval));
  document.line(read.file, fmt::format(" ({}): {}, {}", read.format->name,
                                       time + (throughput ? ", " + throughput_in_short(*throughput) : std::string()),
                                       memory_text(own.memory, own.verdict, study)));
  document.line("its plan: " + plan_word(own.plan), 2);
  if (best != nullptr) document.line(comparison_text(plan, *best), 2);
  add_not_modeled(document, read);
  if (best != nullptr && !plan.changes.arguments.empty()) {
    document.section(fmt::format("What the best plan changes in {}", read.file));
    Table table({words("argument"), words("line"), words("now"), words("then")});
    for (const ConfigurationChange& change : plan.changes.arguments)
      table.add({visible(change.argument), line_in(read.file, change.place), or_none(change.now), or_none(change.then)});
    document.add(std::move(table));
  } else if (best != nullptr && is_better(*best, own)) {
    document.line(
        plan.changes.unsaid.empty()
            ? fmt::format("the arguments of {} cannot express the best plan", read.format->name)
            : fmt::format("{} has no argument that sets: {}", read.format->name, fmt::join(plan.changes.unsaid, ", ")),
        2);
  }
  document.section();
}

Json configured_plan_to_json(const ConfiguredPlan& plan, const Estimate* best, const Study& study,
                             const Training& training) {
  const auto place_of = [](const std::optional<Place>& place) {
    return place ? Json{{"file", place->file}, {"line", place->line}, {"column", place->column}} : Json(nullptr);
  };
  Json json;
  json["file"] = plan.configuration.file;
  json["format"] = plan.configuration.format->name;
  json["plan"] = estimate_to_json(plan.estimate, 0, study, training);
  json["faster_by"] = best != nullptr ? Json(faster_by(plan.estimate, *best)) : Json(nullptr);
  json["changes"] = Json::array();
  for (const ConfigurationChange& change : plan.changes.arguments) {
    json["changes"].push_back(
        {{"argument", change.argument}, {"now", change.now}, {"then", change.then}, {"place", place_of(change.place)}});
  }
  json["without_argument"] = plan.changes.unsaid;
  json["not_modeled"] = Json::array();
  for (const ConfigEntry& setting : plan.configuration.not_modeled)
    json["not_modeled"].push_back(
        {{"argument", setting.shown_key()}, {"value", setting.value}, {"place", place_of(setting.place())}});
  return json;
}

}  // namespace ddl
