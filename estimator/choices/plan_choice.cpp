#include "estimator/choices/plan_choice.hpp"

#include <algorithm>

#include "estimator/facts/model_facts.hpp"
#include "estimator/schedules/schedule.hpp"
#include "estimator/strategies/context.hpp"
#include "estimator/strategies/embedding_tables.hpp"
#include "estimator/strategies/expert.hpp"
#include "estimator/strategies/pipeline.hpp"
#include "estimator/strategies/tensor.hpp"

namespace ddl {
namespace {

constexpr std::array<std::string_view, 4> zero_names{"0", "1", "2", "3"};

/// Returns the numbers from 1 to `most_virtual_stages` as text.
const std::array<std::string, most_virtual_stages>& counts() {
  static const std::array<std::string, most_virtual_stages> names = [] {
    std::array<std::string, most_virtual_stages> made;
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = std::to_string(i + 1);
    return made;
  }();
  return names;
}

/// Returns the numbers from 0 to the largest size of a shard group or number of recomputed blocks, as text.
const std::vector<std::string>& sizes() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> made;
    for (int i = 0; i <= std::max(most_shard_group, most_recompute_blocks); ++i) made.push_back(std::to_string(i));
    return made;
  }();
  return names;
}

/// Returns the name of the set of modules with the number `value` (RecomputeModules::numbered).
std::string_view modules_name(int value) {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> made;
    for (int i = 0; i <= RecomputeModules::last_number; ++i) made.push_back(to_string(RecomputeModules::numbered(i)));
    return made;
  }();
  return names[static_cast<std::size_t>(value)];
}

std::string_view size_name(int value) { return sizes()[static_cast<std::size_t>(value)]; }
std::string_view virtual_stages_name(int value) { return counts()[static_cast<std::size_t>(value)]; }
std::string_view flag_name(int value) { return value == 0 ? "no" : "yes"; }
std::string_view negated_flag_name(int value) { return value == 0 ? "yes" : "no"; }
std::string_view offload_name(int value) { return to_string(static_cast<Offload>(value)); }
std::string_view schedule_name(int value) { return to_string(static_cast<Schedule>(value)); }
std::string_view zero_name(int value) { return zero_names[static_cast<std::size_t>(value)]; }
std::string_view context_exchange_name(int value) { return to_string(static_cast<ContextExchange>(value)); }
std::string_view recompute_name(int value) { return to_string(static_cast<Recompute>(value)); }

const std::array<PlanChoiceRow, plan_choice_count>& table() {
  static const std::array<PlanChoiceRow, plan_choice_count> rows{{
      // With GPipe, a stage keeps the activations of all micro-batches. With 1F1B, a stage keeps one micro-batch for itself
      // and one for each later stage [Nar21, section 2.2]. With the other schedules, a stage keeps as many micro-batches as
      // the pipeline has stages, or one more.
      {.choice = PlanChoice::schedule,
       .key = "schedule",
       .option = "schedule",
       .meaning = "the pipeline schedule",
       .noun = "schedule",
       .software_key = "schedules",
       .last = static_cast<int>(all_schedules().size()) - 1,
       .trade = Trade::first_is_smallest,
       .never_better = static_cast<int>(Schedule::gpipe),
       .separator = " ",
       .name = schedule_name,
       .words = [](int value) { return std::string(schedule_name(value)); },
       .sign = [](int value) { return value == 0 ? std::string() : std::string(schedule_name(value)); },
       .matters = [](const Mesh& mesh) { return mesh[Axis::pipeline] > 1; },
       .possible = [](const ModelFacts& facts, const Plan& plan,
                      int value) { return may_schedule(facts, plan, static_cast<Schedule>(value)); },
       .get = [](const Plan& plan) { return static_cast<int>(plan.schedule); },
       .set = [](Plan& plan, int value) { plan.schedule = static_cast<Schedule>(value); }},
      {.choice = PlanChoice::virtual_stages,
       .key = "virtual_stages",
       .option = "virtual-stages",
       .meaning = "the number of virtual stages (model chunks) per pipeline stage",
       .noun = "number of virtual stages",
       .software_key = "virtual_stages",
       .is_software_flag = true,
       .last = most_virtual_stages - 1,
       .first_number = 1,
       .trade = Trade::first_is_smallest,
       .beyond_ideal = "interleaved stages",
       .separator = " ",
       .name = virtual_stages_name,
       .words = [](int value) { return value == 0 ? std::string() : "vp" + std::to_string(value + 1); },
       .sign = [](int value) { return value == 0 ? std::string() : "v" + std::to_string(value + 1); },
       .legend = [](int) { return std::string_view("v virtual stages"); },
       .matters = [](const Mesh& mesh) { return mesh[Axis::pipeline] > 1; },
       .possible = [](const ModelFacts& facts, const Plan& plan,
                      int value) { return value == 0 || may_interleave(facts, plan, value + 1); },
       .get = [](const Plan& plan) { return plan.virtual_stages - 1; },
       .set = [](Plan& plan, int value) { plan.virtual_stages = value + 1; }},
      {.choice = PlanChoice::first_stage_blocks,
       .key = "first_stage_blocks",
       .option = "first-stage-blocks",
       .meaning = "the number of blocks of the first pipeline stage; 0 leaves the number to the software",
       .noun = "number of blocks of the first stage",
       .last = most_stage_blocks,
       .first_number = 0,
       .is_searched = false,
       .divides_layers = true,
       .beyond_ideal = "pipeline stages of given blocks",
       .name = size_name,
       .words = [](int value) { return value == 0 ? std::string() : std::to_string(value) + " blocks on the first stage"; },
       .sign = [](int value) { return value == 0 ? std::string() : "first" + std::to_string(value); },
       .legend = [](int) { return std::string_view("first blocks of the first stage"); },
       .matters = [](const Mesh& mesh) { return mesh[Axis::pipeline] > 1; },
       .possible =
           [](const ModelFacts& facts, const Plan& plan, int value) {
             Plan own = plan;
             own.first_stage_blocks = value;
             return value == 0 || !blocks_of_stages(facts, own).empty();
           },
       .get = [](const Plan& plan) { return plan.first_stage_blocks; },
       .set = [](Plan& plan, int value) { plan.first_stage_blocks = value; }},
      {.choice = PlanChoice::last_stage_blocks,
       .key = "last_stage_blocks",
       .option = "last-stage-blocks",
       .meaning = "the number of blocks of the last pipeline stage; 0 leaves the number to the software",
       .noun = "number of blocks of the last stage",
       .last = most_stage_blocks,
       .first_number = 0,
       .is_searched = false,
       .divides_layers = true,
       .beyond_ideal = "pipeline stages of given blocks",
       .name = size_name,
       .words = [](int value) { return value == 0 ? std::string() : std::to_string(value) + " blocks on the last stage"; },
       .sign = [](int value) { return value == 0 ? std::string() : "last" + std::to_string(value); },
       .legend = [](int) { return std::string_view("last blocks of the last stage"); },
       .matters = [](const Mesh& mesh) { return mesh[Axis::pipeline] > 1; },
       .possible =
           [](const ModelFacts& facts, const Plan& plan, int value) {
             Plan own = plan;
             own.last_stage_blocks = value;
             return value == 0 || !blocks_of_stages(facts, own).empty();
           },
       .get = [](const Plan& plan) { return plan.last_stage_blocks; },
       .set = [](Plan& plan, int value) { plan.last_stage_blocks = value; }},
      {.choice = PlanChoice::zero,
       .key = "zero_stage",
       .option = "zero",
       .meaning = "the ZeRO stage",
       .noun = "stage of ZeRO",
       .software_key = "zero_stages",
       .last = 3,
       .first_number = 0,
       .beyond_ideal = "sharding of the optimizer",
       .name = zero_name,
       .words = [](int value) { return value == 0 ? std::string() : "ZeRO-" + std::string(zero_name(value)); },
       .sign = [](int value) { return value == 0 ? std::string() : "z" + std::to_string(value); },
       .legend = [](int) { return std::string_view("z ZeRO stage"); },
       .matters = [](const Mesh& mesh) { return mesh.replicas() > 1; },
       .get = [](const Plan& plan) { return plan.zero_stage; },
       .set = [](Plan& plan, int value) { plan.zero_stage = value; }},
      // Frameworks support shard groups with ZeRO-3 [PyTorch, FullyShardedDataParallel,
      // HYBRID_SHARD; Zha22]. The user may set a shard group with the other ZeRO stages too.
      {.choice = PlanChoice::shard_group,
       .key = "shard_group",
       .option = "shard-group",
       .meaning = "the number of ranks among which ZeRO shards, with replicas between groups (HSDP); 0 is all",
       .noun = "size of a shard group",
       .software_key = "shard_groups",
       .is_software_flag = true,
       .last = most_shard_group,
       .first_number = 0,
       .trade = Trade::first_is_smallest,
       .beyond_ideal = "sharding of the optimizer",
       .name = size_name,
       .words = [](int value) { return value == 0 ? std::string() : "HSDP groups of " + std::to_string(value); },
       .sign = [](int value) { return value == 0 ? std::string() : "g" + std::to_string(value); },
       .legend = [](int) { return std::string_view("g shard group"); },
       .matters = [](const Mesh& mesh) { return mesh[Axis::data] > 1; },
       .possible =
           [](const ModelFacts&, const Plan& plan, int value) {
             return value == 0 || (plan.zero_stage == 3 && plan.secondary_shards <= 1 && value < plan.mesh[Axis::data] &&
                                   plan.mesh[Axis::data] % value == 0);
           },
       .counts = [](const Plan& plan) { return plan.zero_stage > 0; },
       .get = [](const Plan& plan) { return plan.shard_group; },
       .set = [](Plan& plan, int value) { plan.shard_group = value; }},
      {.choice = PlanChoice::reshard,
       .key = "reshard_after_forward",
       .option = "reshard-after-forward",
       .meaning = "whether ZeRO-3 reshards weights after forward and gathers them again for backward",
       .noun = "resharding after forward",
       .software_key = "reshard_after_forward",
       .last = 1,
       .is_searched = false,
       .trade = Trade::first_is_smallest,
       .beyond_ideal = "sharding of the optimizer",
       .name = negated_flag_name,
       .words = [](int value) { return value == 0 ? std::string() : std::string("weights kept after forward"); },
       .sign = [](int value) { return std::string(value == 0 ? "" : "kw"); },
       .matters = [](const Mesh& mesh) { return mesh.replicas() > 1; },
       .possible = [](const ModelFacts&, const Plan& plan, int value) { return value == 0 || plan.zero_stage == 3; },
       .get = [](const Plan& plan) { return plan.reshard ? 0 : 1; },
       .set = [](Plan& plan, int value) { plan.reshard = value == 0; }},
      // In DeepSpeed, the default size of a secondary shard group is one rank, which means no second copy.
      {.choice = PlanChoice::secondary_shards,
       .key = "secondary_shards",
       .option = "secondary-shards",
       .meaning = "the number of ranks of the secondary shards of ZeRO-3 (hpZ); 0 or 1 is none",
       .noun = "number of secondary shards",
       .software_key = "secondary_shards",
       .is_software_flag = true,
       .last = most_shard_group,
       .first_number = 0,
       .trade = Trade::first_is_smallest,
       .beyond_ideal = "sharding of the optimizer",
       .name = size_name,
       .words = [](int value) { return value <= 1 ? std::string() : "hpZ groups of " + std::to_string(value); },
       .sign = [](int value) { return value <= 1 ? std::string() : "hp" + std::to_string(value); },
       .legend = [](int) { return std::string_view("hp secondary shards"); },
       .matters = [](const Mesh& mesh) { return mesh[Axis::data] > 1; },
       .possible =
           [](const ModelFacts&, const Plan& plan, int value) {
             return value <= 1 || (plan.may_have_second_copy() && plan.mesh[Axis::data] % value == 0);
           },
       .counts = [](const Plan& plan) { return plan.zero_stage == 3; },
       .get = [](const Plan& plan) { return plan.secondary_shards; },
       .set = [](Plan& plan, int value) { plan.secondary_shards = value; }},
      {.choice = PlanChoice::recompute,
       .key = "recompute",
       .option = "recompute",
       .meaning = "recomputation",
       .noun = "recompute",
       .last = static_cast<int>(Recompute::full),
       .trade = Trade::slower_but_smaller,
       .beyond_ideal = "recomputation",
       .name = recompute_name,
       .words =
           [](int value) {
             return value == 0
                        ? std::string()
                        : std::string(value == static_cast<int>(Recompute::full) ? "recompute" : "selective recompute");
           },
       .sign =
           [](int value) {
             return std::string(value == 0 ? "" : value == static_cast<int>(Recompute::full) ? "ac" : "sac");
           },
       .legend =
           [](int value) {
             return std::string_view(value == static_cast<int>(Recompute::full) ? "ac recomputation"
                                                                                : "sac selective recomputation");
           },
       .matters = [](const Mesh&) { return true; },
       // Full recomputation keeps the inputs of blocks, so models without blocks recompute nothing.
       .possible =
           [](const ModelFacts& facts, const Plan&, int value) {
             const auto is_in_block = [](const Layer& layer) { return layer.block >= 0; };
             const std::vector<Layer>& layers = facts.model->layers;
             if (static_cast<Recompute>(value) == Recompute::selective) return facts.has_attention;
             return value == 0 || std::any_of(layers.begin(), layers.end(), is_in_block);
           },
       .get = [](const Plan& plan) { return static_cast<int>(plan.recompute); },
       .set = [](Plan& plan, int value) { plan.recompute = static_cast<Recompute>(value); }},
      {.choice = PlanChoice::recompute_blocks,
       .key = "recompute_blocks",
       .option = "recompute-blocks",
       .meaning = "the number of first blocks of each stage that full recomputation recomputes; 0 is all",
       .noun = "number of recomputed blocks",
       .software_key = "recompute_blocks",
       .is_software_flag = true,
       .last = most_recompute_blocks,
       .first_number = 0,
       .is_searched = false,
       .beyond_ideal = "recomputation",
       .separator = " of ",
       .name = size_name,
       .words =
           [](int value) {
             if (value == 0) return std::string();
             return value == 1 ? std::string("the first block") : "the first " + std::to_string(value) + " blocks";
           },
       .sign = [](int value) { return value == 0 ? std::string() : "b" + std::to_string(value); },
       .legend = [](int) { return std::string_view("b recomputed blocks of each stage"); },
       .matters = [](const Mesh&) { return true; },
       .possible = [](const ModelFacts&, const Plan& plan,
                      int value) { return value == 0 || plan.recompute == Recompute::full; },
       .counts = [](const Plan& plan) { return plan.recompute == Recompute::full; },
       .get = [](const Plan& plan) { return plan.recompute_blocks; },
       .set = [](Plan& plan, int value) { plan.recompute_blocks = value; }},
      {.choice = PlanChoice::recompute_modules,
       .key = "recompute_modules",
       .option = "recompute-modules",
       .meaning = "the modules that selective recomputation recomputes",
       .noun = "set of modules",
       .software_key = "recompute_modules",
       .is_software_flag = true,
       .last = RecomputeModules::last_number,
       .is_searched = false,
       .parts = recompute_module_names,
       .divides_layers = true,
       .beyond_ideal = "recomputation",
       .separator = " of ",
       .name = modules_name,
       .words = [](int value) { return value == 0 ? std::string() : to_string(RecomputeModules::numbered(value), " and "); },
       .sign = [](int value) { return value == 0 ? std::string() : std::string(modules_name(value)); },
       .legend = [](int) { return std::string_view("names of recomputed modules"); },
       .matters = [](const Mesh&) { return true; },
       .possible =
           [](const ModelFacts& facts, const Plan& plan, int value) {
             return value == 0 || (plan.recompute == Recompute::selective &&
                                   RecomputeModules::numbered(value).without(facts.has_modules).is_empty());
           },
       .counts = [](const Plan& plan) { return plan.recompute == Recompute::selective; },
       .get = [](const Plan& plan) { return plan.recompute_modules.number(); },
       .set = [](Plan& plan, int value) { plan.recompute_modules = RecomputeModules::numbered(value); }},
      {.choice = PlanChoice::offload,
       .key = "offload",
       .option = "offload",
       .meaning = "what is offloaded to host memory",
       .noun = "offload",
       .software_key = "offloads",
       .last = static_cast<int>(Offload::weights),
       .needs_host = true,
       .trade = Trade::slower_but_smaller,
       .beyond_ideal = "offloading",
       .name = offload_name,
       .words = [](int value) { return value == 0 ? std::string() : std::string(offload_name(value)) + " offloaded"; },
       .sign = [](int value) { return std::string(value == 0   ? ""
                                                  : value == 1 ? "oo"
                                                               : "ow"); },
       .matters = [](const Mesh&) { return true; },
       .possible =
           [](const ModelFacts&, const Plan& plan, int value) {
             // Secondary shards stay on the device, so a plan with secondary shards cannot offload its weights.
             return value != static_cast<int>(Offload::weights) || plan.secondary_shards <= 1;
           },
       .get = [](const Plan& plan) { return static_cast<int>(plan.offload); },
       .set = [](Plan& plan, int value) { plan.offload = static_cast<Offload>(value); }},
      {.choice = PlanChoice::offload_activations,
       .key = "offload_activations",
       .option = "offload-activations",
       .meaning = "whether activations are offloaded to host memory until backward",
       .noun = "offload of activations",
       .software_key = "offloads_activations",
       .is_software_flag = true,
       .last = 1,
       .needs_host = true,
       .trade = Trade::slower_but_smaller,
       .beyond_ideal = "offloading",
       .name = flag_name,
       .words = [](int value) { return value == 0 ? std::string() : std::string("activations offloaded"); },
       .sign = [](int value) { return std::string(value == 0 ? "" : "oa"); },
       .matters = [](const Mesh&) { return true; },
       .get = [](const Plan& plan) { return plan.offload_activations ? 1 : 0; },
       .set = [](Plan& plan, int value) { plan.offload_activations = value == 1; }},
      {.choice = PlanChoice::sequence_parallel,
       .key = "sequence_parallel",
       .option = "sequence-parallel",
       .meaning = "sequence parallelism on tensor-parallel ranks",
       .noun = "sequence parallelism",
       .last = 1,
       .divides_layers = true,
       .beyond_ideal = "sequence parallelism",
       .name = flag_name,
       .words = [](int value) { return value == 0 ? std::string() : std::string("sequence parallel"); },
       .sign = [](int value) { return std::string(value == 0 ? "" : "sp"); },
       .legend = [](int) { return std::string_view("sp sequence parallel"); },
       .matters = [](const Mesh& mesh) { return mesh[Axis::tensor] > 1; },
       .possible = [](const ModelFacts& facts, const Plan& plan,
                      int value) { return value == 0 || may_split_tokens(facts, plan); },
       .get = [](const Plan& plan) { return plan.sequence_parallel ? 1 : 0; },
       .set = [](Plan& plan, int value) { plan.sequence_parallel = value == 1; }},
      {.choice = PlanChoice::context_exchange,
       .key = "context_exchange",
       .option = "context-exchange",
       .meaning = "what context-parallel ranks exchange for attention",
       .noun = "exchange of contexts",
       .software_key = "context_exchanges",
       .last = static_cast<int>(ContextExchange::ulysses),
       .divides_layers = true,
       .beyond_ideal = "exchange of heads",
       .name = context_exchange_name,
       .words = [](int value) { return value == 0 ? std::string() : std::string(context_exchange_name(value)); },
       .sign = [](int value) { return value == 0 ? std::string() : std::string(context_exchange_name(value)); },
       .matters = [](const Mesh& mesh) { return mesh[Axis::context] > 1; },
       .possible = [](const ModelFacts& facts, const Plan& plan,
                      int value) { return value == 0 || may_exchange_heads(facts, plan); },
       .get = [](const Plan& plan) { return static_cast<int>(plan.context_exchange); },
       .set = [](Plan& plan, int value) { plan.context_exchange = static_cast<ContextExchange>(value); }},
      {.choice = PlanChoice::experts,
       .key = "expert_tensor",
       .option = "expert-tensor",
       .meaning = "whether tensor parallelism splits experts, or distributes whole experts (expert-tensor-parallel size 1)",
       .noun = "splitting of experts",
       .software_key = "whole_experts",
       .is_software_flag = true,
       .last = 1,
       .divides_layers = true,
       .beyond_ideal = "whole experts",
       .name = [](int value) { return std::string_view(value == 0 ? "split" : "whole"); },
       .words = [](int value) { return value == 0 ? std::string() : std::string("whole experts"); },
       .sign = [](int value) { return std::string(value == 0 ? "" : "etp1"); },
       .matters = [](const Mesh& mesh) { return mesh[Axis::tensor] > 1; },
       .possible = [](const ModelFacts& facts, const Plan& plan,
                      int value) { return value == 0 || supports_etp1(facts, plan); },
       .get = [](const Plan& plan) { return plan.whole_experts ? 1 : 0; },
       .set = [](Plan& plan, int value) { plan.whole_experts = value == 1; }},
      {.choice = PlanChoice::tables,
       .key = "tables",
       .option = "tables",
       .meaning = "how data-parallel ranks hold the tables of a recommendation model",
       .noun = "placement of tables",
       .last = static_cast<int>(Tables::hybrid),
       .divides_layers = true,
       .beyond_ideal = "distributed tables",
       .name = [](int value) { return to_string(static_cast<Tables>(value)); },
       .words = [](int value) { return std::string(tables_words(static_cast<Tables>(value))); },
       .sign = [](int value) { return std::string(tables_sign(static_cast<Tables>(value))); },
       .matters = [](const Mesh& mesh) { return mesh[Axis::data] > 1; },
       .possible =
           [](const ModelFacts& facts, const Plan& plan, int value) {
             // Only HugeCTR has hybrid tables, so searches do not try them unless the user asks.
             const auto tables = static_cast<Tables>(value);
             return value == 0 || (tables != Tables::hybrid && may_distribute_tables(facts, plan, tables));
           },
       .get = [](const Plan& plan) { return static_cast<int>(plan.tables); },
       .set = [](Plan& plan, int value) { plan.tables = static_cast<Tables>(value); }},
  }};
  return rows;
}

}  // namespace

std::optional<int> PlanChoiceRow::parse(std::string_view text) const {
  if (!parts.empty()) {
    // The text may list the modules in any order.
    const std::optional<RecomputeModules> modules = parse_recompute_modules(text);
    return modules ? std::optional(modules->number()) : std::nullopt;
  }
  for (int value = 0; value <= last; ++value) {
    if (name(value) == text) return value;
  }
  return std::nullopt;
}

std::vector<std::string_view> PlanChoiceRow::names() const {
  std::vector<std::string_view> all(parts.begin(), parts.end());
  for (int value = 0; parts.empty() && value <= last; ++value) all.push_back(name(value));
  return all;
}

std::string PlanChoiceRow::values_text() const {
  if (first_number) return std::string(name(0)) + " to " + std::string(name(last));
  std::string text;
  const std::vector<std::string_view> all = names();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0) text += i + 1 == all.size() ? " or " : ", ";
    text += all[i];
  }
  return parts.empty() ? text : text + ", or several joined by '+'";
}

std::span<const PlanChoiceRow, plan_choice_count> plan_choices() { return table(); }
const PlanChoiceRow& row_of(PlanChoice choice) { return table()[static_cast<std::size_t>(choice)]; }

void ChosenOfPlan::apply(Plan& plan) const {
  for (const PlanChoiceRow& row : plan_choices()) {
    if (const std::optional<int>& value = (*this)[row.choice]) row.set(plan, *value);
  }
}

void choose_what_follows(ChosenOfPlan& chosen) {
  std::optional<int>& recompute = chosen[PlanChoice::recompute];
  if (chosen[PlanChoice::recompute_blocks].value_or(0) > 0 && !recompute) recompute = static_cast<int>(Recompute::full);
  if (chosen[PlanChoice::recompute_modules] && !recompute) recompute = static_cast<int>(Recompute::selective);
  std::optional<int>& zero = chosen[PlanChoice::zero];
  if (chosen[PlanChoice::secondary_shards].value_or(0) > 1 && !zero) zero = 3;
}

void keep_to_ideal(ChosenOfPlan& chosen) {
  for (const PlanChoiceRow& row : plan_choices()) {
    std::optional<int>& value = chosen[row.choice];
    if (!row.beyond_ideal.empty() && !value) value = 0;
  }
}

Plan split_of(const Plan& plan) {
  const Plan usual;
  Plan split = plan;
  split.zero_stage = usual.zero_stage;
  split.shard_group = usual.shard_group;
  split.reshard = usual.reshard;
  split.secondary_shards = usual.secondary_shards;
  split.recompute = usual.recompute;
  split.recompute_blocks = usual.recompute_blocks;
  split.recompute_segments = usual.recompute_segments;
  split.zero_segments = usual.zero_segments;
  split.offload = usual.offload;
  split.offload_activations = usual.offload_activations;
  split.schedule = usual.schedule;
  split.virtual_stages = usual.virtual_stages;
  split.placement = usual.placement;
  return split;
}

}  // namespace ddl
