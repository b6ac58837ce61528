#include "estimator/step/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "estimator/choices/plan_choice.hpp"
#include "estimator/kernels/shard_prices.hpp"
#include "estimator/kernels/shard_problems.hpp"
#include "estimator/layers/pipeline.hpp"
#include "estimator/layers/recomputed_layers.hpp"
#include "estimator/schedules/schedule.hpp"
#include "estimator/step/expert_overlap.hpp"
#include "estimator/step/host_traffic.hpp"
#include "estimator/step/tasks.hpp"
#include "estimator/step/updates.hpp"
#include "estimator/strategies/pipeline.hpp"
#include "estimator/strategies/shard_memory.hpp"
#include "estimator/strategies/spatial.hpp"
#include "estimator/strategies/strategy.hpp"

namespace ddl {
namespace {

/// Whether each forward and backward gathers the weights of which a rank holds a part, which the host starts.
bool gathers_weights(const Plan& plan) { return plan.zero_stage == 3 && plan.mesh.replicas() > 1; }

Limit memory_limit(const MemoryBreakdown& memory, const Device& device) {
  const MemoryItem largest = memory.largest();
  return {Limit::Kind::memory, memory.total().value(),    device.memory.value(), -1,
          to_string(largest),  memory.of(largest).value()};
}

}  // namespace

Estimator::Estimator(Job its_job) : job_(std::move(its_job)) {
  const Job& job = job_;
  for (const LayerTimes& layer : job.kernels.serial()) {
    serial_update_ += layer.update;
  }
  for (const int layer : job.facts.matrix) {
    if (layer == job.facts.last_matrix || layer == job.facts.first_matrix) continue;
    const auto index = static_cast<std::size_t>(layer);
    const Layer& at = job.facts.model->layers[index];
    const auto input = static_cast<double>(at.input_shapes.front().items());
    const auto output = static_cast<double>(at.output_shape.items());
    // A layer that reads the batch has no gradient of its input to exchange.
    const bool sends = job.facts.needs_input_gradient[index];
    split_collectives_ += sends ? 2 : 1;
    if (sends) split_inputs_ += input;
    split_outputs_ += output;
    const bool grouped = job.facts.divisible[index].channel_units > 0 || at.operation->type() == "embedding";
    if (!grouped) {
      if (sends) channel_inputs_ += input;
      channel_outputs_ += output;
    }
    const double before = tensor_items_;
    switch (job.facts.tensor_role[index]) {
      case TensorSplitRole::column:
        tensor_items_ += job.facts.sends_input_gradient[index] ? 2.0 * input : 0.0;
        break;
      case TensorSplitRole::row:
        tensor_items_ += 2.0 * output;
        break;
      case TensorSplitRole::lone:
        tensor_items_ += output;
        break;
      default:
        break;
    }
    if (job.facts.in_experts[index]) tensor_items_of_experts_ += tensor_items_ - before;
    smallest_tensor_units_ = std::min(smallest_tensor_units_, job.facts.tensor_units[index]);
  }
}

const Estimator::SingleDeviceLaunch& Estimator::single_device_launch(double batch, const Mesh& mesh) const {
  const std::pair key(batch, mesh);
  const auto known = single_device_launch_.find(key);
  if (known != single_device_launch_.end()) return known->second;
  SingleDeviceLaunch host;
  const Seconds start = launch_overhead(job_);
  if (start > Seconds{}) {
    Plan alone;
    alone.mesh = mesh;
    alone.global_batch = static_cast<std::int64_t>(batch) * mesh.batch_parts();
    alone.precision = job_.kernels.precision();
    alone.optimizer = job_.kernels.optimizer();
    const LayerCosts costs = LayerCostTable(job_, alone, kinds_of({})).total();
    host = {start * (costs.forward_kernels + costs.backward_kernels),
            costs.idle_forward(start) + costs.idle_backward(start)};
  }
  return single_device_launch_.emplace(key, host).first->second;
}

const StagePlaces& Estimator::places(int stages, const ReplicatedLayers& replicated, double tiles) const {
  const auto key = std::tuple(stages, replicated, tiles);
  const auto known = places_.find(key);
  if (known != places_.end()) return known->second;
  return places_.emplace(key, StagePlaces(job_.facts, stages, replicated, tiles)).first->second;
}

ReplicatedLayers Estimator::replicated_layers_of(const Plan& plan) const {
  if (plan.mesh[Axis::spatial] == 1) return {};
  auto known = replicated_layers_.find(plan.mesh.tiles());
  if (known == replicated_layers_.end()) {
    known =
        replicated_layers_.emplace(plan.mesh.tiles(), replicated_layers(job_.facts, plan, job_.coefficients.software)).first;
  }
  return known->second;
}

const LayerKinds& Estimator::kinds_of(const ReplicatedLayers& replicated) const {
  auto kinds = kinds_.find(replicated);
  if (kinds == kinds_.end()) {
    kinds =
        kinds_.emplace(replicated, layer_kinds(job_.facts, job_.kernels.serial(), replicated, job_.assumptions.selective))
            .first;
  }
  return kinds->second;
}

Estimator::Split& Estimator::split(const Plan& plan) const {
  const Plan key = split_of(plan);
  const auto holds = [&](const Split& known) { return known.costs && known.plan == key; };
  auto found = std::find_if(splits_.begin(), splits_.end(), holds);
  const bool is_same = found != splits_.end();
  if (!is_same) {
    found =
        std::min_element(splits_.begin(), splits_.end(), [](const Split& a, const Split& b) { return a.asked < b.asked; });
  }
  Split& split = *found;
  split.asked = ++splits_asked_;
  if (is_same && plan.placement == split.placement) return split;
  if (is_same) {
    split.costs->place(plan.placement);
  } else {
    split.costs = std::make_unique<LayerCostTable>(job_, plan, kinds_of(replicated_layers_of(plan)));
    split.plan = key;
    split.peak_stage.clear();
    split.peaks.clear();
    split.passes.clear();
    split.residents.clear();
  }
  split.placement = plan.placement;
  split.cuts.reset();
  split.staged.clear();
  split.updates.clear();
  return split;
}

const std::vector<int>& Estimator::stretches_of(const Plan& plan) const {
  static const std::vector<int> one{1};
  const int stages = plan.mesh[Axis::pipeline];
  if (stages == 1 || job_.assumptions.slot_pipeline) return one;
  std::vector<int>& known = stretches_[{stages, plan.micro_batches % stages == 0}];
  if (known.empty()) {
    known = one;
    Plan alike = plan;
    alike.schedule = Schedule::one_forward_one_backward;
    for (int count = 2; count <= most_virtual_stages; ++count) {
      if (may_interleave(job_.facts, alike, count)) known.push_back(count);
    }
  }
  return known;
}

std::vector<int> Estimator::cut(const Plan& plan, const LayerCostTable& costs) const {
  const auto layers = static_cast<int>(job_.facts.model->layers.size());
  if (plan.mesh[Axis::pipeline] == 1) return {0, layers};
  const StagePlaces& where = places(plan.mesh[Axis::pipeline], replicated_layers_of(plan), plan.mesh[Axis::spatial]);
  const auto& levels = where.levels();
  if (job_.coefficients.software.equal_stages.value_or(false) && !where.equal_blocks().empty()) return where.equal_blocks();
  const ParameterBytes each = parameter_bytes(job_.facts, plan, job_.assumptions.mixed_precision);
  const double trained = job_.facts.parameters > 0 ? job_.facts.trained_parameters / job_.facts.parameters : 1.0;
  const StageWeights weights{launch_overhead(job_), each.weight + (each.gradient + each.optimizer) * trained,
                             static_cast<double>(plan.micro_batches)};
  // The cuts of a plan do not depend on what is saved, so that saving memory never saves time.
  Plan bare = plan;
  bare.zero_stage = 0;
  bare.recompute = Recompute::none;
  bare.offload = Offload::none;
  bare.offload_activations = false;
  bare.schedule = Schedule::one_forward_one_backward;
  bare.virtual_stages = 1;
  const Bytes available = job_.machine.device.memory;
  struct Choice {
    bool fits = false;
    double cost = 0;  ///< time where it fits, else memory
    std::vector<int> firsts;
    const std::vector<int>* level = nullptr;
  };
  std::optional<Choice> best;
  Seconds least_longest(std::numeric_limits<double>::infinity());
  std::vector<StageLoad> before;
  const auto loads_at = [&](const std::vector<int>& level) {
    before.clear();
    for (const int place : level) before.push_back(costs.load_before(place));
  };
  const auto layers_at = [](const std::vector<int>& level, const StageCuts& cuts) {
    std::vector<int> firsts;
    for (const int place : cuts.places) firsts.push_back(level[static_cast<std::size_t>(place)]);
    return firsts;
  };
  for (const std::vector<int>& level : levels) {
    loads_at(level);
    StageBalance balance(before, weights, plan.mesh[Axis::pipeline]);
    // More places that more has to cross are of no use where the longest stage stays as it is.
    if (balance.shortest() >= least_longest * (1 - cut_rounding)) continue;
    least_longest = balance.shortest();
    StageCuts cuts = balance.light_first();
    if (levels.size() == 1 || cuts.fullest > available) cuts = balance.least_full();
    Choice choice{cuts.fullest <= available, cuts.fullest.value(), {}, &level};
    choice.firsts = layers_at(level, cuts);
    if (levels.size() > 1 && choice.fits) {
      const Staged own = staged(bare, costs, choice.firsts);
      if (best && best->fits && own.iteration().value() >= best->cost) continue;
      Updates updates;
      choice.cost = complete(bare, costs, choice.firsts, own, updates).iteration();
    }
    if (!best || std::tuple(!choice.fits, choice.cost) < std::tuple(!best->fits, best->cost)) best = std::move(choice);
  }
  if (!best) return {};
  if (levels.size() == 1 || !best->fits) return best->firsts;
  loads_at(*best->level);
  return layers_at(*best->level, StageBalance(before, weights, plan.mesh[Axis::pipeline]).least_full());
}

const std::vector<int>& Estimator::stages(const Plan& plan) const {
  Split& own = split(plan);
  if (!own.cuts) own.cuts = cut(plan, *own.costs);
  return *own.cuts;
}

int Estimator::most_blocks_again(const Plan& plan) const {
  const std::vector<int>& firsts = stages(plan);
  Plan all = plan;
  all.recompute_blocks = 1;
  const std::int64_t each = most_recomputed_blocks(all);
  std::int64_t most = 0;
  for (std::size_t stage = 0; stage + 1 < firsts.size(); ++stage)
    most = std::max(most, blocks_of(*job_.facts.model, table(plan).kinds(), firsts[stage], firsts[stage + 1]));
  return static_cast<int>(std::clamp<std::int64_t>((most + each - 1) / each - 1, 0, most_recompute_blocks));
}

Limits Estimator::limits(const Plan& plan) const {
  Limits limits = limits_of({job_.facts, plan, job_.coefficients.software});
  if (plan.mesh.devices() > job_.machine.devices()) {
    limits.add(
        {Limit::Kind::devices, static_cast<double>(plan.mesh.devices()), static_cast<double>(job_.machine.devices()), -1});
  }
  if (plan.recompute_blocks > 0 && plan.recompute != Recompute::full)
    limits.add({Limit::Kind::recompute_blocks, static_cast<double>(plan.recompute_blocks)});
  if (plan.recompute_modules != Plan().recompute_modules) {
    const RecomputeModules lacking = plan.recompute_modules.without(job_.facts.has_modules);
    Limit limit{Limit::Kind::recompute_modules};
    if (const auto module = lacking.outermost()) limit.item = recompute_module_names[*module];
    // What the software keeps: its own choice.
    limit.available = job_.assumptions.selective == SelectiveRecompute::products ? 1 : 0;
    if (plan.recompute != Recompute::selective || limit.available > 0 || !limit.item.empty()) limits.add(limit);
  }
  if (const auto limit = host_limit(plan, {})) limits.add(*limit);
  return limits;
}

std::optional<Limit> Estimator::host_limit(const Plan& plan, const MemoryBreakdown& memory) const {
  if (plan.offload == Offload::none && !plan.offload_activations) return std::nullopt;
  if (host_link(job_.machine).value() <= 0) return Limit{Limit::Kind::no_host};
  if (!job_.machine.storage.host_memory) return std::nullopt;
  const double ranks =
      std::min(static_cast<double>(plan.mesh.devices()), static_cast<double>(job_.machine.devices_per_node()));
  const Bytes on_host = host_parameters(job_, plan) + memory.on_host * ranks;
  const Bytes of_host = *job_.machine.storage.host_memory;
  if (on_host <= of_host) return std::nullopt;
  return Limit{Limit::Kind::host_memory, on_host.value(), of_host.value(), -1};
}

Estimate Estimator::estimate(const Plan& plan) const {
  Estimate result;
  result.plan = plan;
  result.limits = limits(plan);
  if (result.limits.empty()) price(result);
  if (!is_finite(result.time.iteration()) || !is_finite(result.memory.total())) {
    // No figure of it is one.
    result.limits.add({Limit::Kind::not_finite});
    result.time = {};
    result.memory = {};
  }
  return result;
}

Bytes Estimator::managed_demand(const Plan& plan) const {
  // Without recomputation and offloading: that never saves time, which the bounds of a search rely on.
  Plan bare = plan;
  bare.zero_stage = 0;
  bare.shard_group = 0;
  bare.recompute = Recompute::none;
  bare.offload = Offload::none;
  bare.offload_activations = false;
  Bytes demand = memory(bare).total();
  const double tiles = plan.mesh[Axis::spatial];
  const Model& model = *job_.facts.model;
  const Bytes item(item_bytes(plan.precision) * samples_per_micro_batch(plan));
  demand += item * (static_cast<double>(model.input.items()) * (1 - 1 / tiles));
  double widest = 0;
  const ReplicatedLayers replicated = replicated_layers_of(plan);
  for (const int layer : job_.facts.weighted) {
    if (!replicated.contains(layer)) widest = std::max(widest, static_cast<double>(shape_of(model, layer).items()) / tiles);
  }
  return demand + item * (widest * job_.coefficients.software.tile_copies.value_or(0));
}

bool Estimator::may_page(const Plan& plan) const {
  return job_.coefficients.software.managed_memory.value_or(false) && job_.assumptions.host_staging && job_.machine.host &&
         plan.mesh[Axis::spatial] > 1 && plan.mesh[Axis::pipeline] == 1;
}

Seconds Estimator::paging(const Plan& plan) const {
  if (!may_page(plan)) return {};
  const Bytes demand = managed_demand(plan);
  if (demand <= job_.machine.device.memory) return {};
  // Pages leave in the order in which they were used last, which a pass that is longer than the memory needs next; those
  // that come and those that go share no direction of the link.
  constexpr double passes = 2;
  return demand / (job_.machine.host->bandwidth / job_.machine.host->devices_per_link) * passes;
}

Step Estimator::step_of(const Plan& plan, const LayerCostTable& costs, const std::vector<int>& firsts) const {
  Step step;
  step.origin = costs.learned();
  step.origin[Coefficient::launch_overhead] = launch_overhead(job_).value();
  const Learned* origin = costs.has_slopes() ? &step.origin : nullptr;
  step.stages = plan.mesh[Axis::pipeline];
  step.micro_batches = static_cast<double>(plan.micro_batches);
  const ScheduleOrder& order = order_of(plan.schedule);
  step.stretches = plan.virtual_stages * (order.course == Course::there_and_back ? order.stretches : 1);
  step.fills_bubbles = order.fills_bubbles;
  step.in_slots = job_.assumptions.slot_pipeline && step.stages > 1;
  const double ranks = static_cast<double>(plan.mesh.devices());
  step.several_ranks = ranks > 1;
  step.slowest_of = std::max(1.0, ranks / job_.machine.devices_per_node());
  // The factors fitted to measured runs of this family include it.
  if (origin == nullptr && job_.assumptions.learned && costs.learned() == Learned())
    step.rank_waiting = job_.coefficients.software.rank_waiting.value_or(0) * std::log(ranks);
  step.straggling = job_.assumptions.straggler - 1;
  const double driven = plan.mesh[Axis::data];
  if (job_.coefficients.software.one_process.value_or(false) && driven > 1) {
    step.forward_hosts = 1 + job_.coefficients.software.serial_forward.value_or(1) * (driven - 1);
    step.backward_hosts = job_.coefficients.software.backward_threads.value_or(1);
  }
  step.input_beside = job_.assumptions.input_overlapped;
  if (job_.assumptions.include_input) step.reading = input_time(job_, plan, costs.exchanges(), origin != nullptr);
  Link next;
  if (step.stages > 1) next = costs.exchanges().neighbour_link(family_bit(Axis::pipeline), Purpose::pipeline).link;
  step.transfers.resize(static_cast<std::size_t>(step.stages));
  step.tasks.reserve(static_cast<std::size_t>(step.stages) * 4);
  for (int stage = 0; stage < step.stages; ++stage) {
    const auto index = static_cast<std::size_t>(stage);
    const int first = firsts[index];
    const std::size_t own = step.tasks.size();
    const LayerCosts of_stage = costs.between(first, firsts[index + 1]);
    if (plan.recompute == Recompute::full) {
      const LayerCosts again = recomputed_costs(*job_.facts.model, costs, plan, first, firsts[index + 1]);
      add_tasks(of_stage, &again, stage, plan, origin, step.tasks);
    } else {
      add_tasks(of_stage, nullptr, stage, plan, origin, step.tasks);
    }
    add_hidden_exchanges(of_stage, hidden_share(job_, plan, of_stage, stage), stage, origin, step.tasks);
    if (plan.offload_activations) add_activation_traffic(plan, stage, first, firsts[index + 1], own, step.tasks);
    if (step.several_ranks && (step.origin[Coefficient::per_micro_batch] > 0 || origin != nullptr)) {
      Term fixed(Seconds(step.origin[Coefficient::per_micro_batch]));
      if (origin != nullptr) fixed.add_slope(Coefficient::per_micro_batch, 1);
      step.tasks.push_back({stage, false, Part::waiting, 0, fixed, bubble_shares(plan).forward});
    }
    if (gathers_weights(plan)) {
      // The host starts what gathers a unit of weights and takes it apart, before forward and before backward, and what
      // joins its gradients and scatters them. Units are taken to be as large as the messages of gradients.
      const Bytes weights(costs.between(first, firsts[index + 1]).parameters * item_bytes(plan.precision));
      const double units = std::max(1.0, weights / gradient_bucket);
      step.tasks.push_back({stage, false, Part::waiting, 2 * units, Term(Seconds{}), bubble_shares(plan).forward});
      step.tasks.push_back({stage, true, Part::waiting, 4 * units, Term(Seconds{}), bubble_shares(plan).forward});
    }
    step.paging = paging(plan);
    if (step.paging > Seconds{})
      step.tasks.push_back({stage, false, Part::waiting, 0, Term(step.paging), bubble_shares(plan).forward});
    if (stage == 0) continue;
    const Seconds hop = next.alpha + costs.cut_bytes(first) * next.beta;
    if (origin != nullptr) {
      step.transfers[index].add_exchange(path_coefficients(Purpose::pipeline), hop, next.alpha, *origin);
    } else {
      step.transfers[index].add(hop);
    }
  }
  return step;
}

void Estimator::add_activation_traffic(const Plan& plan, int stage, int first, int last, std::size_t own,
                                       std::vector<Task>& tasks) const {
  const double link = host_link(job_.machine).value();
  if (link <= 0 || job_.assumptions.memory_reuse) return;
  const Seconds moving = peaks_of(plan, first, last, 1).earlier[MemoryItem::activations] / Bandwidth(link);
  const BubbleShares shares = bubble_shares(plan);
  for (const bool backward : {false, true}) {
    Seconds busy{};
    for (std::size_t i = own; i < tasks.size(); ++i) {
      if (tasks[i].backward == backward) busy += tasks[i].time.time();
    }
    if (moving <= busy) continue;
    tasks.push_back(
        {stage, backward, Part::waiting, 0, Term(moving - busy), backward ? shares.input_gradient : shares.forward});
  }
}

Estimator::Staged Estimator::staged(const Plan& plan, const LayerCostTable& costs, const std::vector<int>& firsts) const {
  Staged result{step_of(plan, costs, firsts), {}};
  result.timing = run(result.step, result.step.origin);
  return result;
}

const Estimator::Staged& Estimator::staged(const Plan& plan) const {
  const std::vector<int>& firsts = stages(plan);
  auto& staged = split(plan).staged;
  // GPipe takes as long as 1F1B, unless 1F1B hides exchanges.
  const bool alike =
      !order_of(plan.schedule).fills_bubbles && !job_.coefficients.software.overlaps_expert_exchanges.value_or(false);
  const Schedule order = alike ? Schedule::one_forward_one_backward : plan.schedule;
  const std::tuple key(plan.recompute, plan.recompute_blocks, plan.virtual_stages, order, plan.offload_activations,
                       gathers_weights(plan));
  const auto known = staged.find(key);
  if (known != staged.end()) return known->second;
  return staged.emplace(key, this->staged(plan, table(plan), firsts)).first->second;
}

Timing<double> Estimator::complete(const Plan& plan, const LayerCostTable& costs, const std::vector<int>& firsts,
                                   const Staged& staged, Updates& updates) const {
  updates = updates_of(job_, plan, costs, firsts);
  Timing<double> timing = staged.timing;
  finish(staged.step, updates, staged.step.origin, timing);
  return timing;
}

Estimator::StepTemplate Estimator::step_template(const Plan& plan) const {
  const std::vector<int>& firsts = stages(plan);
  const LayerCostTable costs(job_, plan, kinds_of(replicated_layers_of(plan)), true);
  return {step_of(plan, costs, firsts), updates_of(job_, plan, costs, firsts)};
}

const Updates& Estimator::updates(const Plan& plan) const {
  const std::vector<int>& firsts = stages(plan);
  const std::tuple key(plan.zero_stage, plan.shard_group, plan.reshard, plan.secondary_shards, plan.offload,
                       order_of(plan.schedule).keeps_two_parts);
  auto& updates = split(plan).updates;
  const auto known = updates.find(key);
  if (known != updates.end()) return known->second;
  return updates.emplace(key, updates_of(job_, plan, table(plan), firsts)).first->second;
}

Seconds Estimator::iteration(const Plan& plan) const {
  const Updates& updates = this->updates(plan);
  const Staged& staged = this->staged(plan);
  Timing<double> timing = staged.timing;
  finish(staged.step, updates, staged.step.origin, timing);
  return Seconds(timing.iteration());
}

double Estimator::held_parts(const Plan& plan, int stage) const {
  if (!order_of(plan.schedule).keeps_two_parts || plan.mesh[Axis::pipeline] == 1) return 1;
  const std::vector<int>& firsts = stages(plan);
  const auto parameters = [&](int each) {
    const auto index = static_cast<std::size_t>(each);
    return stage_parameters(job_, table(plan), firsts[index], firsts[index + 1]);
  };
  const double own = parameters(stage);
  return own > 0 ? 1 + parameters(plan.mesh[Axis::pipeline] - 1 - stage) / own : 2;
}

LayerRange Estimator::foremost_alike(const Plan& plan, int first, int last) const {
  const LayerRuns& runs = table(plan).kinds().runs;
  const LayerRuns::Place begin = runs.place(first), end = runs.place(last);
  if (begin.run != end.run || begin.repeat <= 1) return {first, last};
  const int shift = (begin.repeat - 1) * runs.runs()[begin.run].period;
  return {first - shift, last - shift};
}

const StagePeaks& Estimator::peaks_of(const Plan& plan, int stage_first, int stage_last, double parts) const {
  const auto [first, last] = foremost_alike(plan, stage_first, stage_last);
  const auto key = std::tuple(first, last, MemoryChoices(plan), parts);
  Split& own = split(plan);
  const auto known = own.peaks.find(key);
  if (known != own.peaks.end()) return known->second;
  Plan once = plan;
  once.recompute = Recompute::none;
  const auto [resident, is_new_resident] = own.residents.try_emplace({first, last, MemoryChoices(once), parts});
  if (is_new_resident) resident->second = resident_peaks(job_, plan, *own.costs, first, last, parts);
  const auto [pass, is_new_pass] = own.passes.try_emplace({first, last, PassChoices(plan, job_.assumptions)});
  if (is_new_pass) pass->second = pass_peaks(job_, plan, *own.costs, first, last);
  return own.peaks.emplace(key, StagePeaks(resident->second, pass->second)).first->second;
}

MemoryBreakdown Estimator::memory_of(const Plan& plan, int stage) const {
  const std::vector<int>& firsts = stages(plan);
  const auto index = static_cast<std::size_t>(stage);
  const int first = firsts[index], last = firsts[index + 1];
  const StagePeaks* peaks = job_.assumptions.memory_reuse ? nullptr : &peaks_of(plan, first, last, held_parts(plan, stage));
  return stage_memory(job_, plan, table(plan), stage, first, last, peaks);
}

Estimator::PeakStage& Estimator::peak_stage(const Plan& plan) const {
  const std::vector<int>& firsts = stages(plan);
  std::vector<PeakStage>& all = split(plan).peak_stage;
  for (PeakStage& known : all) {
    if (known.choices == MemoryChoices(plan) && known.schedule == plan.schedule &&
        known.virtual_stages == plan.virtual_stages && known.firsts == firsts) {
      return known;
    }
  }
  PeakStage& result = all.emplace_back(PeakStage{firsts, plan.schedule, plan.virtual_stages, MemoryChoices(plan), {}, 0});
  for (int stage = 0; stage < plan.mesh[Axis::pipeline]; ++stage) {
    const MemoryBreakdown memory = memory_of(plan, stage);
    if (stage == 0 || memory.total() > result.memory.total()) {
      result.memory = memory;
      result.stage = stage;
    }
  }
  return result;
}

const MemoryBreakdown& Estimator::memory(const Plan& plan) const { return peak_stage(plan).memory; }

void Estimator::price(Estimate& result) const {
  const Plan& plan = result.plan;
  if (stages(plan).empty()) return;
  const LayerCostTable& costs = table(plan);
  const Staged& staged = this->staged(plan);
  Updates updates;
  const Timing<double> timing = complete(plan, costs, stages(plan), staged, updates);
  result.time = breakdown_of(timing);
  result.critical = timing.critical;
  result.host_waiting = Seconds(timing.host_waiting);
  result.hidden_exchange = Seconds(timing.hidden_exchange);
  result.hidden_input = Seconds(timing.hidden_input);
  result.gradient_algorithm = updates.stages[static_cast<std::size_t>(timing.critical.gradient_exchange)].exchange.algorithm;
  const PeakStage& peak_stage = this->peak_stage(plan);
  result.memory = peak_stage.memory;
  result.critical.memory = peak_stage.stage;

  const Breakdown& time = result.time;
  const double ranks = static_cast<double>(plan.mesh.devices());
  const double batch = static_cast<double>(plan.global_batch);
  // A batch larger than the data set is an epoch all the same; the closed forms count fractions of an iteration.
  const double iterations = job_.samples_per_epoch / batch;
  result.epoch = time.iteration() * (job_.assumptions.linear_kernels ? iterations : std::max(1.0, iterations));
  // One device may take the batch in parts of the reference size, or of this plan's, whichever is faster.
  const double reference = std::min(job_.kernels.reference_batch(), batch);
  const double samples = samples_per_micro_batch(plan);
  const Seconds per_sample = min(whole_time(reference, 1).all / reference, whole_time(samples, 1).all / samples);
  // The same for all plans of one batch: in parts of any other size a device is no faster.
  const Seconds alone = whole_time(batch, 1).all + single_device_launch(batch).idle + serial_update_;
  result.efficiency = time.iteration().value() > 0 ? alone / time.iteration() / ranks : 0.0;
  // Recomputed work is not redundant.
  const LayerCosts& total = costs.total();
  const std::vector<int>& firsts = this->stages(plan);
  Seconds computed_again = plan.recompute == Recompute::selective ? total.selected_forward : Seconds{};
  for (std::size_t stage = 0; stage + 1 < firsts.size(); ++stage)
    computed_again += recomputed_costs(*job_.facts.model, costs, plan, firsts[stage], firsts[stage + 1]).forward;
  const double again = computed_again.value() > 0 ? computed_again / (total.forward + total.backward) : 0.0;
  const Seconds fair = per_sample * (1.0 + again) * (batch / ranks);
  if (plan.recompute_blocks > 0) result.recomputed_share = recomputed_share(job_.facts, costs.kinds(), plan, firsts);
  Seconds all_kernels{}, longest_kernels{};
  for (const Timing<double>::Stage& stage : timing.stages) {
    const Seconds own(stage.kernels());
    all_kernels += own;
    longest_kernels = max(longest_kernels, own);
  }
  const double stages = static_cast<double>(timing.stages.size());
  const Seconds kernels = (all_kernels / stages) * static_cast<double>(plan.micro_batches);
  result.replicated_share = kernels.value() > 0 ? std::clamp(1.0 - fair / kernels, 0.0, 1.0) : 0.0;
  result.imbalance = all_kernels.value() > 0 ? longest_kernels * stages / all_kernels - 1.0 : 0.0;

  if (const auto limit = host_limit(plan, result.memory)) result.limits.add(*limit);
  result.verdict = verdict_of(result.memory, job_.machine.device.memory);
  if (result.verdict == Verdict::does_not_fit) {
    result.limits.add(memory_limit(result.memory, job_.machine.device));
  }
}

ParameterCounts Estimator::parameter_counts(const Plan& plan, int stage) const {
  const std::vector<int>& firsts = stages(plan);
  const auto index = static_cast<std::size_t>(stage);
  return ddl::parameter_counts(job_, plan, table(plan), firsts[index], firsts[index + 1], held_parts(plan, stage));
}

MemoryTimeline Estimator::timeline_of(const Plan& plan, int stage, const TimelineOptions& options) const {
  const std::vector<int>& firsts = stages(plan);
  const auto index = static_cast<std::size_t>(stage);
  return ddl::memory_timeline(job_, plan, table(plan), stage, firsts[index], firsts[index + 1], options,
                              held_parts(plan, stage));
}

std::optional<MemoryTimeline> Estimator::memory_timeline(const Plan& plan, const TimelineOptions& options) const {
  if (job_.assumptions.memory_reuse || plan.offload_activations) return std::nullopt;
  const Estimate estimate = this->estimate(plan);
  if (estimate.time.iteration().value() <= 0) return std::nullopt;
  return timeline_of(plan, estimate.critical.memory, options);
}

std::optional<StepTimeline> Estimator::step_timeline(const Plan& plan) const {
  if (estimate(plan).time.iteration().value() <= 0) return std::nullopt;
  const Staged& known = staged(plan);
  Updates updates;
  return ddl::step_timeline(known.step, complete(plan, table(plan), stages(plan), known, updates), plan);
}

void Estimator::add_reserved(Estimate& estimate) const {
  // The model of the allocator does not know what lies in the memory of the host.
  if (job_.assumptions.memory_reuse || estimate.time.iteration().value() <= 0 || estimate.plan.offload_activations) return;
  PeakStage& known = peak_stage(estimate.plan);
  if (!known.has_reserved) {
    TimelineOptions options;
    options.details = false;
    known.memory.peak_reserved = timeline_of(estimate.plan, known.stage, options).peak_reserved;
    known.has_reserved = true;
  }
  estimate.memory.peak_reserved = known.memory.peak_reserved;
  // No more is needed than may be held; what the device does not have is not held.
  const Bytes held = min(estimate.memory.held(), job_.machine.device.memory);
  estimate.memory.uncertainty = max(estimate.memory.uncertainty, held - estimate.memory.total());
}

std::vector<Estimate*> Estimator::by_split(std::vector<Estimate>& estimates) {
  const auto key = [](const Plan& plan) {
    return std::tuple(split_of(plan), plan.placement, MemoryChoices(plan), plan.schedule, plan.virtual_stages);
  };
  std::vector<std::pair<decltype(key(Plan())), Estimate*>> keyed;
  keyed.reserve(estimates.size());
  for (Estimate& each : estimates) keyed.emplace_back(key(each.plan), &each);
  std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Estimate*> order;
  order.reserve(keyed.size());
  for (const auto& [plan, estimate] : keyed) order.push_back(estimate);
  return order;
}

void Estimator::add_reserved(std::vector<Estimate>& estimates) const {
  for (Estimate* each : by_split(estimates)) add_reserved(*each);
}

}  // namespace ddl
