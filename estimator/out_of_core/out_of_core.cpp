#include "estimator/out_of_core/out_of_core.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "estimator/memory/caching_allocator.hpp"
#include "estimator/memory/memory_tally.hpp"
#include "estimator/memory/stage_requests.hpp"
#include "estimator/step/host_traffic.hpp"
#include "estimator/strategies/shard_memory.hpp"
#include "estimator/strategies/spatial.hpp"

namespace ddl {
namespace {

std::size_t index(int at) { return static_cast<std::size_t>(at); }

std::vector<int> group_of_layers(const std::vector<LayerRange>& groups) {
  std::vector<int> group;
  for (std::size_t i = 0; i < groups.size(); ++i) group.resize(index(groups[i].last), static_cast<int>(i));
  return group;
}

/// Records the memory while each group runs, from the tally of requests.
class GroupLevels {
 public:
  using Block = MemoryTally::Block;
  using Mark = MemoryTally::Mark;
  static constexpr bool folds = false;

  struct Levels {
    Bytes forward_peak{}, forward_end{}, backward_start{}, backward_peak{};
  };

  GroupLevels(double granule, const std::vector<LayerRange>& groups)
      : tally_(granule), group_of_(group_of_layers(groups)), levels_(groups.size()) {}

  [[nodiscard]] Block allocate(Bytes bytes, MemoryItem item, int layer, double times = 1) {
    Block block = tally_.allocate(bytes, item, layer, times);
    note();
    return block;
  }
  void free(Block& block) { tally_.free(block); }
  void at(StepPhase phase, int layer) {
    const int group = layer < 0 ? -1 : group_of_[index(layer)];
    if (phase_ == StepPhase::forward && group_ >= 0 && (phase != phase_ || group != group_))
      levels_[index(group_)].forward_end = level();
    if (phase == StepPhase::backward && (phase != phase_ || group != group_)) levels_[index(group)].backward_start = level();
    phase_ = phase;
    group_ = group;
    tally_.at(phase, layer);
    note();
  }
  void may_need(Bytes /*more*/) {}
  [[nodiscard]] Mark mark() const { return tally_.mark(); }
  void repeat(const Mark& since, double times) { tally_.repeat(since, times); }
  void release(const Mark& from, const Mark& to) { tally_.release(from, to); }

  [[nodiscard]] const Levels& of(std::size_t group) const { return levels_[group]; }
  [[nodiscard]] Bytes elsewhere() const { return elsewhere_; }

 private:
  [[nodiscard]] Bytes level() const { return tally_.mark().allocated; }
  void note() {
    Bytes& peak = group_ < 0                     ? elsewhere_
                  : phase_ == StepPhase::forward ? levels_[index(group_)].forward_peak
                                                 : levels_[index(group_)].backward_peak;
    peak = max(peak, level());
  }

  MemoryTally tally_;
  std::vector<int> group_of_;
  std::vector<Levels> levels_;
  Bytes elsewhere_{};
  StepPhase phase_ = StepPhase::setup;
  int group_ = -1;
};

/// Adds to each group the memory that its backward needs.
void add_kept(const Job& job, const Plan& plan, const LayerCostTable& costs, const std::vector<LayerRange>& ranges,
              std::vector<ChainGroup>& groups) {
  const ModelFacts& facts = job.facts;
  const std::vector<int> group_of = group_of_layers(ranges);
  const KeptRules rules = kept_rules(plan, job.assumptions);
  const double granule = CachingAllocator::granule(job.machine.device.is_processor);
  const auto rounded = [granule](Bytes bytes) {
    return granule > 0 ? Bytes(std::ceil(bytes.value() / granule) * granule) : bytes;
  };
  for (std::size_t layer = 0; layer < group_of.size(); ++layer) {
    const int own = group_of[layer];
    for (const Bytes bytes : costs.memory(static_cast<int>(layer)).kept) groups[index(own)].kept += rounded(bytes);
    if (facts.storage[layer] != static_cast<int>(layer) || facts.of_sample[layer]) continue;
    int keeper = -1, reader = own;
    for (const TensorReader& each : facts.readers[layer]) {
      const int group = group_of[index(each.layer)];
      reader = std::max(reader, group);
      if (each.keeps_as(rules)) keeper = std::max(keeper, group);
    }
    const Bytes bytes = rounded(costs.memory(static_cast<int>(layer)).output);
    const bool by_next = reader == own + 1;
    if (keeper < 0) {
      if (by_next) groups[index(reader)].extra_input += bytes;
      continue;
    }
    // The recomputation of the next group reads this output. An output that a later group reads but
    // does not keep stays in memory.
    if (by_next) keeper = reader;
    if (reader > keeper) continue;
    groups[index(keeper)].kept += bytes;
    if (keeper == own + 1) groups[index(keeper)].input += bytes;
  }
  for (std::size_t layer = 0; layer < group_of.size(); ++layer) {
    for (const int input : facts.model->layers[layer].inputs) {
      if (input < 0 || facts.of_sample[index(input)]) continue;
      const int owner = facts.storage[index(input)];
      if (owner >= 0 && group_of[index(owner)] < group_of[layer] - 1) groups[index(group_of[layer])].may_recompute = false;
    }
  }
}

}  // namespace

bool may_be_out_of_core(const Plan& plan, const Assumptions& assumptions) {
  return plan.mesh[Axis::pipeline] == 1 && plan.segments.empty() && plan.recompute == Recompute::none &&
         !plan.offload_activations && !assumptions.memory_reuse;
}

std::vector<LayerRange> chain_groups(const ModelFacts& facts) {
  const std::vector<Layer>& layers = facts.model->layers;
  std::vector<int> firsts;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const bool in_block = layers[i].block >= 0;
    const bool has_weights = std::binary_search(facts.weighted.begin(), facts.weighted.end(), static_cast<int>(i));
    if (i == 0 || layers[i].block != layers[i - 1].block || (!in_block && has_weights))
      firsts.push_back(static_cast<int>(i));
  }
  std::vector<LayerRange> groups;
  const std::size_t joined = (firsts.size() + most_chain_groups - 1) / most_chain_groups;
  for (std::size_t i = 0; i < firsts.size(); i += joined) {
    const bool is_last = i + joined >= firsts.size();
    groups.push_back({firsts[i], is_last ? static_cast<int>(layers.size()) : firsts[i + joined]});
  }
  return groups;
}

Chain chain_of(const Job& job, const Plan& plan, const LayerCostTable& costs, const std::vector<LayerRange>& ranges) {
  Chain chain;
  chain.link = host_link(job.machine);
  GroupLevels levels(CachingAllocator::granule(job.machine.device.is_processor), ranges);
  const auto last = static_cast<int>(job.facts.model->layers.size());
  StageRequests requests(StageOf{job, plan, costs, 0, last}, levels);
  requests.set_up(true);
  requests.pass(1);
  requests.update();
  chain.elsewhere = levels.elsewhere();
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const LayerCosts own = costs.between(ranges[i].first, ranges[i].last);
    const GroupLevels::Levels& level = levels.of(i);
    ChainGroup group;
    group.forward = own[LayerTime::forward] + own[LayerTime::exchange_forward] + own[LayerTime::halo_forward];
    group.backward = own[LayerTime::backward] + own[LayerTime::exchange_backward] + own[LayerTime::halo_backward];
    group.forward_peak = level.forward_peak;
    group.backward_peak = level.backward_peak;
    // The peak consists of the memory of the group's forward, and of the gradients that exist when
    // backward recomputes the group.
    group.again_peak = level.forward_peak + max(Bytes{}, level.backward_start - level.forward_end);
    chain.groups.push_back(group);
  }
  add_kept(job, plan, costs, ranges, chain.groups);
  return chain;
}

OutOfCore out_of_core(const Job& job, const Plan& plan, const MemoryBreakdown& memory) {
  OutOfCore result;
  result.groups = chain_groups(job.facts);
  const ReplicatedLayers replicated = replicated_layers(job.facts, plan, job.coefficients.software);
  const LayerKinds kinds = layer_kinds(job.facts, job.kernels.serial(), replicated, job.assumptions.selective);
  const LayerCostTable costs(job, plan, kinds);
  result.chain = chain_of(job, plan, costs, result.groups);
  result.micro_batches = static_cast<double>(plan.micro_batches);
  result.device = job.machine.device.memory;
  const std::vector<GroupChoice> keep(result.groups.size(), GroupChoice::keep);
  result.in_core = cost_of(result.chain, keep);
  // Only allocated memory contributes to the allocator's unusable blocks.
  const double with_unusable = 1 + most_unusable(Bytes(1)).value();
  const Bytes missing = memory.upper_bound() - result.device;
  const Bytes capacity = result.in_core.peak - max(Bytes{}, missing / with_unusable);
  result.choices = missing > Bytes{} ? shortest_choices(result.chain, capacity) : keep;
  result.cost = cost_of(result.chain, result.choices);
  const auto ranks = static_cast<double>(std::min<std::int64_t>(plan.mesh.devices(), job.machine.devices_per_node()));
  result.on_node = result.cost.on_host * ranks + host_parameters(job, plan);
  if (result.cost.on_host > Bytes{}) result.of_host = job.machine.storage.host_memory;
  const Bytes saved = result.in_core.peak - result.cost.peak;
  result.memory = memory.total() - saved;
  result.upper_bound = memory.upper_bound() - saved * with_unusable;
  return result;
}

}  // namespace ddl
