#include "estimator/search/time_bounds.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "estimator/choices/plan_choice.hpp"
#include "estimator/layers/host_launches.hpp"
#include "estimator/layers/overlaps.hpp"
#include "estimator/layers/stage_balance.hpp"
#include "estimator/layers/token_pieces.hpp"
#include "estimator/schedules/schedule.hpp"
#include "estimator/step/input.hpp"
#include "estimator/step/step_of.hpp"
#include "estimator/step/tasks.hpp"
#include "estimator/strategies/context.hpp"
#include "estimator/strategies/embedding_tables.hpp"
#include "estimator/strategies/expert.hpp"
#include "estimator/strategies/pipeline.hpp"
#include "estimator/strategies/spatial.hpp"
#include "estimator/strategies/strategy.hpp"
#include "estimator/strategies/tensor.hpp"

namespace ddl {
namespace {

/// Returns an upper bound of the total rate over all links of a level. A measured φ may be less than flows divided by links.
double most_of(const Job& job, const LinkLevel& level) {
  double links = level.rails;
  for (const MeasuredContention& measured : job.coefficients.contention) {
    if (measured.level == level.name) links = std::max(links, measured.groups / measured.phi);
  }
  return level.bandwidth.value() * links;
}

/// Returns an upper bound of the rate at which one device sends, by any route.
double fastest_link(const Job& job) {
  double fastest = job.machine.host ? job.machine.host->bandwidth.value() : 0.0;
  for (const LinkLevel& level : job.machine.levels) fastest = std::max(fastest, most_of(job, level));
  return fastest;
}
/// Returns a lower bound of the time to move `bytes` in a group of p ranks. The group must send at least (1−1/p) of the
/// vector over the links of a device. If links are shared, the group must also send (1−1/n) of the vector over the rails
/// between its n nodes.
Seconds moving_bound(const Job& job, double bytes, double group) {
  const auto& levels = job.machine.levels;
  double seconds = bytes * (1.0 - 1.0 / group) / fastest_link(job);
  const double nodes = group / job.machine.devices_per_node();
  if (nodes > 1 && levels.size() > 1 && job.assumptions.contention) {
    seconds = std::max(seconds, bytes * (1.0 - 1.0 / nodes) / most_of(job, levels[1]));
  }
  return Seconds(seconds);
}

/// Returns the time to transfer one micro-batch between two stages, if `items` elements per sample cross the cut.
Seconds hop_time(const Plan& plan, double items, const ExchangeTimes& exchanges) {
  const Bytes crossing(items * item_bytes(plan.precision) * samples_per_micro_batch(plan));
  const Link link = exchanges.neighbour_link(family_bit(Axis::pipeline), Purpose::pipeline).link;
  return link.alpha + crossing * link.beta;
}

}  // namespace

TimeBounds::TimeBounds(const Estimator& estimator)
    : job_(estimator.job()),
      tables_(estimator.tables()),
      steps_(estimator.steps()),
      undivided_(estimator.undivided()),
      traffic_(estimator.tables()) {
  for (const int layer : job_.facts.matrix) {
    if (layer == job_.facts.last_matrix || layer == job_.facts.first_matrix) continue;
    const auto index = static_cast<std::size_t>(layer);
    const Layer& at = job_.facts.model->layers[index];
    const auto input = static_cast<double>(at.input_shapes.front().items());
    const auto output = static_cast<double>(at.output_shape.items());
    // A layer that reads the batch needs no gradient of its input, and therefore exchanges no gradient.
    const bool sends = job_.facts.needs_input_gradient[index];
    split_collectives_ += sends ? 2 : 1;
    if (sends) split_inputs_ += input;
    split_outputs_ += output;
    const bool grouped = job_.facts.divisible[index].channel_units > 0 || at.operation->type() == "embedding";
    if (!grouped) {
      if (sends) channel_inputs_ += input;
      channel_outputs_ += output;
    }
    const double before = tensor_items_;
    switch (job_.facts.tensor_role[index]) {
      case TensorSplitRole::column:
        tensor_items_ += job_.facts.sends_input_gradient[index] ? 2.0 * input : 0.0;
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
    if (job_.facts.in_experts[index]) tensor_items_of_experts_ += tensor_items_ - before;
    smallest_tensor_units_ = std::min(smallest_tensor_units_, job_.facts.tensor_units[index]);
  }
}

Seconds TimeBounds::least(Closeness closeness, const Plan& plan) const {
  const Seconds rest = of(closeness, plan) * rounding;
  // The time of reading depends on degrees that a bound by size does not know.
  return closeness == Closeness::size ? rest : with_input(rest, plan);
}

Seconds TimeBounds::by_degrees(const Plan& plan, Seconds exchanges_of_sample) const {
  return with_input(of_degrees(plan, exchanges_of_sample * samples_per_micro_batch(plan)) * rounding, plan);
}

Seconds TimeBounds::exchanges_of_sample(Plan plan, const std::vector<Placement>& placements) const {
  // In a pipeline with slots, only the exchanges of one stage are part of the time.
  const bool in_slots = job_.assumptions.slot_pipeline && plan.mesh[Axis::pipeline] > 1;
  if (in_slots || job_.machine.levels.empty() || !job_.facts.tables.empty()) return {};
  plan.micro_batches = 1;
  return traffic_.time_of_sample(std::move(plan), placements);
}

Seconds TimeBounds::of_step(const Plan& plan) const { return with_input(steps_.staged(plan).step_time() * rounding, plan); }

Seconds TimeBounds::of_orders(const Plan& plan) const {
  // Some orders overlap All-to-alls of experts with another micro-batch, so their stages take less time.
  if (job_.assumptions.slot_pipeline || job_.coefficients.software.overlaps_expert_exchanges.value_or(false)) return {};
  const PlanSteps::Staged& staged = steps_.staged(plan);
  if (staged.step.stages == 1) return of_step(plan);
  RelaxedStep step = relaxed(staged.step);
  step.longest = Seconds(staged.timing.stages[static_cast<std::size_t>(staged.timing.critical.time)].whole);
  return with_input(shortest_of_all(step, plan) * rounding, plan);
}

Seconds TimeBounds::with_input(Seconds rest, const Plan& plan) const {
  if (!job_.assumptions.include_input) return rest;
  const Seconds reading = reading_time(job_, plan);
  return window_of_input(job_.assumptions) == Window::step ? max(rest, reading) : rest + reading;
}

Seconds TimeBounds::of(Closeness closeness, const Plan& plan) const {
  switch (closeness) {
    case Closeness::size:
      return by_size(plan, {plan.micro_batches}).front().bound / rounding;
    case Closeness::degrees:
      return of_degrees(plan, {});
    case Closeness::placement:
      return of_placement(plan, {});
    case Closeness::exchanges:
      return of_exchanges(plan, {});
    case Closeness::split:
      return of_split(plan);
    case Closeness::stages:
      return of_stages(plan);
    case Closeness::layers:
      break;
  }
  return of_layers(plan);
}

TimeBounds::SpatialTraffic TimeBounds::spatial_traffic(const Plan& plan) const {
  const auto known = spatial_.find(plan.mesh.tiles());
  if (known != spatial_.end()) return known->second;
  SpatialTraffic traffic;
  Plan alone;
  alone.mesh.set_tiles(plan.mesh.tiles());
  ShardContext context{job_.facts, alone, job_.assumptions, 0,
                       replicated_layers(job_.facts, alone, job_.coefficients.software)};
  LayerShard shard;
  for (context.layer = 0; context.index() < job_.facts.model->layers.size(); ++context.layer) {
    shard_layer(context, shard);
    for (const Exchange& exchange : shard.exchanges) {
      if (exchange.purpose != Purpose::halo) continue;
      if (exchange.operation == Collective::point_to_point) {
        traffic.messages += exchange.messages;
        traffic.halo_items += exchange.items * exchange.messages;
      } else {
        traffic.gathered_items += exchange.items;
      }
    }
  }
  return spatial_.emplace(plan.mesh.tiles(), traffic).first->second;
}

RelaxedStep TimeBounds::uncut_step(const Plan& plan) const {
  const LayerCostTable& costs = tables_.costs(plan);
  Step step;
  step.origin[Coefficient::launch_overhead] = launch_overhead(job_).value();
  step.stages = plan.mesh[Axis::pipeline];
  step.micro_batches = static_cast<double>(plan.micro_batches);
  step.has_end = !job_.assumptions.weight_versions;
  step.pieces = token_pieces(job_.facts, plan, job_.assumptions);
  step.origin[Coefficient::straggler_factor] = costs.learned()[Coefficient::straggler_factor];
  set_waiting(job_, plan, costs.learned(), false, step);
  Plan bare = plan;
  bare.recompute = Recompute::none;
  bare.schedule = Schedule::one_forward_one_backward;
  add_tasks({costs.total(), nullptr, most_hidden_share_of_experts(job_, bare, costs.total())}, 0, bare, job_.assumptions,
            nullptr, step.tasks);
  step.transfers.emplace_back(hop_time(plan, least_crossing(plan), costs.exchanges()));
  return relaxed(step);
}

Seconds TimeBounds::of_stages(const Plan& plan) const {
  // In a pipeline with slots, only the exchanges of one stage are part of the time.
  if (plan.mesh[Axis::pipeline] == 1 || job_.assumptions.slot_pipeline) return of_layers(plan);
  RelaxedStep step = uncut_step(plan);
  // If All-to-alls of experts are overlapped with another micro-batch, a stage takes less time than its load.
  if (job_.coefficients.software.overlaps_expert_exchanges.value_or(false)) return shortest_of_all(step, plan);
  const std::vector<int>& firsts = steps_.stages(plan);
  if (firsts.empty()) return {};
  const LayerCostTable& costs = tables_.costs(plan);
  const Seconds start = launch_overhead(job_);
  const double disturbance = parts_of(plan).disturbance;
  // The load of a stage is the difference of two sums, which has a rounding error.
  constexpr double rounding_of_loads = 1 - 1e-9;
  StageLoad before = costs.load_before(firsts.front());
  for (std::size_t stage = 0; stage + 1 < firsts.size(); ++stage) {
    const StageLoad after = costs.load_before(firsts[stage + 1]);
    StageLoad own = after;
    own.add(before, -1.0);
    step.longest = max(step.longest, (own.time(start) + (own.forward + own.backward) * disturbance) * rounding_of_loads);
    before = after;
  }
  return shortest_of_all(step, plan);
}

double TimeBounds::least_crossing(const Plan& plan) const {
  const double items = tables_.places_of(plan).least_items();
  const double parts = may_split_tokens(job_.facts, plan) ? plan.mesh[Axis::tensor] : 1;
  return items / (parts * plan.mesh[Axis::context]);
}

bool TimeBounds::may_fill_bubbles(const Plan& plan, const ScheduleOrder& order) const {
  return order.fills_bubbles && plan.mesh[Axis::pipeline] > 1 && !job_.assumptions.slot_pipeline &&
         may_schedule(job_.facts, plan, order.schedule);
}

Seconds TimeBounds::of_layers(const Plan& plan) const {
  Plan bare = plan;
  bare.recompute = Recompute::none;
  bare.zero_stage = 0;
  bare.shard_group = 0;
  bare.offload_activations = false;
  bare.schedule = Schedule::one_forward_one_backward;
  Seconds least(std::numeric_limits<double>::infinity());
  for (const int chunks : steps_.virtual_stages_of(plan)) {
    bare.virtual_stages = chunks;
    least = min(least, least_run(steps_.staged(bare).step, steps_.staged(bare).timing));
  }
  bare.virtual_stages = 1;
  for (const ScheduleOrder* order : all_schedules()) {
    if (!may_fill_bubbles(plan, *order)) continue;
    bare.schedule = order->schedule;
    least = min(least, least_run(steps_.staged(bare).step, steps_.staged(bare).timing));
  }
  return least;
}

const TimeBounds::Parts& TimeBounds::parts_of(const Plan& plan) const {
  Plan split = split_of(plan);
  split.micro_batches = 1;
  if (parts_ && parts_->split == split) return *parts_;
  const Discount discount = discount_of(plan);
  Parts& parts = parts_.emplace(split);
  parts.kernels = discount.kernels;
  parts.beta = discount.beta;
  parts.disturbance = disturbance(plan);
  parts.launches = least_launches(plan);
  if (parts.launches > Seconds{}) parts.launches += launch_overhead(job_) * traffic_.launches(plan);
  const auto& levels = job_.machine.levels;
  if (levels.empty()) return parts;
  parts.alpha = levels[0].latency;
  for (const LinkLevel& level : levels) parts.alpha = min(parts.alpha, level.latency);
  parts.alpha *= discount.alpha;
  // For measured exchanges, only a lower bound per byte is known.
  const MeasuredExchanges& measured = job_.coefficients.exchanges;
  if (!measured.empty()) parts.alpha = Seconds{};
  const double spatial = plan.mesh[Axis::spatial];
  if (spatial > 1) parts.traffic = spatial_traffic(plan);
  const auto per_byte = [&](double group) {
    Seconds least = moving_bound(job_, 1.0, group);
    if (!measured.empty())
      least = min(least, Bytes(1) * measured.least_per_byte() * std::min(1.0, discount.alpha / discount.beta));
    return SecondsPerByte(least.value() * discount.beta);
  };
  parts.halo = SecondsPerByte(discount.beta / fastest_link(job_));
  parts.gathered = per_byte(spatial);
  parts.gradients = per_byte(plan.mesh.replicas());
  if (job_.coefficients.software.layer_algorithm != AllreduceAlgorithm::sparse) {
    for (const Axis axis : {Axis::filter, Axis::channel, Axis::tensor}) {
      parts.layer[static_cast<std::size_t>(axis)] = per_byte(plan.mesh[axis]);
    }
  }
  return parts;
}

double TimeBounds::disturbance(const Plan& plan) const {
  Step step;
  if (job_.assumptions.learned) step.origin = learned_of(job_.coefficients.learned, plan.mesh.family());
  set_waiting(job_, plan, step.origin, false, step);
  return disturbance_of(step);
}

RelaxedStep TimeBounds::bare_step(const Plan& plan, double kernels, Seconds launches, double disturbance) const {
  const double parts = plan.mesh.product(weight_axes) * plan.mesh[Axis::spatial] * plan.mesh[Axis::context];
  const WholeTime whole =
      undivided_.least(samples_per_micro_batch(plan), plan.mesh[Axis::pipeline], kernel_axes_of(plan.mesh));
  RelaxedStep step;
  step.stages = plan.mesh[Axis::pipeline];
  step.micro_batches = static_cast<double>(plan.micro_batches);
  step.has_end = !job_.assumptions.weight_versions;
  step.pieces = token_pieces(job_.facts, plan, job_.assumptions);
  step.busy = whole.all * kernels / parts;
  step.waiting = step.busy * disturbance;
  step.longest = whole.longest * kernels / parts * (1 + disturbance);
  step.launches = launches;
  return step;
}

Seconds TimeBounds::least_launches(const Plan& plan) const {
  // If tables are distributed, a rank runs fewer kernels.
  if (!job_.facts.tables.empty()) return {};
  const double batch = static_cast<double>(plan.global_batch);
  const Mesh mesh = kernel_axes_of(plan.mesh);
  const Seconds in_ring = undivided_.launch(batch, mesh).launches;
  return exchanges_heads(job_, mesh) ? min(in_ring, undivided_.launch(batch, without_contexts(mesh)).launches) : in_ring;
}

Seconds TimeBounds::split_kernels(const Plan& plan) const {
  if (distributes_tables(job_.facts, plan)) return {};
  if (const SplitTables::Kernels* kernels = tables_.kernels(plan)) return kernels->all;
  Plan alone = split_of(plan);
  alone.mesh.set(Axis::data, 1);
  alone.mesh.set(Axis::pipeline, 1);
  const double samples = samples_per_micro_batch(plan);
  const auto key = std::tuple(alone.mesh, samples, plan.sequence_parallel, plan.context_exchange, plan.whole_experts);
  const auto known = split_kernels_.find(key);
  if (known != split_kernels_.end()) return known->second;
  alone.micro_batches = 1;
  alone.global_batch = alone.mesh.batch_parts() * std::llround(samples);
  const LayerKinds& kinds = tables_.kinds_of(tables_.replicated_layers_of(plan));
  ShardContext context{job_.facts, alone, job_.assumptions, 0, kinds.replicated};
  LayerShard shard;
  Seconds sum{};
  for (std::size_t kind = 0; kind < kinds.count.size(); ++kind) {
    context.layer = kinds.representative[kind];
    shard_layer(context, shard);
    sum += kernels_time(job_, context, shard) * kinds.count[kind];
  }
  return split_kernels_.emplace(key, sum).first->second;
}

TimeBounds::LayersStep TimeBounds::layers_step(const Plan& plan, const ExchangeTimes* placed) const {
  const double micro_batches = static_cast<double>(plan.micro_batches);
  const double splits = plan.mesh.product(weight_axes);
  const double spatial = plan.mesh[Axis::spatial];
  const double positions = spatial * plan.mesh[Axis::context];  // number of tiles or token shards of a sample
  const bool given = job_.times_whole_layers();
  const Parts& parts = parts_of(plan);
  LayersStep layers{bare_step(plan, parts.kernels, parts.launches, parts.disturbance),
                    {},
                    parts.kernels,
                    parts.disturbance,
                    !given && !job_.machine.levels.empty()};
  layers.step.fixed = fixed_waiting(job_, plan);
  if (!layers.has_exchanges) return layers;

  // Transfers take one micro-batch through all stages.
  const double samples = static_cast<double>(plan.global_batch) / plan.mesh.product(batch_axes) / micro_batches;
  if (placed == nullptr) {
    const LinearTime exchanges = exchanges_by_degrees(plan);
    layers.exchanges = exchanges.fixed + exchanges.of_sample * samples;
    layers.step.hop = parts.alpha;
    return layers;
  }
  const double item = item_bytes(plan.precision), tiles = samples / positions * item;
  const auto add = [&](Axis axis, Seconds time) { layers.exchanges += time * least_exposed_share(job_, plan, axis); };
  if (spatial > 1) {
    const Bytes halos(parts.traffic.halo_items * samples * item);
    const Link link = placed->neighbour_link(family_bit(Axis::spatial), Purpose::halo).link;
    add(Axis::spatial, link.alpha * parts.traffic.messages + halos / splits * link.beta);
    add(Axis::spatial, Bytes(parts.traffic.gathered_items * samples * item) * parts.gathered);
  }
  if (plan.mesh[Axis::filter] > 1) add(Axis::filter, starts_of_filters(plan));
  each_split_of_layers(plan.mesh, [&](Axis axis, double items) {
    const Seconds anywhere = Bytes(items * tiles) * parts.layer[static_cast<std::size_t>(axis)];
    const bool has_none = anywhere == Seconds{};
    add(axis, has_none ? anywhere : max(anywhere, placed->least_time(Bytes(items * tiles), family_bit(axis))));
  });
  layers.step.hop = plan.mesh[Axis::pipeline] > 1 ? hop_time(plan, least_crossing(plan), *placed) : parts.alpha;
  return layers;
}

Seconds TimeBounds::with_split(const LayersStep& layers, const OfSplit& split, const Plan& plan) const {
  RelaxedStep step = layers.step;
  step.busy = max(step.busy, split.kernels * layers.kernels);
  if (layers.has_exchanges) step.busy += max(layers.exchanges, split.exchanges);
  step.waiting = step.busy * layers.disturbance;
  return shortest_of_all(step, plan);
}

Seconds TimeBounds::of_degrees(const Plan& plan, Seconds exchanges) const {
  return with_split(layers_step(plan, nullptr), {{}, exchanges}, plan) + gradients_by_degrees(plan);
}

Seconds TimeBounds::of_exchanges(const Plan& plan, Seconds kernels) const {
  OfSplit split{kernels, {}};
  // If shard times are scaled from unsplit layers, kernels of shards give no bound.
  const bool in_slots = job_.assumptions.slot_pipeline && plan.mesh[Axis::pipeline] > 1;
  if (!in_slots && !job_.machine.levels.empty()) {
    // The bounds by exchanges and by split are requested one after the other.
    if (!exchanged_ || exchanged_->first != plan) exchanged_.emplace(plan, traffic_.time(plan, tables_.exchanges(plan)));
    split.exchanges = exchanged_->second;
  }
  // A single bound of exchanges holds for all ways to divide layers.
  Plan usual = plan;
  for (const PlanChoiceRow& row : plan_choices()) {
    if (row.divides_layers) row.set(usual, 0);
  }
  return of_placement(usual, split);
}

Seconds TimeBounds::of_split(const Plan& plan) const {
  // If times of unsplit layers are scaled to shards, kernels of shards give no bound.
  return of_exchanges(plan, job_.times_whole_layers() ? Seconds{} : split_kernels(plan));
}

Seconds TimeBounds::of_placement(const Plan& plan, const OfSplit& split) const {
  // The bounds of a plan by placement, exchanges and split are requested one after the other.
  if (!placed_ || placed_->plan != plan) {
    placed_.reset();
    if (job_.machine.levels.empty()) {
      placed_.emplace(PlacedParts{plan, layers_step(plan, nullptr), {}});
    } else {
      const ExchangeTimes& exchanges = tables_.exchanges(plan);
      placed_.emplace(PlacedParts{plan, layers_step(plan, &exchanges), least_gradients(plan, exchanges)});
    }
  }
  return with_split(placed_->layers, split, plan) + placed_->gradients;
}

}  // namespace ddl
