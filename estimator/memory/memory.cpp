#include "estimator/memory/memory.hpp"

#include <algorithm>
#include <cmath>

#include "core/enum_array.hpp"
#include "estimator/exchanges/gradient_exchange.hpp"
#include "estimator/inputs/base_weights.hpp"
#include "estimator/memory/caching_allocator.hpp"
#include "estimator/memory/memory_tally.hpp"
#include "estimator/memory/stage_requests.hpp"
#include "estimator/memory/unmodeled.hpp"
#include "estimator/schedules/schedule.hpp"
#include "estimator/strategies/shard_memory.hpp"

namespace ddl {
namespace {

constexpr EnumArray<MemoryItem, Bytes MemoryBreakdown::*> parts{
    &MemoryBreakdown::weights, &MemoryBreakdown::gradients, &MemoryBreakdown::optimizer,     &MemoryBreakdown::activations,
    &MemoryBreakdown::input,   &MemoryBreakdown::workspace, &MemoryBreakdown::communication, &MemoryBreakdown::context};

}  // namespace

MemoryOrigin origin_of(const MemoryBreakdown& memory, MemoryItem item) {
  switch (item) {
    case MemoryItem::workspace:
      return memory.workspace_origin;
    case MemoryItem::communication:
    case MemoryItem::context:
      return MemoryOrigin::assumed;
    default:
      return MemoryOrigin::modeled;
  }
}

Bytes MemoryState::requested() const {
  Bytes sum{};
  for (const Bytes bytes : items) sum += bytes;
  return sum;
}

void MemoryState::add(const MemoryState& before, const MemoryState& after, double times) {
  for (std::size_t i = 0; i < items.size(); ++i) items[i] += (after.items[i] - before.items[i]) * times;
  allocated += (after.allocated - before.allocated) * times;
}

Bytes& MemoryBreakdown::of(MemoryItem item) { return this->*parts[item]; }
Bytes MemoryBreakdown::of(MemoryItem item) const { return this->*parts[item]; }

MemoryItem MemoryBreakdown::largest() const {
  return *std::max_element(enum_values<MemoryItem>.begin(), enum_values<MemoryItem>.end(),
                           [this](MemoryItem a, MemoryItem b) { return of(a) < of(b); });
}

ParameterBytes parameter_bytes(Optimizer optimizer, Precision precision, MixedPrecision mixed) {
  ParameterBytes bytes;
  if (is_mixed(precision)) {
    if (mixed == MixedPrecision::half_gradients) bytes = {2, 2, 4};
    if (mixed == MixedPrecision::full_gradients) bytes = {2, 4, 4};
    if (mixed == MixedPrecision::accumulated) bytes = {2, 2 + 4, 4};
    if (mixed == MixedPrecision::pure) bytes = {2, 2, 0};
    // Weights and their transposes are copied to 8 bits once for all micro-batches [NVIDIA, Transformer Engine
    // documentation, te.Linear, is_first_microbatch]. Copies in fp8 have one scale for a whole tensor.
    if (has_narrow_copies(precision)) bytes.weight += 2 * (precision == Precision::fp8 ? 1.0 : narrow_item_bytes(precision));
  }
  const bool has_half_moments = is_mixed(precision) && mixed == MixedPrecision::pure && !has_8bit_state(optimizer);
  bytes.optimizer += optimizer_state_bytes(optimizer) * (has_half_moments ? 0.5 : 1.0);
  return bytes;
}

namespace {

/// Bytes per element of a copy of the weights or of a moment.
double item_bytes_of(StatePrecision precision) {
  switch (precision) {
    case StatePrecision::fp32:
      return 4;
    case StatePrecision::half:
      return 2;
    case StatePrecision::fp8:
      return 1;
    case StatePrecision::none:
      break;
  }
  return 0;
}

/// Replaces the precisions of the master copy and of the moments by those that the assumptions state.
void change_state(const ModelFacts& facts, const Plan& plan, const Assumptions& assumptions, ParameterBytes& bytes) {
  constexpr double wide = 4;
  if (plan.optimizer == Optimizer::adafactor) bytes.optimizer += wide * facts.factored_share;
  if (plan.optimizer == Optimizer::kfac) bytes.optimizer += wide * facts.kfac_items;
  if (plan.optimizer == Optimizer::soap) bytes.optimizer += wide * facts.soap_items;
  // Replicas divide Shampoo's state among each other [Shi et al., arXiv 2309.06497, abstract]; ZeRO shards all state.
  if (plan.optimizer == Optimizer::shampoo)
    bytes.optimizer += wide * facts.shampoo_items / (plan.zero_stage > 0 ? 1 : plan.mesh.replicas());
  if (plan.optimizer == Optimizer::rowwise_adagrad) bytes.optimizer += wide * facts.rowwise_share;
  const MixedPrecision mixed = assumptions.mixed_precision;
  const bool is_pure = is_mixed(plan.precision) && mixed == MixedPrecision::pure;
  const bool changes_moments = is_mixed(plan.precision) && assumptions.moments.has_value();
  const double moment = changes_moments ? item_bytes_of(*assumptions.moments) : is_pure ? 2 : wide;
  if (plan.optimizer == Optimizer::muon) bytes.optimizer += moment * facts.muon_share;
  if (is_projected(plan.optimizer)) bytes.optimizer += projected_state_bytes(facts, plan, assumptions, moment);
  if (!is_mixed(plan.precision)) return;
  const bool has_master = mixed != MixedPrecision::autocast && mixed != MixedPrecision::pure;
  if (assumptions.master_weights && mixed != MixedPrecision::autocast)
    bytes.optimizer += item_bytes_of(*assumptions.master_weights) - (has_master ? wide : 0);
  if (changes_moments && !has_8bit_state(plan.optimizer))
    bytes.optimizer += optimizer_state_bytes(plan.optimizer) * (moment - (is_pure ? 2 : wide)) / wide;
}

/// Returns whether ranks hold shards of weights in fp32, which are gathered in half precision, as under FSDP [Zhao et al.,
/// "PyTorch FSDP: experiences on scaling fully sharded data parallel", VLDB 2023, section 4.4].
bool shards_masters(const Plan& plan, const Assumptions& assumptions) {
  const bool is_half = is_mixed(plan.precision) && assumptions.mixed_precision == MixedPrecision::half_gradients;
  return assumptions.gathers_units && is_half && !assumptions.base && !assumptions.master_weights && plan.zero_stage >= 2 &&
         plan.shards() > 1;
}

/// Returns the bytes of a frozen weight in the rank's fp32 shard, in addition to the half-precision weight: FSDP shards all
/// weights in the precision in which they were created, and converts only what it gathers [PyTorch,
/// torch/distributed/fsdp/api.py, MixedPrecision, param_dtype].
double frozen_master_bytes(const Plan& plan, const Assumptions& assumptions, bool is_whole) {
  const bool is_half = plan.precision == Precision::fp16 || plan.precision == Precision::bf16;
  if (!assumptions.gathers_units || !is_half || assumptions.mixed_precision != MixedPrecision::half_gradients) return 0;
  if (assumptions.base || assumptions.master_weights || streams_weights(plan)) return 0;
  constexpr double half_bytes = 2, wide_bytes = 4;
  const bool is_alone = plan.mesh.replicas() == 1;
  if (!is_alone && plan.zero_stage < 2) return half_bytes * plan.shards();
  // If weights are gathered block by block, two bytes of the fp32 shard already count as the weight.
  return is_alone || (plan.zero_stage >= 3 && plan.reshard && !is_whole) ? wide_bytes - half_bytes : wide_bytes;
}

}  // namespace

ParameterBytes parameter_bytes(const ModelFacts& facts, const Plan& plan, const Assumptions& assumptions) {
  ParameterBytes bytes = parameter_bytes(plan.optimizer, plan.precision, assumptions.mixed_precision);
  if (has_primary_fp8(plan, assumptions)) bytes.weight -= item_bytes(plan.precision);
  change_state(facts, plan, assumptions, bytes);
  bytes.optimizer += exchange_state_bytes(plan, assumptions, exchanged_bytes(plan, assumptions).gradient);
  bytes.frees_gradients = frees_gradients(plan, assumptions);
  bytes.is_whole = holds_whole(plan, assumptions);
  if (shards_masters(plan, assumptions)) {
    // The shards of weights are the master copies. Two of their bytes count as weights. Shards of gradients are in fp32,
    // too.
    constexpr double half_bytes = 2, wide_bytes = 4;
    if (plan.zero_stage >= 3 && plan.reshard && !bytes.is_whole) bytes.optimizer -= half_bytes;
    if (!bytes.is_whole) bytes.gradient = wide_bytes;
  }
  // Gradients of several micro-batches are added up in the precision in which ranks sum gradients.
  constexpr double wide_sum = 4;
  if (bytes.is_whole && assumptions.gradient_sums == GradientSums::full) bytes.gradient = wide_sum;
  const double frozen = facts.parameters - facts.trained_parameters;
  if (assumptions.base && facts.parameters > 0) {
    // Other frozen weights, such as embeddings and norms, are in half precision if precision is mixed, else in the plan's
    // precision.
    const double other = is_mixed(plan.precision) ? 2 : item_bytes(plan.precision);
    const double base =
        base_item_bytes(*assumptions.base) * facts.base_parameters + other * (frozen - facts.base_parameters);
    bytes.weight = (bytes.weight * facts.trained_parameters + base) / facts.parameters;
  } else if (has_narrow_copies(plan.precision) && facts.parameters > 0) {
    // Frozen weights are never updated, so they exist in the low-precision format alone. Their transposes are made when
    // backward needs them.
    const double trained = facts.trained_parameters / facts.parameters;
    bytes.weight = bytes.weight * trained + narrow_item_bytes(plan.precision) * (1 - trained);
  }
  const bool is_gathered = plan.zero_stage == 2 || (plan.zero_stage >= 3 && (!plan.reshard || bytes.is_whole));
  if (assumptions.gathers_units && is_gathered && plan.shards() > 1 && !shards_masters(plan, assumptions) &&
      !streams_weights(plan))
    bytes.shard = bytes.weight;
  if (frozen > 0) {
    bytes.frozen_master = frozen_master_bytes(plan, assumptions, bytes.is_whole);
    bytes.shard += bytes.frozen_master * frozen / facts.parameters;
  }
  return bytes;
}

MemoryBreakdown parameter_memory(double parameters, const Plan& plan, double largest_layer) {
  return parameter_memory({parameters, parameters, largest_layer, largest_layer}, plan,
                          parameter_bytes(plan.optimizer, plan.precision));
}

MemoryBreakdown parameter_memory(const ParameterCounts& counts, const Plan& plan, const ParameterBytes& each) {
  const double replicas = plan.shards();
  MemoryBreakdown memory;
  const auto held = [&](double all, double largest, bool sharded) {
    return sharded ? all / replicas + largest * (1.0 - 1.0 / replicas) : all;
  };
  // When backward begins, all weights gathered for forward are in memory, unless they are freed in
  // between. Offloaded weights are in memory while their layer and the next layer use them.
  const bool shards_weights = plan.zero_stage >= 3 && plan.reshard && !each.is_whole;
  const double weights = streams_weights(plan) ? std::min(counts.all, 2 * counts.largest_layer)
                                               : held(counts.all, counts.largest_layer, shards_weights);
  const double second = plan.second_shards() > 0 ? counts.all / plan.second_shards() : 0.0;
  memory.weights = Bytes((weights + second) * each.weight + counts.all * each.shard / replicas);
  if (!each.frees_gradients)
    memory.gradients =
        Bytes(held(counts.trained - counts.untouched, counts.largest_trained, plan.zero_stage >= 2 && !each.is_whole) *
              each.gradient);
  const double state = plan.offload == Offload::none && !is_paged(plan.optimizer) ? each.optimizer : 0.0;
  memory.optimizer = Bytes(counts.trained * state / (plan.zero_stage >= 1 ? replicas : 1.0));
  return memory;
}

bool moves_gradients(const Plan& plan, const Assumptions& assumptions) {
  const bool has_buffer = is_mixed(plan.precision) && assumptions.mixed_precision == MixedPrecision::full_gradients;
  return plan.offload != Offload::none && !has_buffer && (plan.zero_stage >= 2 || plan.mesh.replicas() == 1);
}

bool streams_weights(const Plan& plan) { return plan.offload == Offload::weights && (plan.zero_stage < 3 || plan.reshard); }

bool has_whole_gradients(const Plan& plan, const Assumptions& assumptions) {
  if (frees_gradients(plan, assumptions)) return false;
  const bool one_buffer = is_mixed(plan.precision) && sums_in_full(assumptions.mixed_precision);
  return plan.micro_batches > 1 || plan.mesh[Axis::pipeline] > 1 || one_buffer || assumptions.older_framework;
}

double computed_gradient_bytes(const Plan& plan, const Assumptions& assumptions) {
  const bool sums = is_mixed(plan.precision) && assumptions.mixed_precision == MixedPrecision::accumulated;
  return sums ? 2 : parameter_bytes(plan.optimizer, plan.precision, assumptions.mixed_precision).gradient;
}

Bytes bucket_bytes(double parameters, const Plan& plan, MixedPrecision mixed) {
  constexpr double items_of_bucket = 5e8;
  if (plan.mesh.replicas() == 1 && plan.segments.empty()) return {};
  const double items = plan.zero_stage == 0 ? parameters : std::min(parameters, items_of_bucket);
  // Megatron-LM exchanges its gradient buffer without a copy.
  if (is_mixed(plan.precision) && mixed == MixedPrecision::full_gradients) return {};
  // Gradients that are accumulated in 4 bytes are exchanged in 4 bytes.
  const bool sums = is_mixed(plan.precision) && mixed == MixedPrecision::accumulated;
  return Bytes(items * (sums ? 4 : parameter_bytes(plan.optimizer, plan.precision, mixed).gradient));
}

Bytes most_unusable(Bytes allocated) {
  // In 130 steps of 32 models that fill an RTX 3090, the model of the allocator reserves at most 5.1 % more than the peak of
  // allocated memory, and at most 0.8 % more in half of the steps (measured_memory_test; docs/memory.md, "How good it is").
  constexpr double share = 0.052;
  return allocated * share;
}

namespace {

MemoryOrigin workspace_origin(const Job& job, const LayerCosts& costs) {
  const bool any = job.kernels.measured() != nullptr && !job.assumptions.linear_kernels;
  if (!any || costs[LayerCount::workspaces_unknown] > 0) return MemoryOrigin::assumed;
  return costs[LayerCount::workspaces_estimated] > 0 ? MemoryOrigin::modeled : MemoryOrigin::measured;
}

}  // namespace

MemoryState kept_by_micro_batch(const StageOf& stage) {
  MemoryTally tally(CachingAllocator::granule(stage.job.machine.device.is_processor), false);
  StageRequests requests(stage, tally);
  requests.keep(1);
  return tally.mark();
}

bool is_interleaved(const Plan& plan) {
  return plan.mesh[Axis::pipeline] > 1 && plan.virtual_stages > 1 && plan.schedule == Schedule::one_forward_one_backward;
}

bool shards_gradients(const Plan& plan) { return plan.zero_stage >= 2 && plan.shards() > 1; }

PassChoices::PassChoices(const Plan& plan, const Assumptions& assumptions)
    : recompute(plan.recompute),
      recompute_blocks(MemoryChoices(plan).recompute_blocks),
      recompute_modules(MemoryChoices(plan).recompute_modules),
      recompute_segments(plan.recompute_segments),
      zero_segments(plan.zero_segments),
      gradient_copies(shards_gradients(plan) && !has_whole_gradients(plan, assumptions) ? plan.shard_copies() : 0.0),
      frees_gradients(ddl::frees_gradients(plan, assumptions)),
      gathered_ranks(assumptions.gathers_units && plan.zero_stage >= 3 && plan.reshard && !holds_whole(plan, assumptions)
                         ? plan.shards()
                         : 0.0),
      streams_weights(assumptions.gathers_units && ddl::streams_weights(plan)),
      summed_ranks(sums_whole(plan, assumptions) && !holds_whole(plan, assumptions) ? plan.shards() : 0.0),
      is_interleaved(ddl::is_interleaved(plan)) {}

PassPeaks pass_peaks(const StageOf& rank) {
  // The parameters of layers outside this stage do not affect a pass.
  StageOf stage = rank;
  stage.parts = 1;
  const bool is_processor = stage.job.machine.device.is_processor;
  MemoryTally tally(CachingAllocator::granule(is_processor));
  StageRequests requests(stage, tally);
  PassPeaks peaks;
  requests.keep(1);
  peaks.earlier = tally.mark();
  tally = MemoryTally(CachingAllocator::granule(is_processor));
  requests.pass(1);
  peaks.largest = tally.peak(false).state;
  peaks.most = tally.peak(false).most;
  peaks.left = tally.mark();
  return peaks;
}

ResidentPeaks resident_peaks(const StageOf& stage) {
  Plan once = stage.plan;
  once.recompute = Recompute::none;
  once.recompute_blocks = 0;
  once.recompute_segments.clear();
  MemoryTally tally(CachingAllocator::granule(stage.job.machine.device.is_processor));
  StageRequests requests(stage.with(once), tally);
  ResidentPeaks peaks;
  requests.set_up(true);
  peaks.stays = tally.mark();
  requests.update();
  peaks.in_update = tally.peak(true).state;
  if (const Bytes saved = saved_weights(stage); saved > Bytes{}) {
    MemoryTally saving(CachingAllocator::granule(stage.job.machine.device.is_processor));
    (void)saving.allocate(saved, MemoryItem::weights, -1);
    peaks.in_save = peaks.stays;
    peaks.in_save.add({}, saving.mark(), 1);
  }
  if (!stage.job.assumptions.gathers_units) peaks.most_gathered = most_gathered(stage);
  peaks.routing_excess = routing_excess(stage);
  return peaks;
}

StagePeaks::StagePeaks(const ResidentPeaks& resident, const PassPeaks& pass)
    : in_backward(pass.largest),
      most_in_backward(resident.stays.allocated + pass.most),
      in_update(resident.in_update.allocated > Bytes{} ? resident.in_update : resident.stays),
      in_save(resident.in_save),
      earlier(pass.earlier),
      most_gathered(resident.most_gathered),
      routing_excess(resident.routing_excess) {
  in_backward.add({}, resident.stays, 1);
  in_update.add({}, pass.left, 1);
}

StagePeaks stage_peaks(const StageOf& stage) { return {resident_peaks(stage), pass_peaks(stage)}; }

namespace {

/// Returns the number of blocks in layers [first, last), at least 1.
double blocks_between(const Model& model, int first, int last) {
  double blocks = 0;
  for (int layer = first, before = -1; layer < last; ++layer) {
    const int block = model.layers[static_cast<std::size_t>(layer)].block;
    if (block >= 0 && block != before) ++blocks;
    before = block;
  }
  return std::max(1.0, blocks);
}

/// Returns for how many micro-batches the activations of all layers of a stage exist at once. A recomputed block counts one
/// micro-batch, while its backward runs. `in_flight`: the number without recomputation.
double held_passes(const StageOf& stage, double in_flight) {
  if (stage.plan.recompute != Recompute::full) return in_flight;
  const Model& model = *stage.job.facts.model;
  const double blocks = blocks_between(model, stage.first, stage.last);
  double again = static_cast<double>(most_recomputed_blocks(stage.plan));
  if (!stage.plan.recompute_segments.empty()) {
    again = 0;
    const LayerKinds& kinds = stage.costs.kinds();
    for (const LayerRange& range : recomputed_blocks(model, kinds, stage.plan, stage.first, stage.last))
      again += blocks_between(model, range.first, range.last);
  }
  const double kept = std::max(0.0, 1 - again / blocks);
  return std::min(in_flight, kept * in_flight + 1 / blocks);
}

}  // namespace

double passing_micro_batches(const Plan& plan, const Assumptions& assumptions) {
  const auto own = static_cast<double>(plan.micro_batches);
  return assumptions.weight_versions ? std::max(own, static_cast<double>(plan.mesh[Axis::pipeline])) : own;
}

Bytes older_weights(const StageOf& stage) {
  const Plan& plan = stage.plan;
  const Assumptions& assumptions = stage.job.assumptions;
  if (!assumptions.weight_versions || plan.mesh[Axis::pipeline] == 1) return {};
  const double in_flight = micro_batches_in_flight(plan.schedule, stage.stage, plan.mesh[Axis::pipeline],
                                                   passing_micro_batches(plan, assumptions));
  const double versions = std::ceil((in_flight - 1) / static_cast<double>(plan.micro_batches));
  return Bytes(versions * stage_parameters(stage) * parameter_bytes(stage.job.facts, plan, assumptions).weight);
}

Bytes saved_weights(const StageOf& stage) {
  const Assumptions& assumptions = stage.job.assumptions;
  if (!assumptions.saves_whole || !assumptions.gathers_units) return {};
  const std::vector<int> zero_stages = zero_stages_of(stage.plan);
  const Plan plan = with_zero_stage(stage.plan, *std::max_element(zero_stages.begin(), zero_stages.end()));
  if (plan.zero_stage < 2 || plan.shards() <= 1) return {};
  const ParameterBytes each = parameter_bytes(stage.job.facts, plan, assumptions);
  constexpr double wide_bytes = 4;
  const bool is_wide = shards_masters(plan, assumptions) || each.frozen_master > 0;
  return Bytes(stage_parameters(stage) * stage.parts * (is_wide ? wide_bytes : each.weight));
}

MemoryChoices::MemoryChoices(const Plan& plan)
    : recompute(plan.recompute),
      recompute_blocks(plan.recompute == Recompute::full ? most_recomputed_blocks(plan) : 0),
      recompute_modules(plan.recompute == Recompute::selective ? plan.recompute_modules : RecomputeModules()),
      recompute_segments(plan.recompute_segments),
      zero_segments(plan.zero_segments),
      zero_stage(plan.zero_stage),
      shard_group(plan.shard_group),
      reshard(plan.reshard),
      second_shards(plan.second_shards()),
      offload(plan.offload),
      offload_activations(plan.offload_activations),
      is_interleaved(ddl::is_interleaved(plan)) {}

MemoryBreakdown stage_memory(const StageOf& stage, const StagePeaks* peaks, const MemoryState* mirrored) {
  const Job& job = stage.job;
  const Plan& plan = stage.plan;
  const LayerCosts costs = stage.all_costs();
  MemoryBreakdown memory;
  if (job.assumptions.memory_reuse) {
    // The formula is 2γδ Σ(B(|x|+|y|)+|w|) [ParaDL, Table III]: activations and their gradients,
    // weights and their gradients. In the formula, a stage of a pipeline keeps the whole batch.
    const double gamma = *job.assumptions.memory_reuse;
    const double delta = item_bytes(plan.precision);
    memory.weights = Bytes(gamma * delta * costs[LayerCount::parameters]);
    memory.gradients = memory.weights;
    memory.activations =
        (costs[LayerBytes::input] + costs[LayerBytes::output]) * (2.0 * gamma * static_cast<double>(plan.micro_batches));
    memory.peak_reserved = memory.total();
    return memory;
  }
  const StagePeaks known = peaks != nullptr ? *peaks : stage_peaks(stage);
  const int stages = plan.mesh[Axis::pipeline];
  const double micro_batches = passing_micro_batches(plan, job.assumptions);
  double in_mirror = stage.has_mirror() ? mirrored_in_flight(plan.schedule, stage.stage, stages, micro_batches) : 0.0;
  double earlier =
      micro_batches_in_flight(plan.schedule, stage.stage, stages, micro_batches, plan.virtual_stages) - in_mirror - 1;
  const MemoryState of_mirror = !stage.has_mirror()   ? MemoryState()
                                : mirrored != nullptr ? *mirrored
                                                      : kept_by_micro_batch(stage.mirror());
  // Offloaded activations are on the device for the block that backward currently computes, and for the preceding block.
  if (plan.offload_activations) {
    memory.on_host = known.earlier[MemoryItem::activations] * (earlier + 1) + of_mirror[MemoryItem::activations] * in_mirror;
    in_mirror = 0;
    earlier = -(1.0 - std::min(1.0, 2.0 / blocks_between(*job.facts.model, stage.first, stage.last)));
  }
  MemoryState peak = known.in_backward;
  peak.add({}, known.earlier, earlier);
  peak.add({}, of_mirror, in_mirror);
  Bytes most = known.most_in_backward + known.earlier.allocated * earlier + of_mirror.allocated * in_mirror;
  if (known.in_update.allocated > peak.allocated) {
    peak = known.in_update;
  } else {
    memory.kernel_workspace = peak.passing;
  }
  if (known.in_save.allocated > peak.allocated) {
    peak = known.in_save;
    memory.kernel_workspace = Bytes{};
  }
  most = max(most, peak.allocated);
  for (const MemoryItem item : enum_values<MemoryItem>) memory.of(item) = peak[item];
  // At the peak, backward may have freed more than the blocks whose activations are on the host.
  memory.activations = max(Bytes{}, memory.activations);
  // The difference is what the allocator's rounding adds. Near the allocator's thresholds, rounding
  // a sum may add more than rounding each part.
  memory.activations += max(Bytes{}, peak.allocated - peak.requested());
  memory.weights += older_weights(stage) + Bytes(job.assumptions.other_models);
  memory.workspace_origin = workspace_origin(job, costs);
  memory.peak_reserved = memory.allocated();
  memory.uncertainty =
      most_unusable(memory.allocated()) + (most - peak.allocated) + most_unmodeled(stage, memory.activations);
  Bytes of_experts = costs[LayerBytes::kept_of_experts] * held_passes(stage, earlier + 1);
  if (in_mirror > 0)
    of_experts += stage.mirror().all_costs()[LayerBytes::kept_of_experts] * held_passes(stage.mirror(), in_mirror);
  memory.uncertainty += known.most_gathered + of_experts * known.routing_excess + most_buckets(stage);
  const LibraryWorkspace library = library_workspace(job.machine.device);
  const CommunicationBuffers buffers =
      communication_buffers(plan, job.machine.device, engine_groups_of(job), job.assumptions.idle_communicators);
  const ContextBytes context = context_bytes(job.machine.device, job.assumptions);
  memory.outside_buffers = buffers.expected;
  memory.communication += buffers.expected;
  memory.context = context.expected;
  memory.uncertainty += library.most - library.expected + buffers.most - buffers.expected + context.most - context.expected;
  return memory;
}

}  // namespace ddl
