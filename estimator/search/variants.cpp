#include "estimator/search/variants.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "estimator/search/degrees.hpp"
#include "estimator/strategies/context.hpp"
#include "estimator/strategies/embedding_tables.hpp"
#include "estimator/strategies/expert.hpp"
#include "estimator/strategies/tensor.hpp"

namespace ddl {
namespace {

/// Returns whether the name of a family allows a ZeRO stage. `fsdp` and `ddp` imply a ZeRO stage, `data` does not.
bool allows_zero_stage(const SearchOptions& options, Family family, int stage) {
  const auto allows = [&](const NamedFamily& each) {
    return each.family == family && (!each.zero_stage || *each.zero_stage == stage);
  };
  return options.families.empty() || std::any_of(options.families.begin(), options.families.end(), allows);
}

/// Returns whether a search chooses the number of recomputed blocks. An explicit --recompute disables this choice.
bool chooses_blocks(const SearchOptions& options, const ModelFacts& facts) {
  const auto& admitted = options.admitted[static_cast<std::size_t>(PlanChoice::recompute_blocks)];
  if (options.chosen[PlanChoice::recompute] || options.chosen[PlanChoice::recompute_blocks]) return false;
  if (admitted && std::all_of(admitted->begin(), admitted->end(), [](int value) { return value == 0; })) return false;
  const std::vector<Layer>& layers = facts.model->layers;
  return std::any_of(layers.begin(), layers.end(), [](const Layer& layer) { return layer.block >= 0; });
}

}  // namespace

GroupSizes searched_groups(const Machine& machine, const Mesh& mesh) {
  const std::int64_t data = mesh[Axis::data], devices = mesh.devices();
  GroupSizes sizes{};
  std::size_t count = 0;
  const auto add = [&](std::int64_t size) {
    const bool is_new = count == 0 || sizes[count - 1] < size;
    if (is_new && size > 1 && size <= most_shard_group && size < data && data % size == 0 && count < sizes.size())
      sizes[count++] = static_cast<int>(size);
  };
  add(machine.devices_per_node());
  // The bandwidth of a level for each device below it.
  const auto rate = [&](std::size_t level, std::int64_t below) {
    return machine.levels[level].bandwidth.value() * machine.levels[level].rails / static_cast<double>(below);
  };
  std::int64_t unit = machine.devices_per_node();
  for (std::size_t i = 1; i + 1 < machine.levels.size(); ++i) {
    const std::int64_t below = unit;
    unit *= machine.levels[i].units;
    const std::int64_t units = devices / unit;
    // Links of one level that are fitted to measurements differ by less than this factor.
    constexpr double slower = 0.5;
    if (units < 2 || devices % unit != 0 || data % units != 0 || rate(i + 1, unit) > slower * rate(i, below)) continue;
    std::int64_t size = data / units;
    while (size > most_shard_group && size % 2 == 0) size /= 2;
    add(size);
  }
  return sizes;
}

std::vector<Plan> ways_to_divide(const ModelFacts& facts, const Plan& plan) {
  std::vector<Plan> ways{plan};
  for (const PlanChoice choice : {PlanChoice::sequence_parallel, PlanChoice::context_exchange, PlanChoice::experts}) {
    const PlanChoiceRow& row = row_of(choice);
    if (!row.matters(plan.mesh)) continue;
    for (std::size_t i = 0, count = ways.size(); i < count; ++i) {
      for (int value = 1; value <= row.last; ++value) {
        if (row.possible != nullptr && !row.possible(facts, ways[i], value)) continue;
        Plan way = ways[i];
        row.set(way, value);
        ways.push_back(way);
      }
    }
  }
  return ways;
}

VariantSpace::VariantSpace(const SearchOptions& options, const ModelFacts& facts, const Machine& machine)
    : options_(options),
      facts_(facts),
      machine_(machine),
      several_nodes_(options.devices > machine.devices_per_node()),
      chooses_blocks_(chooses_blocks(options, facts)),
      latest_counts_(places_for(divisors(options.devices).size())) {}

void set_choices(Plan& plan, const ChoiceValues& values) {
  std::size_t i = 0;
  for (const PlanChoiceRow& row : plan_choices()) row.set(plan, values[i++]);
}

ChoiceValues choices_of(const Plan& plan) {
  ChoiceValues values{};
  for (std::size_t i = 0; i < plan_choice_count; ++i) values[i] = plan_choices()[i].get(plan);
  return values;
}

std::int64_t VariantSpace::replica_of(const Plan& plan) {
  const std::int64_t parts = plan.mesh.batch_parts();
  return std::max<std::int64_t>(1, (plan.global_batch + parts - 1) / parts);
}

const std::vector<std::int64_t>& VariantSpace::micro_batches(const Plan& plan) const {
  const std::int64_t replica = replica_of(plan);
  std::vector<std::int64_t>& known = micro_batches_[replica];
  if (!known.empty()) return known;
  if (options_.micro_batches) {
    known = {*options_.micro_batches};
    return known;
  }
  // The sizes of micro-batches are all divisors of the replica's samples, and in addition powers of two.
  std::vector<std::int64_t> sizes = divisors(replica);
  for (std::int64_t size = 1; size < replica; size *= 2) sizes.push_back(size);
  for (const std::int64_t size : sizes) known.push_back((replica + size - 1) / size);
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  return known;
}

std::vector<Placement> VariantSpace::placements(const Plan& plan) const {
  std::vector<Placement> placements{plan.placement};
  if (!options_.placement && several_nodes_) {
    // For each axis that could be inside the node, a placement is added.
    bool first = true;
    for (const Axis axis : plan.placement) {
      if (plan.mesh[axis] == 1) continue;
      if (!first) {
        Placement placement = plan.placement;
        const auto at = std::find(placement.begin(), placement.end(), axis);
        std::rotate(placement.begin(), at, at + 1);
        placements.push_back(placement);
      }
      first = false;
    }
  }
  return placements;
}

VariantSpace::Key VariantSpace::key_of(const Plan& plan) const {
  const Mesh& mesh = plan.mesh;
  const int stages = mesh[Axis::pipeline];
  // Other axes do not affect the choices, unless the requested families restrict the choices.
  constexpr Family of_choices = replica_axes | family_bit(Axis::pipeline) | family_bit(Axis::tensor) |
                                family_bit(Axis::data) | family_bit(Axis::context);
  return {options_.families.empty() ? mesh.family() & of_choices : mesh.family(),
          mesh[Axis::tensor],
          stages,
          plan.micro_batches % stages == 0,
          std::min<std::int64_t>(plan.micro_batches / stages, 2) * 2 + plan.micro_batches % 2,
          searched_groups(machine_, plan.mesh),
          mesh[Axis::tensor] > 1 && may_split_tokens(facts_, plan),
          mesh[Axis::context] > 1 && may_exchange_heads(facts_, plan),
          supports_etp1(plan),
          ways_to_distribute_tables(facts_, plan)};
}

std::vector<int> VariantSpace::possible_values(std::size_t row, const Plan& plan) const {
  std::vector<int> values = values_of(plan_choices()[row], plan);
  if (depends_on_others(plan_choices()[row].choice)) return values;
  std::erase_if(values, [&](int value) {
    ChoiceValues alone{};
    alone[row] = value;
    return !is_possible(plan, alone);
  });
  return values;
}

LikeChoices VariantSpace::all_choices(const Plan& plan) const {
  LikeChoices all;
  ValuesOfRows of_rows;
  for (std::size_t i = 0; i < plan_choice_count; ++i) of_rows[i] = possible_values(i, plan);
  Plan chosen = plan;
  add_choices(chosen, of_rows, possible_pipelines(plan, of_rows), plan_choice_count, {}, all);
  return all;
}

const std::vector<LikeChoices>& VariantSpace::choices(const Plan& plan) const {
  const Key key = key_of(plan);
  const auto known = choices_.find(key);
  if (known != choices_.end()) return known->second;
  const auto divide_alike = [](const ChoiceValues& a, const ChoiceValues& b) {
    for (std::size_t i = 0; i < plan_choice_count; ++i) {
      if (plan_choices()[i].divides_layers && a[i] != b[i]) return false;
    }
    return true;
  };
  std::vector<LikeChoices> groups;
  for (const ChoiceValues& values : all_choices(plan)) {
    if (groups.empty() || !divide_alike(groups.back().front(), values)) groups.emplace_back();
    groups.back().push_back(values);
  }
  return choices_.emplace(key, std::move(groups)).first->second;
}

std::int64_t VariantSpace::count_choices(const Plan& plan) const {
  const Key key = key_of(plan);
  const auto [known, is_new] = choice_counts_.try_emplace(key, 0);
  if (!is_new) return known->second;
  // The possible pipelines depend on no other choice. Other choices do not depend on the numbers of stages and
  // micro-batches.
  ValuesOfRows of_rows;
  for (std::size_t i = 0; i < of_pipelines; ++i) of_rows[i] = possible_values(i, plan);
  const auto pipelines = static_cast<std::int64_t>(possible_pipelines(plan, of_rows).size());
  const auto& [family, tensor, stages, divided, few, groups, splits_tokens, exchanges_heads, whole_experts, tables] = key;
  const auto [others, is_first] =
      other_counts_.try_emplace({family, groups, splits_tokens, exchanges_heads, whole_experts, tables}, 0);
  if (is_first) {
    for (std::size_t i = of_pipelines; i < plan_choice_count; ++i) of_rows[i] = possible_values(i, plan);
    LikeChoices all;
    Plan chosen = plan;
    add_choices(chosen, of_rows, {ChoiceValues{}}, plan_choice_count, {}, all);
    others->second = static_cast<std::int64_t>(all.size()) +
                     std::count_if(all.begin(), all.end(), [&](const auto& each) { return may_recompute_blocks(each); });
  }
  return known->second = pipelines * others->second;
}

bool VariantSpace::may_recompute_blocks(const ChoiceValues& values) const {
  // Recomputed activations are not offloaded, so more recomputation may take less time.
  return chooses_blocks_ && values[static_cast<std::size_t>(PlanChoice::recompute)] == 0 &&
         values[static_cast<std::size_t>(PlanChoice::offload_activations)] == 0;
}

std::int64_t VariantSpace::count(const Plan& plan) const {
  const Mesh& mesh = plan.mesh;
  const Family family = mesh.family();
  // Many meshes differ only in degrees that the choices do not depend on.
  return latest_counts_.of({family, mesh[Axis::tensor], mesh[Axis::context], mesh[Axis::expert], mesh[Axis::data],
                            mesh[Axis::pipeline], plan.global_batch, plan.micro_batches},
                           [&] {
                             const int placements =
                                 options_.placement || !several_nodes_ ? 1 : std::max(1, std::popcount(family));
                             return placements * count_of_one_placement(plan);
                           });
}

std::int64_t VariantSpace::count_of_one_placement(const Plan& plan) const {
  std::int64_t& known = counts_[{replica_of(plan), key_of(plan)}];
  if (known > 0) return known - 1;
  // The number of micro-batches affects the choices only by whether it is a multiple of the number of stages.
  std::array<std::int64_t, 2> alike{};
  std::array<std::int64_t, 2> example{};
  for (const std::int64_t count : micro_batches(plan)) {
    const std::size_t divided = count % plan.mesh[Axis::pipeline] == 0 ? 1 : 0;
    ++alike[divided];
    example[divided] = count;
  }
  std::int64_t all = 0;
  Plan each = plan;
  for (std::size_t divided = 0; divided < alike.size(); ++divided) {
    if (alike[divided] == 0) continue;
    each.micro_batches = example[divided];
    all += alike[divided] * count_choices(each);
  }
  known = all + 1;
  return all;
}

std::vector<int> VariantSpace::values_of(const PlanChoiceRow& row, const Plan& plan) const {
  if (!row.matters(plan.mesh)) return {0};
  if (const std::optional<int>& chosen = options_.chosen[row.choice]) {
    const bool is_allowed = row.choice != PlanChoice::zero || allows_zero_stage(options_, plan.mesh.family(), *chosen);
    return is_allowed ? std::vector<int>{*chosen} : std::vector<int>{};
  }
  // Keeping weights gathered differs from ZeRO-2 only in the time of the gather, so it must be requested by the user. The
  // number of recomputed blocks follows from the memory of a plan (may_recompute_blocks).
  if ((row.needs_host && !options_.offloads) || !row.is_searched) return {0};
  // Shard groups keep gathers inside a node or a larger unit of the network, secondary shards inside a node.
  if (row.choice == PlanChoice::shard_group || row.choice == PlanChoice::secondary_shards) {
    std::vector<int> sizes{0};
    for (const int size : searched_groups(machine_, plan.mesh)) {
      if (size > 0 && (row.choice == PlanChoice::shard_group || size == machine_.devices_per_node())) sizes.push_back(size);
    }
    return admitted(row, std::move(sizes));
  }
  std::vector<int> values;
  for (int value = 0; value <= row.last; ++value) {
    if (row.choice == PlanChoice::zero && !allows_zero_stage(options_, plan.mesh.family(), value)) continue;
    values.push_back(value);
  }
  return admitted(row, std::move(values));
}

bool VariantSpace::depends_on_others(PlanChoice choice) {
  return choice == PlanChoice::shard_group || choice == PlanChoice::reshard || choice == PlanChoice::secondary_shards ||
         choice == PlanChoice::experts;
}

bool VariantSpace::is_possible(const Plan& plan, const ChoiceValues& values) const {
  Plan chosen = plan;
  set_choices(chosen, values);
  return are_possible(chosen, values);
}

bool VariantSpace::are_possible(const Plan& chosen, const ChoiceValues& values) const {
  for (std::size_t i = 0; i < plan_choice_count; ++i) {
    const PlanChoiceRow& row = plan_choices()[i];
    const bool is_open = !options_.chosen[row.choice];
    // A requested shard group has no effect on a plan without shards.
    if (row.choice == PlanChoice::shard_group && !is_open && values[i] > 0 && chosen.zero_stage == 0 &&
        !options_.chosen[PlanChoice::zero])
      return false;
    if (is_open && values[i] > 0 && row.possible != nullptr && !row.possible(facts_, chosen, values[i])) return false;
  }
  return true;
}

std::vector<int> VariantSpace::admitted(const PlanChoiceRow& row, std::vector<int> values) const {
  const std::optional<std::vector<int>>& known = options_.admitted[static_cast<std::size_t>(row.choice)];
  if (!known) return values;
  std::vector<int> left;
  for (const int value : values) {
    if (std::find(known->begin(), known->end(), value) != known->end()) left.push_back(value);
  }
  return left.empty() ? values : left;
}

bool VariantSpace::supports_etp1(Plan plan) const {
  plan.sequence_parallel = true;
  return plan.mesh[Axis::tensor] > 1 && ddl::supports_etp1(facts_, plan);
}

LikeChoices VariantSpace::possible_pipelines(const Plan& plan, const ValuesOfRows& of_rows) const {
  LikeChoices pipelines;
  ChoiceValues values{};
  for (const int chunks : of_rows[static_cast<std::size_t>(PlanChoice::virtual_stages)]) {
    for (const int schedule : of_rows[static_cast<std::size_t>(PlanChoice::schedule)]) {
      values[static_cast<std::size_t>(PlanChoice::schedule)] = schedule;
      values[static_cast<std::size_t>(PlanChoice::virtual_stages)] = chunks;
      if (is_possible(plan, values)) pipelines.push_back(values);
    }
  }
  return pipelines;
}

void VariantSpace::add_choices(Plan& plan, const ValuesOfRows& of_rows, const LikeChoices& pipelines, std::size_t rows,
                               ChoiceValues values, LikeChoices& choices) const {
  // Schedule and virtual stages are the first rows, and depend on no other choice.
  static_assert(static_cast<std::size_t>(PlanChoice::schedule) == 0 &&
                static_cast<std::size_t>(PlanChoice::virtual_stages) == 1);
  if (rows == of_pipelines) {
    if (!are_possible(plan, values)) return;
    for (const ChoiceValues& pipeline : pipelines) {
      std::copy_n(pipeline.begin(), of_pipelines, values.begin());
      choices.push_back(values);
    }
    return;
  }
  for (const int value : of_rows[rows - 1]) {
    values[rows - 1] = value;
    plan_choices()[rows - 1].set(plan, value);
    add_choices(plan, of_rows, pipelines, rows - 1, values, choices);
  }
}

}  // namespace ddl
