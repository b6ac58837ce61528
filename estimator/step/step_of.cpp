#include "estimator/step/step_of.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "estimator/exchanges/synchronization.hpp"
#include "estimator/facts/token_order.hpp"
#include "estimator/layers/host_launches.hpp"
#include "estimator/layers/overlaps.hpp"
#include "estimator/layers/recomputed_layers.hpp"
#include "estimator/layers/token_pieces.hpp"
#include "estimator/layers/zero_parts.hpp"
#include "estimator/schedules/schedule.hpp"
#include "estimator/step/host_traffic.hpp"
#include "estimator/step/input.hpp"
#include "estimator/step/tasks.hpp"
#include "estimator/strategies/strategy.hpp"

namespace ddl {

bool may_page(const Job& job, const Plan& plan) {
  return job.coefficients.software.managed_memory.value_or(false) && job.assumptions.host_staging && job.machine.host &&
         plan.mesh[Axis::spatial] > 1 && plan.mesh[Axis::pipeline] == 1;
}

namespace {

/// Returns the managed memory that a rank of a spatial split needs for one micro-batch: the rank's tensors, the whole
/// samples that contain its tile, and the copies that join the largest tile with its halos.
Bytes managed_demand(const StageMemories& memories, const Plan& plan) {
  const Job& job = memories.job();
  // Recomputation and offloading are ignored, because the bounds of a search require that
  // recomputation and offloading save no time.
  Plan bare = plan;
  bare.zero_stage = 0;
  bare.shard_group = 0;
  bare.recompute = Recompute::none;
  bare.recompute_segments.clear();
  bare.zero_segments.clear();
  bare.offload = Offload::none;
  bare.offload_activations = false;
  const int layers = static_cast<int>(job.facts.model->layers.size());
  Bytes demand = memories.fullest(bare, {0, layers}).memory.total();
  const double tiles = plan.mesh[Axis::spatial];
  const Model& model = *job.facts.model;
  const Bytes item(item_bytes(plan.precision) * samples_per_micro_batch(plan));
  demand += item * (static_cast<double>(model.input.items()) * (1 - 1 / tiles));
  double widest = 0;
  const ReplicatedLayers replicated = memories.tables().replicated_layers_of(plan);
  for (const int layer : job.facts.weighted) {
    if (!replicated.contains(layer)) widest = std::max(widest, static_cast<double>(shape_of(model, layer).items()) / tiles);
  }
  return demand + item * (widest * job.coefficients.software.tile_copies.value_or(0));
}

/// Returns the time in which managed memory passes over the host link for one micro-batch, once in
/// forward and once in backward. Zero if the memory that a rank needs fits in the device.
Seconds paging(const StageMemories& memories, const Plan& plan) {
  const Job& job = memories.job();
  if (!may_page(job, plan)) return {};
  const Bytes demand = managed_demand(memories, plan);
  if (demand <= job.machine.device.memory) return {};
  // The least recently used pages are evicted first. In a pass over more memory than the device has, these are the pages
  // that are needed next, so each pass moves all memory over the link. Evicted pages use the other direction of the link.
  constexpr double passes = 2;
  return demand / (job.machine.host->bandwidth / job.machine.host->devices_per_link) * passes;
}

/// A stage with layers [first, last).
struct StageLayers {
  int stage = 0, first = 0, last = 0;
};

/// Adds the time that a stage waits until activations are offloaded to host memory or fetched back.
/// `own`: the stage's first task.
void add_activation_traffic(const StageMemories& memories, const Plan& plan, const StageLayers& stage, std::size_t own,
                            std::vector<Task>& tasks) {
  const Job& job = memories.job();
  const double link = host_link(job.machine).value();
  if (link <= 0 || job.assumptions.memory_reuse) return;
  const Seconds moving = memories.kept(plan, stage.first, stage.last)[MemoryItem::activations] / Bandwidth(link);
  const BubbleShares shares = bubble_shares(plan, job.assumptions);
  for (const bool backward : {false, true}) {
    Seconds busy{};
    for (std::size_t i = own; i < tasks.size(); ++i) {
      if (tasks[i].backward == backward) busy += tasks[i].exposed();
    }
    if (moving <= busy) continue;
    tasks.push_back(
        {stage.stage, backward, Part::waiting, 0, Term(moving - busy), backward ? shares.input_gradient : shares.forward});
  }
}

/// Returns the share of micro-batches for which a stage gathers its weights.
double gathering_share(const Job& job, const Plan& plan) {
  return holds_whole(plan, job.assumptions) ? 1.0 / static_cast<double>(plan.micro_batches) : 1.0;
}

/// Returns the time of the kernels of ZeRO-3 that copy, for a micro-batch of a stage, gathered weights to tensors of their
/// own and, in backward, gradients to the message of a scatter [PyTorch,
/// torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py, foreach_all_gather_copy_out and foreach_reduce_scatter_copy_in;
/// DeepSpeed, deepspeed/runtime/zero/partition_parameters.py, AllGatherCoalescedHandle.wait].
Seconds copy_time(const Job& job, const Plan& plan, const LayerCosts& own, bool backward) {
  if (!job.assumptions.copies_gathered || job.times_whole_layers()) return {};
  const ExchangedBytes each = exchanged_bytes(plan, job.assumptions, job.facts);
  if (backward && !each.has_backward) return {};
  const double trained = own[LayerCount::trained], frozen = own[LayerCount::parameters] - trained;
  const double item = item_bytes(plan.precision);
  double moved = backward ? trained * (item + each.gradient) : 0;
  if (!backward || (plan.reshard && !each.is_once_a_step)) moved += 2 * (trained * each.weight + frozen * each.frozen);
  const Work work{.weight_items = moved / item, .kind = KernelKind::elementwise};
  if (moved <= 0) return {};
  return job.kernels.kernel_time(work, Pass::forward, 1, plan.precision) * gathering_share(job, plan);
}

/// Sets how the schedule of a plan orders the micro-batches of a step.
void set_order(const Plan& plan, Step& step) {
  const ScheduleOrder& order = order_of(plan.schedule);
  step.chunks = plan.virtual_stages * (order.course == Course::there_and_back ? order.chunks : 1);
  step.fills_bubbles = order.fills_bubbles;
  const bool alternates = plan.virtual_stages > 1 && plan.schedule == Schedule::one_forward_one_backward;
  step.overlapped_batches = step.stages > 1 && alternates ? std::min<double>(step.stages, step.micro_batches) : 1;
}

}  // namespace

void set_waiting(const Job& job, const Plan& plan, const Learned& learned, bool is_fitted, Step& step) {
  const Synchronization way = synchronization_of(plan, job.assumptions);
  const double devices = static_cast<double>(plan.mesh.devices()), workers = plan.mesh[Axis::data];
  step.several_ranks = devices > 1;
  // Without a barrier, only the ranks of one worker wait for each other. A worker that may be a step ahead compensates
  // random delays, but not a device that is always slow.
  const bool has_barrier = way == Synchronization::sync || way == Synchronization::gossip;
  const double ranks = has_barrier ? devices : devices / workers;
  step.slowest_of = std::max(1.0, ranks / job.machine.devices_per_node());
  // Factors that are fitted to measured runs of this family already include the waiting of ranks.
  if (!is_fitted && job.assumptions.learned && learned == Learned())
    step.rank_waiting = job.coefficients.software.rank_waiting.value_or(0) * std::log(ranks);
  const double straggling = job.assumptions.straggler - 1;
  step.straggling = is_lone(way) ? 0.0 : straggling;
  step.lone_straggling = straggling - step.straggling;
  step.workers = workers;
  step.fixed_waiting = fixed_waiting(job, plan);
}

bool waits_alike(const Job& job, const Plan& plan) {
  const BubbleShares shares = bubble_shares(plan, job.assumptions);
  return shares.forward == shares.input_gradient && shares.forward == shares.weight_gradient && !plan.offload_activations &&
         !job.coefficients.software.overlaps_expert_exchanges.value_or(false);
}

Step in_chunks(const Job& job, const Plan& plan, Step step) {
  set_order(plan, step);
  const double bubble = bubble_shares(plan, job.assumptions).forward;
  for (Task& task : step.tasks) task.bubble = bubble;
  return step;
}

bool gathers_weights(const Plan& plan) { return plan.zero_stage == 3 && plan.mesh.replicas() > 1; }

namespace {

/// Adds what ZeRO-3 does on a device for each micro-batch. For each unit of weights, the host launches kernels. Before
/// forward and before backward, these kernels gather the unit and split it up. After backward, they concatenate the unit's
/// gradients and scatter them. A unit is assumed to be as large as a message of gradients.
void add_gather_tasks(const Job& job, const Plan& plan, const LayerCosts& own, int stage, Step& step) {
  if (!gathers_weights(plan)) return;
  const Bytes weights(own[LayerCount::parameters] * item_bytes(plan.precision));
  const double units = std::max(1.0, weights / 25_MiB) * gathering_share(job, plan);
  for (const bool backward : {false, true}) {
    const Term copies(copy_time(job, plan, own, backward));
    step.tasks.push_back(
        {stage, backward, Part::waiting, (backward ? 4 : 2) * units, copies, bubble_shares(plan, job.assumptions).forward});
  }
}

/// Adds the kernels and exchanges of a stage's layers, one wave after the other.
void add_layer_tasks(const Job& job, const Plan& plan, const LayerCostTable& costs, const StageLayers& stage,
                     const Learned* origin, Step& step) {
  const double hidden = hidden_share_of_experts(job, plan, costs.between(stage.first, stage.last), stage.stage);
  for (const StagePart& part : parts_of_stage(step.waves, stage.first, stage.last)) {
    const std::size_t own = step.tasks.size();
    const LayerCosts& of_part = costs.between(part.first, part.last);
    if (plan.recompute == Recompute::full) {
      const LayerCosts again = recomputed_costs(job, costs, plan, part.first, part.last);
      add_tasks({of_part, &again, hidden}, stage.stage, plan, job.assumptions, origin, step.tasks);
    } else {
      add_tasks({of_part, nullptr, hidden}, stage.stage, plan, job.assumptions, origin, step.tasks);
    }
    for (std::size_t i = own; i < step.tasks.size(); ++i) step.tasks[i].wave = part.wave;
  }
}

/// Adds the tasks of the stages of a step, one stage after the other.
class StagesTasks {
 public:
  /// `origin`: as for add_tasks. The other values of the step are known.
  StagesTasks(const StageMemories& memories, const Plan& plan, const LayerCostTable& costs, const Learned* origin,
              Step& step)
      : memories_(memories), job_(memories.job()), plan_(plan), costs_(costs), origin_(origin), step_(step) {}

  /// Adds the tasks of the next stage. Stages with equal layers have equal tasks.
  void add(const StageLayers& stage) {
    const std::size_t own = step_.tasks.size();
    // Some layers of a segment are recomputed, or have another ZeRO stage. How many All-to-alls of experts are hidden
    // depends on the place of the stage in the pipeline. A wave has its number.
    const bool may_be_alike = plan_.recompute_segments.empty() && plan_.zero_segments.empty() && step_.pieces <= 1 &&
                              !job_.coefficients.software.overlaps_expert_exchanges.value_or(false);
    const LayerRange layers{stage.first, stage.last};
    if (stage.stage > 0 && may_be_alike && have_equal_layers(costs_.kinds().runs, before_, layers)) {
      for (std::size_t i = begin_before_; i < own; ++i) {
        const Task task = step_.tasks[i];
        step_.tasks.push_back(task);
        step_.tasks.back().stage = stage.stage;
      }
    } else {
      add_new(stage);
    }
    before_ = layers;
    begin_before_ = own;
  }

 private:
  void add_new(const StageLayers& stage) {
    const std::size_t own = step_.tasks.size();
    add_layer_tasks(job_, plan_, costs_, stage, origin_, step_);
    const std::size_t of_layers = step_.tasks.size();
    if (plan_.offload_activations) add_activation_traffic(memories_, plan_, stage, own, step_.tasks);
    const double bubble = bubble_shares(plan_, job_.assumptions).forward;
    if (step_.several_ranks && (step_.origin[Coefficient::per_micro_batch] > 0 || origin_ != nullptr)) {
      Term fixed(Seconds(step_.origin[Coefficient::per_micro_batch]));
      if (origin_ != nullptr) fixed.add_slope(Coefficient::per_micro_batch, 1);
      step_.tasks.push_back({stage.stage, false, Part::waiting, 0, fixed, bubble});
    }
    if (!plan_.zero_segments.empty()) {
      for (const ZeroPart& part : zero_parts(plan_, stage.first, stage.last))
        add_gather_tasks(job_, part.plan, costs_of(costs_, part), stage.stage, step_);
    } else {
      add_gather_tasks(job_, plan_, costs_.between(stage.first, stage.last), stage.stage, step_);
    }
    if (step_.paging > Seconds{}) step_.tasks.push_back({stage.stage, false, Part::waiting, 0, Term(step_.paging), bubble});
    if (step_.pieces <= 1) return;
    for (std::size_t i = of_layers; i < step_.tasks.size(); ++i)
      step_.tasks[i].wave = step_.waves[static_cast<std::size_t>(stage.first)];
  }

  const StageMemories& memories_;
  const Job& job_;
  const Plan& plan_;
  const LayerCostTable& costs_;
  const Learned* origin_;
  Step& step_;
  LayerRange before_;             ///< the layers of the stage before
  std::size_t begin_before_ = 0;  ///< index of its first task
};

/// Sets how the stages of a step pass on the tokens of a sample. Between layers of one wave, the first micro-batch waits for
/// the transfer of one piece.
void set_pieces(const Job& job, const Plan& plan, const std::vector<int>& firsts, Step& step) {
  step.pieces = token_pieces(job.facts, plan, job.assumptions);
  if (step.pieces <= 1) return;
  step.waves = waves_of(job.facts);
  for (std::size_t stage = 1; stage + 1 < firsts.size(); ++stage) {
    const auto first = static_cast<std::size_t>(firsts[stage]);
    if (step.waves[first - 1] == step.waves[first]) step.hidden_hops += 1 - 1 / step.pieces;
  }
}

}  // namespace

Step step_of(const StageMemories& memories, const Plan& plan, const LayerCostTable& costs, const std::vector<int>& firsts) {
  const Job& job = memories.job();
  Step step;
  step.origin = costs.learned();
  step.origin[Coefficient::launch_overhead] = launch_overhead(job).value();
  const Learned* origin = costs.has_slopes() ? &step.origin : nullptr;
  step.stages = plan.mesh[Axis::pipeline];
  step.micro_batches = static_cast<double>(plan.micro_batches);
  set_order(plan, step);
  set_pieces(job, plan, firsts, step);
  step.has_end = !job.assumptions.weight_versions;
  step.in_slots = job.assumptions.slot_pipeline && step.stages > 1;
  set_waiting(job, plan, costs.learned(), origin != nullptr, step);
  const double driven = plan.mesh[Axis::data];
  if (job.coefficients.software.one_process.value_or(false) && driven > 1) {
    step.forward_hosts = 1 + job.coefficients.software.serial_forward.value_or(1) * (driven - 1);
    step.backward_hosts = job.coefficients.software.backward_threads.value_or(1);
  }
  step.input_window = window_of_input(job.assumptions);
  if (job.assumptions.include_input) step.reading = input_time(job, plan, costs.exchanges(), origin != nullptr);
  Link next;
  if (step.stages > 1) next = costs.exchanges().neighbour_link(family_bit(Axis::pipeline), Purpose::pipeline).link;
  step.transfers.resize(static_cast<std::size_t>(step.stages));
  step.tasks.reserve(static_cast<std::size_t>(step.stages) * 4);
  step.paging = paging(memories, plan);
  StagesTasks tasks(memories, plan, costs, origin, step);
  for (int stage = 0; stage < step.stages; ++stage) {
    const auto index = static_cast<std::size_t>(stage);
    const int first = firsts[index];
    tasks.add({stage, first, firsts[index + 1]});
    if (stage == 0) continue;
    const Seconds startups = next.alpha * step.pieces, hop = startups + costs.cut_bytes(first) * next.beta;
    if (origin != nullptr) {
      step.transfers[index].add_exchange(path_coefficients(Purpose::pipeline), hop, startups, *origin);
    } else {
      step.transfers[index].add(hop);
    }
  }
  return step;
}

}  // namespace ddl
