#include "estimator/step/estimate.hpp"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

#include "estimator/choices/plan_choice.hpp"
#include "estimator/layers/host_launches.hpp"
#include "estimator/layers/recomputed_layers.hpp"
#include "estimator/memory/memory_timeline.hpp"
#include "estimator/schedules/schedule.hpp"
#include "estimator/step/host_traffic.hpp"
#include "estimator/strategies/strategy.hpp"

namespace ddl {
namespace {

Limit memory_limit(const MemoryBreakdown& memory, const Device& device) {
  const MemoryItem largest = memory.largest();
  return {Limit::Kind::memory, memory.total().value(),    device.memory.value(), -1,
          to_string(largest),  memory.of(largest).value()};
}

}  // namespace

Estimator::Estimator(Job job)
    : job_(std::move(job)), tables_(job_), memories_(tables_), steps_(tables_, memories_), undivided_(tables_) {
  for (const LayerTimes& layer : job_.kernels.serial()) serial_update_ += layer.update;
}

Limits Estimator::limits(const Plan& plan) const {
  Limits limits = plan.segments.empty() ? limits_of({job_.facts, plan, job_.coefficients.software, &job_.assumptions})
                                        : segment_limits(plan);
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
    // The software determines which modules are recomputed.
    limit.available = job_.assumptions.selective == SelectiveRecompute::products ? 1 : 0;
    if (plan.recompute != Recompute::selective || limit.available > 0 || !limit.item.empty()) limits.add(limit);
  }
  if (!plan.recompute_segments.empty()) add_recompute_limits(plan, limits);
  if (!plan.zero_segments.empty()) add_zero_limits(plan, limits);
  if (const auto limit = host_limit(plan, {})) limits.add(*limit);
  return limits;
}

void Estimator::add_recompute_limits(const Plan& plan, Limits& limits) const {
  const auto refuse = [&](bool has, std::string_view name) {
    if (has) limits.add({.kind = Limit::Kind::segment_choice, .item = name});
  };
  refuse(plan.recompute == Recompute::selective, "selective recomputation");
  refuse(plan.recompute == Recompute::none, "'recompute: none'");
  refuse(plan.recompute_blocks > 0, "a number of recomputed blocks");
  refuse(plan.virtual_stages > 1, "virtual stages");
  refuse(order_of(plan.schedule).course != Course::around, "schedules that cut stages into equal parts");
  const auto count = static_cast<int>(job_.facts.model->layers.size());
  int before = -1;
  for (const RecomputeSegment& segment : plan.recompute_segments) {
    if (segment.first <= before || segment.first >= count)
      limits.add({Limit::Kind::segment_first, static_cast<double>(segment.first), static_cast<double>(count)});
    before = segment.first;
  }
}

void Estimator::add_zero_limits(const Plan& plan, Limits& limits) const {
  const auto refuse = [&](bool has, std::string_view name) {
    if (has) limits.add({.kind = Limit::Kind::segment_choice, .item = name});
  };
  refuse(plan.shard_group > 0, "shard groups");
  refuse(plan.secondary_shards > 1, "secondary shards");
  refuse(plan.offload != Offload::none, "offloading");
  refuse(plan.virtual_stages > 1, "virtual stages");
  refuse(order_of(plan.schedule).course != Course::around, "schedules that cut stages into equal parts");
  refuse(holds_parts_of_tables(plan), "distributed tables");
  refuse(job_.assumptions.memory_reuse.has_value(), "the memory of ideal mode");
  refuse(job_.assumptions.local_steps > 1, "local steps");
  refuse(job_.assumptions.synchronization != Synchronization::sync, "workers without a barrier");
  refuse(job_.assumptions.compression != Compression::none, "compressed gradients");
  refuse(job_.assumptions.sparse_gradients, "sparse gradients");
  const auto count = static_cast<int>(job_.facts.model->layers.size());
  int before = 0;
  for (const ZeroSegment& segment : plan.zero_segments) {
    if (segment.first <= before || segment.first >= count)
      limits.add({Limit::Kind::segment_first, static_cast<double>(segment.first), static_cast<double>(count)});
    before = segment.first;
    if (segment.stage == plan.zero_stage || !limits.empty()) continue;
    const Plan own = with_zero_stage(plan, segment.stage);
    const Limits more = own.segments.empty() ? limits_of({job_.facts, own, job_.coefficients.software, &job_.assumptions})
                                             : segment_limits(own);
    for (const Limit& limit : more) limits.add(limit);
  }
}

Limits Estimator::segment_limits(const Plan& asked) const {
  Plan plan = asked;
  join_segments(plan);  // the limits of a mesh hold from its first layer on
  Limits limits;
  const auto refuse = [&](bool has, std::string_view name) {
    if (has) limits.add({.kind = Limit::Kind::segment_choice, .item = name});
  };
  refuse(plan.shard_group > 0, "shard groups");
  refuse(plan.secondary_shards > 1, "secondary shards");
  refuse(plan.offload != Offload::none || plan.offload_activations, "offloading");
  refuse(plan.whole_experts, "expert-tensor-parallel size 1");
  refuse(plan.virtual_stages > 1, "virtual stages");
  refuse(order_of(plan.schedule).course != Course::around, "schedules that cut stages into equal parts");
  refuse(holds_parts_of_tables(plan), "distributed tables");
  refuse(job_.assumptions.local_steps > 1, "local steps");
  refuse(job_.assumptions.synchronization != Synchronization::sync, "workers without a barrier");
  refuse(job_.assumptions.compression != Compression::none, "compressed gradients");
  refuse(job_.assumptions.sparse_gradients, "sparse gradients");
  const std::vector<Mesh> meshes = meshes_of(plan);
  const auto any = [&](const auto& is_so) { return std::any_of(meshes.begin(), meshes.end(), is_so); };
  const int stages = plan.mesh[Axis::pipeline];
  refuse(any([&](const Mesh& mesh) { return mesh[Axis::pipeline] != stages; }), "different numbers of pipeline stages");
  // A stage is on the same ranks whatever its layout is.
  const auto inside = [&](const Mesh& mesh) {
    int ranks = 1;
    for (const Axis axis : plan.placement) {
      if (axis == Axis::pipeline) break;
      ranks *= mesh[axis];
    }
    return ranks;
  };
  refuse(stages > 1 && any([&](const Mesh& mesh) { return inside(mesh) != inside(plan.mesh); }),
         "placements of other degrees outside of the pipeline");
  // All layers that share a weight matrix must have the same shard of it, unless stages of a pipeline have copies.
  const auto divides_alike = [&](const TiedLayer& tied) {
    const Mesh &owner = mesh_of(plan, tied.owner), &reader = mesh_of(plan, tied.reader);
    return owner == reader || (owner.product(weight_axes) == 1 && reader.product(weight_axes) == 1);
  };
  const std::vector<TiedLayer>& tied = job_.facts.tied;
  refuse(stages == 1 && !std::all_of(tied.begin(), tied.end(), divides_alike),
         "weights of two layers that are divided differently");
  // The gradients of experts, and of norms with sequence parallelism, are summed along axes of their own.
  std::size_t more = 0;
  for (const Mesh& mesh : meshes)
    more += (mesh[Axis::expert] > 1 ? 1U : 0U) + (plan.sequence_parallel && mesh[Axis::tensor] > 1 ? 1U : 0U);
  if (meshes.size() + more > most_gradient_groups) {
    const std::size_t most = most_gradient_groups - std::min(more, most_gradient_groups / 2);
    limits.add({Limit::Kind::segment_meshes, static_cast<double>(meshes.size()), static_cast<double>(most)});
  }
  const auto count = static_cast<int>(job_.facts.model->layers.size());
  for (std::size_t i = 0; i <= plan.segments.size() && limits.empty(); ++i) {
    const int first = i == 0 ? 0 : plan.segments[i - 1].first;
    const int last = i < plan.segments.size() ? std::min(plan.segments[i].first, count) : count;
    if (first < (i == 0 ? 0 : 1) || first >= last || first >= count) {
      limits.add({Limit::Kind::segment_first, static_cast<double>(first), static_cast<double>(count)});
      break;
    }
    const Plan own = on_mesh(plan, mesh_of(plan, first));
    if (own.mesh.devices() != plan.mesh.devices()) {
      limits.add({.kind = Limit::Kind::segment_ranks,
                  .wanted = static_cast<double>(own.mesh.devices()),
                  .available = static_cast<double>(plan.mesh.devices()),
                  .item_bytes = static_cast<double>(first)});
    }
    if (i > 0 && own.mesh[Axis::spatial] > 1 && tables_.replicated_layers_of(own).contains(first))
      limits.add({.kind = Limit::Kind::segment_tiles, .layer = first});
    for (const Limit& limit : limits_of({job_.facts, own, job_.coefficients.software, &job_.assumptions, first, last}))
      limits.add(limit);
  }
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
  if (result.limits.empty()) complete(result);
  if (!is_finite(result.time.step_time()) || !is_finite(result.memory.total())) {
    // The limit is added if one of the estimate's figures is not a finite number.
    result.limits.add({Limit::Kind::not_finite});
    result.time = {};
    result.memory = {};
  }
  return result;
}

Estimate Estimator::estimate_beyond_devices(const Plan& plan) const {
  Estimate result = estimate(plan);
  const bool has_time = std::all_of(result.limits.begin(), result.limits.end(), [](const Limit& limit) {
    return limit.kind == Limit::Kind::devices || limit.kind == Limit::Kind::memory;
  });
  if (has_time && result.time.step_time().value() <= 0) complete(result);
  return result;
}

Seconds Estimator::lone_update(const Plan& plan) const {
  const bool is_sparse = holds_parts_of_tables(plan) || job_.assumptions.sparse_gradients;
  if (!is_sparse || job_.times_whole_layers() || job_.kernels.serial().empty()) return serial_update_;
  Seconds update = serial_update_;
  for (const LookupTable& table : job_.facts.tables) {
    const double rows = std::min(table.rows, table.lookups * static_cast<double>(plan.global_batch));
    const Seconds all = job_.kernels.serial()[static_cast<std::size_t>(table.layer)].update;
    update += min(all, job_.kernels.update_cost(rows * table.columns).time) - all;
  }
  return update;
}

void Estimator::complete(Estimate& result) const {
  const Plan& plan = result.plan;
  if (stages(plan).empty()) return;
  const LayerCostTable& costs = tables_.costs(plan);
  const Updates& updates = steps_.updates(plan);
  const Timing<double> timing = steps_.timing(plan);
  result.time = breakdown_of(timing);
  result.critical = timing.critical;
  result.host_waiting = Seconds(timing.host_waiting);
  result.forward_host_waiting = Seconds(timing.host_waiting_in_forward) + step_overhead(job_);
  const Step& step = steps_.staged(plan).step;
  result.paging = step.paging * static_cast<double>(step.micro_batches);
  result.hidden_exchange = Seconds(timing.hidden_exchange);
  result.hidden_input = Seconds(timing.hidden_input);
  result.gradient_algorithm = updates.stages[static_cast<std::size_t>(timing.critical.gradient_exchange)].exchange.algorithm;
  const StageMemories::PeakStage& fullest = this->fullest(plan);
  result.memory = fullest.memory;
  result.critical.memory = fullest.stage;

  const Breakdown& time = result.time;
  const double ranks = static_cast<double>(plan.mesh.devices());
  const double batch = static_cast<double>(plan.global_batch);
  result.epoch = time.step_time() * (job_.samples_per_epoch / batch);
  // For comparison, one device processes the batch in micro-batches of the reference size, or of
  // this plan's size, whichever is faster.
  const double reference = std::min(job_.kernels.reference_batch(), batch);
  const double samples = samples_per_micro_batch(plan);
  const double fitted =
      job_.assumptions.learned ? learned_of(job_.coefficients.learned, Family{0})[Coefficient::kernels] : 1.0;
  const Seconds per_sample =
      min(undivided_.whole(reference, 1).all / reference, undivided_.whole(samples, 1).all / samples) * fitted;
  // The time of one device is equal for all plans with one batch. Other sizes of micro-batches make a device faster only if
  // LSTMs have persistent kernels for them.
  const Seconds alone = undivided_.whole(batch, 1).all * fitted + undivided_.launch(batch).idle + lone_update(plan);
  result.efficiency = time.step_time().value() > 0 ? alone / time.step_time() / ranks : 0.0;
  // Recomputed work does not count as redundant work.
  const LayerCosts& total = costs.total();
  const std::vector<int>& firsts = this->stages(plan);
  Seconds computed_again = plan.recompute == Recompute::selective ? total[LayerTime::selected_forward] : Seconds{};
  for (std::size_t stage = 0; stage + 1 < firsts.size(); ++stage)
    computed_again += recomputed_costs(job_, costs, plan, firsts[stage], firsts[stage + 1])[LayerTime::forward];
  const double again =
      computed_again.value() > 0 ? computed_again / (total[LayerTime::forward] + total[LayerTime::backward]) : 0.0;
  const Seconds fair = per_sample * (1.0 + again) * (batch / ranks);
  if (plan.recompute_blocks > 0 || !plan.recompute_segments.empty() ||
      (plan.recompute == Recompute::full && job_.assumptions.recompute_stops_early))
    result.recomputed_share = recomputed_share(job_, costs.kinds(), plan, firsts);
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

std::optional<MemoryTimeline> memory_timeline(const Estimator& estimator, const Plan& plan, const TimelineOptions& options) {
  if (estimator.job().assumptions.memory_reuse || plan.offload_activations) return std::nullopt;
  const Estimate estimate = estimator.estimate(plan);
  if (estimate.time.step_time().value() <= 0) return std::nullopt;
  return memory_timeline(estimator.stage(plan, estimate.critical.memory), options);
}

void add_reserved(const Estimator& estimator, Estimate& estimate) {
  // The model of the allocator does not include host memory.
  const Job& job = estimator.job();
  if (job.assumptions.memory_reuse || estimate.time.step_time().value() <= 0 || estimate.plan.offload_activations) return;
  StageMemories::PeakStage& known = estimator.fullest(estimate.plan);
  if (!known.has_reserved) {
    TimelineOptions options;
    options.details = false;
    const StageOf stage = estimator.stage(estimate.plan, known.stage);
    known.memory.peak_reserved = memory_timeline(stage, options).peak_reserved;
    const Bytes outside = known.memory.context + known.memory.outside_buffers;
    if (known.memory.held() > job.machine.device.memory && job.machine.device.memory > outside) {
      // The allocator returns cached segments when memory runs out. Pieces of segments in use are not returned, so a step
      // may fail although its tensors would fit.
      options.capacity = job.machine.device.memory - outside;
      const MemoryTimeline short_of_memory = memory_timeline(stage, options);
      if (short_of_memory.fits) known.memory.peak_reserved = short_of_memory.peak_reserved;
    }
    known.has_reserved = true;
  }
  estimate.memory.peak_reserved = known.memory.peak_reserved;
  estimate.memory.uncertainty = max(estimate.memory.uncertainty, estimate.memory.held() - estimate.memory.total());
}

std::vector<Estimate*> by_split(std::vector<Estimate>& estimates) {
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

void add_reserved(const Estimator& estimator, std::vector<Estimate>& estimates) {
  for (Estimate* each : by_split(estimates)) add_reserved(estimator, *each);
}

}  // namespace ddl
