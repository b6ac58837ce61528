#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "estimator/choices/plan_choice.hpp"
#include "estimator/exchanges/gradient_exchange.hpp"
#include "estimator/kernels/shard_prices.hpp"
#include "estimator/kernels/shard_problems.hpp"
#include "estimator/layers/pipeline.hpp"
#include "estimator/schedules/schedule.hpp"
#include "estimator/step/estimate.hpp"
#include "estimator/step/expert_overlap.hpp"
#include "estimator/step/tasks.hpp"
#include "estimator/strategies/context.hpp"
#include "estimator/strategies/expert.hpp"
#include "estimator/strategies/pipeline.hpp"
#include "estimator/strategies/shard_memory.hpp"
#include "estimator/strategies/spatial.hpp"
#include "estimator/strategies/strategy.hpp"
#include "estimator/strategies/tensor.hpp"

// What no plan of some kind is shorter, or needs less, than: what a search gives up plans by.

namespace ddl {
namespace {

/// At most what goes over all links of a level together: a measured φ may be less than flows over links.
double most_of(const Job& job, const LinkLevel& level) {
  double links = level.rails;
  for (const MeasuredContention& measured : job.coefficients.contention) {
    if (measured.level == level.name) links = std::max(links, measured.groups / measured.phi);
  }
  return level.bandwidth.value() * links;
}

/// At most what one device sends per second, whichever way an exchange takes.
double fastest_link(const Job& job) {
  double fastest = job.machine.host ? job.machine.host->bandwidth.value() : 0.0;
  for (const LinkLevel& level : job.machine.levels) fastest = std::max(fastest, most_of(job, level));
  return fastest;
}
/// What measured runs may take off a bound: the least of their factors, where these make anything cheaper.
struct Discount {
  double alpha = 1, beta = 1, kernels = 1;
};
Discount discount_of(const Job& job, const Plan& plan) {
  if (!job.assumptions.learned || job.coefficients.learned.empty()) return {};
  const Learned learned = learned_of(job.coefficients.learned, plan.mesh.family());
  Discount least;
  for (const Purpose purpose : {Purpose::gradient, Purpose::layer, Purpose::halo}) {
    const PathCoefficients path = path_coefficients(purpose);
    least.alpha = std::min(least.alpha, learned[path.alpha]);
    least.beta = std::min(least.beta, learned[path.beta]);
  }
  least.kernels = std::min(1.0, learned[Coefficient::kernels]);
  return least;
}

/// A group must pass at least (1−1/p) of a vector over the links of a device and, where links are shared, (1−1/n) of it over
/// the rails between the n nodes that it takes.
Seconds moving_bound(const Job& job, double bytes, double group) {
  const auto& levels = job.machine.levels;
  double seconds = bytes * (1.0 - 1.0 / group) / fastest_link(job);
  const double nodes = group / job.machine.devices_per_node();
  if (nodes > 1 && levels.size() > 1 && job.assumptions.contention) {
    seconds = std::max(seconds, bytes * (1.0 - 1.0 / nodes) / most_of(job, levels[1]));
  }
  return Seconds(seconds);
}

/// The ranks along the axes on which it depends what kernels a rank runs, and not only how much each of them has to do: of
/// experts it has a part, and attention to the tokens of other ranks has kernels of its own.
Mesh kernel_axes_of(const Mesh& mesh) {
  Mesh own;
  for (const Axis axis : {Axis::expert, Axis::context}) own.set(axis, mesh[axis]);
  return own;
}

/// The same where ranks exchange heads: each then has all tokens, and the kernels of a rank without other contexts.
Mesh without_contexts(Mesh mesh) {
  mesh.set(Axis::context, 1);
  return mesh;
}

/// The layers of the ranks of a mesh of such axes that have the same samples, together: divided along no other axis.
class UndividedLayers {
 public:
  UndividedLayers(const Job& job, double samples, const Mesh& mesh)
      : contexts_(mesh[Axis::context]),
        in_ring_(layers_of(job, samples, mesh)),
        of_heads_(layers_of(job, samples, without_contexts(mesh))) {}

  /// Returns what `time(context, shard)` says of a layer, for the exchange of contexts with which that is less.
  template <class Time>
  [[nodiscard]] Seconds least(std::size_t layer, const Time& time) {
    const ShardContext& context = in_ring_.at(layer);
    const Seconds in_ring = time(context, in_ring_.shard()) * contexts_;
    if (contexts_ == 1 || !context.at().operation->is_attention()) return in_ring;
    return min(in_ring, time(of_heads_.at(layer), of_heads_.shard()));
  }

 private:
  static WholeLayers layers_of(const Job& job, double samples, const Mesh& mesh) {
    return {job.facts, samples, job.kernels.precision(), job.kernels.optimizer(), job.assumptions, mesh};
  }
  double contexts_;
  WholeLayers in_ring_, of_heads_;
};

Plan without_batch(Plan plan) {
  plan.global_batch = 1;
  plan.micro_batches = 1;
  return plan;
}

/// The time of a run for choices that this step does not have: they may make another stage the longest one, whose work all
/// ranks wait for. What it waits for the others stays as it is.
Seconds least_run(const Step& step, const Timing<double>& timing) {
  const Seconds time(timing.iteration());
  if (step.stages == 1 || step.in_slots || !step.several_ranks) return time;
  const double disturbance = step.origin[Coefficient::straggler_factor] * std::log(step.slowest_of) + step.rank_waiting;
  std::vector<double> waiting;
  for (const Timing<double>::Stage& stage : timing.stages)
    waiting.push_back(stage.disturbed * disturbance + stage.kernels() * step.straggling);
  const double least = *std::min_element(waiting.begin(), waiting.end());
  const double more = waiting[static_cast<std::size_t>(timing.critical.time)] - least;
  return time - Seconds(more * (step.fills_bubbles ? step.micro_batches : 1));
}

/// Of one micro-batch between two stages, where so many items of a sample cross.
Seconds hop_time(const Plan& plan, double items, const ExchangePrices& exchanges) {
  const Bytes crossing(items * item_bytes(plan.precision) * samples_per_micro_batch(plan));
  const Link link = exchanges.neighbour_link(family_bit(Axis::pipeline), Purpose::pipeline).link;
  return link.alpha + crossing * link.beta;
}

}  // namespace

template <class Time>
const std::vector<Seconds>& Estimator::running_sums(Sums& known, double samples, const Mesh& mesh, const Time& time) const {
  std::vector<Seconds>& sums = known[{samples, mesh}];
  if (!sums.empty()) return sums;
  const LayerKinds& kinds = kinds_of({});
  UndividedLayers layers(job_, samples, mesh);
  std::vector<Seconds> times;  // by kind
  for (const int layer : kinds.representative) times.push_back(layers.least(static_cast<std::size_t>(layer), time));
  sums.resize(kinds.kind.size() + 1);
  for (std::size_t i = 0; i < kinds.kind.size(); ++i) sums[i + 1] = sums[i] + times[static_cast<std::size_t>(kinds.kind[i])];
  return sums;
}

Estimator::WholeTime Estimator::by_stage(const std::vector<Seconds>& sums, int stage_count) const {
  if (stage_count == 1) return {sums.back(), sums.back()};
  const auto& levels = places(stage_count, {}, 1).levels();
  if (levels.empty()) return {sums.back(), Seconds{}};
  std::vector<StageLoad> before;
  for (const int place : levels.back()) before.push_back({.forward = sums[static_cast<std::size_t>(place)]});
  return {sums.back(), StageBalance(before, {}, stage_count).shortest() / (1 + cut_rounding)};
}

Estimator::WholeTime Estimator::whole_time(double samples, int stage_count, const Mesh& mesh) const {
  TimesBySamples& times_by_samples = whole_times_[{stage_count, mesh}];
  const auto known = times_by_samples.find(samples);
  if (known != times_by_samples.end()) return known->second;
  const auto& sums = running_sums(whole_, samples, mesh, [&](const ShardContext& context, const LayerShard& shard) {
    return kernels_time(job_, context, shard);
  });
  return times_by_samples.emplace(samples, by_stage(sums, stage_count)).first->second;
}

Estimator::WholeTime Estimator::least_time(double samples, int stage_count, const Mesh& mesh) const {
  const ShardPrices* measured = job_.kernels.measured();
  if (job_.prices_whole_layers() || job_.assumptions.linear_kernels ||
      (measured == nullptr && !job_.kernels.has_formulas())) {
    return whole_time(samples, stage_count, mesh);
  }
  TimesBySamples& times_by_samples = least_times_[{stage_count, mesh}];
  const auto known = times_by_samples.find(samples);
  if (known != times_by_samples.end()) return known->second;
  const auto& sums = running_sums(least_, samples, mesh, [&](const ShardContext& context, const LayerShard& shard) {
    if (measured != nullptr) return measured->least(context, shard);
    Seconds sum{};
    for (const Pass pass : {Pass::forward, Pass::backward_weight, Pass::backward_data}) {
      if (pass == Pass::backward_data && !job_.facts.needs_input_gradient[context.index()]) continue;
      if (pass == Pass::backward_weight && job_.facts.frozen[context.index()]) continue;
      sum += job_.kernels.least_pass_time(context.index(), *context.operation(shard), pass, shard.inputs, shard.output,
                                          shard.samples, precision_of(context));
    }
    return sum;
  });
  return times_by_samples.emplace(samples, by_stage(sums, stage_count)).first->second;
}

Estimator::SpatialTraffic Estimator::spatial_traffic(const Plan& plan) const {
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

double Estimator::exchange_starts(const Plan& plan) const {
  Plan alone = without_batch(split_of(plan));
  alone.mesh.set(Axis::data, 1);
  alone.mesh.set(Axis::pipeline, 1);
  if (alone.mesh.devices() == 1 || job_.machine.levels.empty()) return 0;
  const auto known = exchange_starts_.find(alone);
  if (known != exchange_starts_.end()) return known->second;
  double least_starts = std::numeric_limits<double>::infinity();
  if (alone.context_exchange == ContextExchange::ring && may_exchange_heads(job_.facts, plan)) {
    // A bound is of either exchange.
    Plan heads = plan;
    heads.context_exchange = ContextExchange::ulysses;
    if (plan.mesh[Axis::context] > 1) least_starts = exchange_starts(heads);
  }
  if (!alone.whole_experts && plan.mesh[Axis::tensor] > 1 && job_.facts.experts > 0) {
    Plan dealt = plan;
    dealt.whole_experts = dealt.sequence_parallel = true;
    if (supports_etp1(job_.facts, dealt)) least_starts = std::min(least_starts, exchange_starts(dealt));
  }
  const LayerKinds& kinds = kinds_of(replicated_layers_of(plan));
  ShardContext context{job_.facts, alone, job_.assumptions, 0, kinds.replicated};
  LayerShard shard;
  double starts = 0;
  for (std::size_t kind = 0; kind < kinds.count.size(); ++kind) {
    context.layer = kinds.representative[kind];
    shard_layer(context, shard);
    for (const Exchange& exchange : shard.exchanges) {
      // What kernels hide takes no start.
      if (exchange.phase == Phase::gradient || exchange.items <= 0 || exchange.beside_kernels) continue;
      starts += static_cast<double>(exchange.messages) * kinds.count[kind];
    }
  }
  return exchange_starts_.emplace(alone, std::min(starts, least_starts)).first->second;
}

RelaxedStep Estimator::uncut_step(const Plan& plan) const {
  const LayerCostTable& costs = table(plan);
  Step step;
  step.origin[Coefficient::launch_overhead] = launch_overhead(job_).value();
  step.stages = plan.mesh[Axis::pipeline];
  step.micro_batches = static_cast<double>(plan.micro_batches);
  Plan bare = plan;
  bare.recompute = Recompute::none;
  bare.schedule = Schedule::one_forward_one_backward;
  add_tasks(costs.total(), nullptr, 0, bare, nullptr, step.tasks);
  add_hidden_exchanges(costs.total(), most_hidden_share(job_, bare, costs.total()), 0, nullptr, step.tasks);
  step.transfers.emplace_back(hop_time(plan, least_crossing(plan), costs.exchanges()));
  return relaxed(step);
}

Seconds Estimator::uncut_time(const Plan& plan) const {
  // Slots count the exchanges of one stage alone.
  if (plan.mesh[Axis::pipeline] == 1 || job_.assumptions.slot_pipeline) return layers_time(plan);
  return shortest_of_all(uncut_step(plan), plan);
}

Seconds Estimator::cut_time(const Plan& plan) const {
  const Software& software = job_.coefficients.software;
  // All-to-alls of experts that are overlapped with another micro-batch make stages shorter than their loads.
  const bool hides = software.overlaps_expert_exchanges.value_or(false);
  if (plan.mesh[Axis::pipeline] == 1 || job_.assumptions.slot_pipeline || hides) return {};
  const std::vector<int>& firsts = stages(plan);
  if (firsts.empty()) return {};
  RelaxedStep step = uncut_step(plan);
  const LayerCostTable& costs = table(plan);
  const Seconds start = launch_overhead(job_);
  // A stage is the difference of two sums.
  constexpr double rounding = 1 - 1e-9;
  StageLoad before = costs.load_before(firsts.front());
  for (std::size_t stage = 0; stage + 1 < firsts.size(); ++stage) {
    const StageLoad after = costs.load_before(firsts[stage + 1]);
    StageLoad own = after;
    own.add(before, -1.0);
    step.longest = max(step.longest, own.time(start) * rounding);
    before = after;
  }
  return shortest_of_all(step, plan);
}

double Estimator::least_crossing(const Plan& plan) const {
  const double items = places(plan.mesh[Axis::pipeline], replicated_layers_of(plan), plan.mesh[Axis::spatial]).least_items();
  const double parts = may_split_tokens(job_.facts, plan) ? plan.mesh[Axis::tensor] : 1;
  return items / (parts * plan.mesh[Axis::context]);
}

std::vector<Schedule> Estimator::fillers_of(const Plan& plan) const {
  std::vector<Schedule> fillers;
  if (plan.mesh[Axis::pipeline] == 1 || job_.assumptions.slot_pipeline) return fillers;
  for (const ScheduleOrder* order : all_schedules()) {
    if (order->fills_bubbles && may_schedule(job_.facts, plan, order->schedule)) fillers.push_back(order->schedule);
  }
  return fillers;
}

Seconds Estimator::shortest_of_all(RelaxedStep step, const Plan& plan) const {
  Seconds least(std::numeric_limits<double>::infinity());
  for (const int stretches : stretches_of(plan)) {
    step.stretches = stretches;
    least = min(least, shortest_run(step));
  }
  step.stretches = 1;
  step.fills_bubbles = true;
  return fillers_of(plan).empty() ? least : min(least, shortest_run(step));
}

Seconds Estimator::layers_time(const Plan& plan) const {
  Plan bare = plan;
  bare.recompute = Recompute::none;
  bare.zero_stage = 0;
  bare.shard_group = 0;
  bare.offload_activations = false;
  bare.schedule = Schedule::one_forward_one_backward;
  Seconds least(std::numeric_limits<double>::infinity());
  for (const int stretches : stretches_of(plan)) {
    bare.virtual_stages = stretches;
    least = min(least, least_run(staged(bare).step, staged(bare).timing));
  }
  bare.virtual_stages = 1;
  for (const Schedule schedule : fillers_of(plan)) {
    bare.schedule = schedule;
    least = min(least, least_run(staged(bare).step, staged(bare).timing));
  }
  return least;
}

const Estimator::BoundParts& Estimator::bound_parts(const Plan& plan) const {
  Plan split = split_of(plan);
  split.micro_batches = 1;
  if (bound_parts_ && bound_parts_->split == split) return *bound_parts_;
  const Discount discount = discount_of(job_, plan);
  BoundParts& parts = bound_parts_.emplace(split);
  parts.kernels = discount.kernels;
  parts.beta = discount.beta;
  parts.starts = least_starts(plan);
  if (parts.starts > Seconds{}) parts.starts += launch_overhead(job_) * exchange_starts(plan);
  const auto& levels = job_.machine.levels;
  if (levels.empty()) return parts;
  parts.alpha = levels[0].latency;
  for (const LinkLevel& level : levels) parts.alpha = min(parts.alpha, level.latency);
  parts.alpha *= discount.alpha;
  // Measured exchanges keep to a time per byte alone.
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

RelaxedStep Estimator::bare_step(const Plan& plan, double kernels, Seconds starts) const {
  const double parts = plan.mesh.product(weight_axes) * plan.mesh[Axis::spatial] * plan.mesh[Axis::context];
  const WholeTime whole = least_time(samples_per_micro_batch(plan), plan.mesh[Axis::pipeline], kernel_axes_of(plan.mesh));
  RelaxedStep step;
  step.stages = plan.mesh[Axis::pipeline];
  step.micro_batches = static_cast<double>(plan.micro_batches);
  step.busy = whole.all * kernels / parts;
  step.longest = whole.longest * kernels / parts;
  step.starts = starts;
  return step;
}

Seconds Estimator::bare_lower_bound(const Plan& plan) const {
  return shortest_of_all(bare_step(plan, discount_of(job_, plan).kernels, least_starts(plan)), plan);
}

Seconds Estimator::least_starts(const Plan& plan) const {
  const double batch = static_cast<double>(plan.global_batch);
  const Mesh mesh = kernel_axes_of(plan.mesh);
  return min(single_device_launch(batch, mesh).starts, single_device_launch(batch, without_contexts(mesh)).starts);
}

Seconds Estimator::split_kernels(const Plan& plan) const {
  Plan alone = split_of(plan);
  alone.mesh.set(Axis::data, 1);
  alone.mesh.set(Axis::pipeline, 1);
  const double samples = samples_per_micro_batch(plan);
  const auto key = std::tuple(alone.mesh, samples, plan.sequence_parallel, plan.context_exchange, plan.whole_experts);
  const auto known = split_kernels_.find(key);
  if (known != split_kernels_.end()) return known->second;
  alone.micro_batches = 1;
  alone.global_batch = alone.mesh.batch_parts() * std::llround(samples);
  const LayerKinds& kinds = kinds_of(replicated_layers_of(plan));
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

Seconds Estimator::layers_lower_bound(const Plan& plan, const ExchangePrices* placed, Seconds kernels) const {
  const double micro_batches = static_cast<double>(plan.micro_batches);
  const double splits = plan.mesh.product(weight_axes);
  const double spatial = plan.mesh[Axis::spatial];
  const double positions = spatial * plan.mesh[Axis::context];  // parts of a sample
  const bool given = job_.prices_whole_layers();
  const BoundParts& parts = bound_parts(plan);
  RelaxedStep step = bare_step(plan, parts.kernels, parts.starts);
  step.busy = max(step.busy, kernels * parts.kernels);
  if (given || job_.machine.levels.empty()) return shortest_of_all(step, plan);

  // Of one micro-batch, through all stages.
  const double item = item_bytes(plan.precision);
  const double samples = static_cast<double>(plan.global_batch) / plan.mesh.product(batch_axes) / micro_batches;
  const double tiles = samples / positions * item;
  const auto moving = [&](double bytes, Axis axis) {
    const Seconds anywhere = Bytes(bytes) * parts.layer[static_cast<std::size_t>(axis)];
    if (placed == nullptr || anywhere == Seconds{}) return anywhere;
    return max(anywhere, placed->least_time(Bytes(bytes), family_bit(axis)));
  };
  Seconds exchanges{};
  if (spatial > 1) {
    const Bytes halos(parts.traffic.halo_items * samples * item);
    if (placed != nullptr) {
      const Link link = placed->neighbour_link(family_bit(Axis::spatial), Purpose::halo).link;
      exchanges += link.alpha * parts.traffic.messages + halos / splits * link.beta;
    } else {
      exchanges += parts.alpha * parts.traffic.messages + halos / splits * parts.halo;
    }
    exchanges += Bytes(parts.traffic.gathered_items * samples * item) * parts.gathered;
  }
  // Every micro-batch starts an exchange of outputs and one of gradients, and no collective has fewer rounds than a tree.
  if (plan.mesh[Axis::filter] > 1)
    exchanges += parts.alpha * (split_collectives_ * std::ceil(std::log2(plan.mesh[Axis::filter])));
  // An Allreduce counts twice. Of two splits of one layer, each sums what the other leaves and gathers the whole.
  if (plan.mesh[Axis::filter] > 1)
    exchanges += moving((split_outputs_ + 2.0 * split_inputs_ / plan.mesh[Axis::channel]) * tiles, Axis::filter);
  if (plan.mesh[Axis::channel] > 1)
    exchanges += moving((2.0 * channel_outputs_ / plan.mesh[Axis::filter] + channel_inputs_) * tiles, Axis::channel);
  // Whole experts are left out of a tensor split.
  if (plan.mesh[Axis::tensor] > 1 && plan.mesh[Axis::tensor] <= smallest_tensor_units_)
    exchanges += moving((tensor_items_ - tensor_items_of_experts_) * tiles, Axis::tensor) * shown_tensor_exchanges(plan);

  step.busy += exchanges;
  step.hop = parts.alpha;
  if (placed != nullptr && plan.mesh[Axis::pipeline] > 1) {
    step.hop = hop_time(plan, least_crossing(plan), *placed);
  }
  return shortest_of_all(step, plan);
}

double Estimator::shown_tensor_exchanges(const Plan& plan) const {
  const bool in_pieces = job_.coefficients.software.overlaps_tensor_exchanges.value_or(false) && job_.assumptions.overlap;
  return in_pieces ? 1.0 / plan.mesh[Axis::tensor] : 1.0;
}

Bytes Estimator::shown_gradients(const Plan& plan) const {
  const bool hidden =
      overlaps_gradients(job_.coefficients, job_.assumptions) || gathers_beside_forward(job_.coefficients, job_.assumptions);
  if (hidden || plan.mesh.replicas() == 1) return {};
  const double splits = plan.mesh.product(weight_axes);
  // Experts are divided among the ranks of their axis.
  const double all = job_.facts.trained_parameters;
  const double dense = plan.mesh[Axis::expert] > 1 ? all - job_.facts.trained_expert_parameters : all;
  return Bytes(dense / splits / plan.mesh[Axis::pipeline] * exchanged_bytes(plan, job_.assumptions).least());
}

Seconds Estimator::lower_bound(const Plan& plan) const {
  const Seconds bound = layers_lower_bound(plan, nullptr, {});
  const Software& software = job_.coefficients.software;
  const bool sparse = software.gradient_density || job_.assumptions.allreduce == AllreduceAlgorithm::sparse ||
                      software.gradient_algorithm == AllreduceAlgorithm::sparse ||
                      software.hybrid_gradient_algorithm == AllreduceAlgorithm::sparse;
  const Bytes gradients = shown_gradients(plan);
  if (sparse || gradients.value() <= 0 || job_.machine.levels.empty()) return bound;
  return bound + gradients * 2.0 * bound_parts(plan).gradients;
}

const ExchangePrices& Estimator::exchanges_of(const Plan& plan) const {
  const Plan split = without_batch(split_of(plan));
  if (!placed_.empty() && placed_.front()->split != split) placed_.clear();
  for (const auto& known : placed_) {
    if (known->plan.placement == plan.placement) return known->exchanges;
  }
  return placed_.emplace_back(std::make_unique<Placed>(split, plan, job_))->exchanges;
}

Seconds Estimator::placed_lower_bound(const Plan& plan) const { return placed_lower_bound(plan, {}); }

Seconds Estimator::split_lower_bound(const Plan& plan) const {
  // Whole layers that were measured are not divided by what their parts take.
  const Seconds kernels = job_.prices_whole_layers() ? Seconds{} : split_kernels(plan);
  // Exchanges are bounded for all ways to divide layers together.
  Plan usual = plan;
  for (const PlanChoiceRow& row : plan_choices()) {
    if (row.divides_layers) row.set(usual, 0);
  }
  return placed_lower_bound(usual, kernels);
}

Seconds Estimator::placed_lower_bound(const Plan& plan, Seconds kernels) const {
  if (job_.machine.levels.empty()) return layers_lower_bound(plan, nullptr, kernels);
  const ExchangePrices& exchanges = exchanges_of(plan);
  const Seconds bound = layers_lower_bound(plan, &exchanges, kernels);
  const Bytes gradients = shown_gradients(plan);
  if (gradients.value() <= 0) return bound;
  const ExchangedBytes each = exchanged_bytes(plan, job_.assumptions);
  const auto by_stage = [&](int stage, int shard_group) {
    Plan sharded = plan;
    sharded.zero_stage = stage;
    sharded.shard_group = shard_group;
    return gradient_exchange(sharded, exchanges, each, {replica_axes, gradients.value() / each.least()}).total();
  };
  const auto is_measured = [&](Family axes) { return exchanges.is_measured(axes, Purpose::gradient); };
  // More gradients may take less time where they are measured.
  const auto at_least = [&](Bytes message, Family axes) {
    return 2.0 * exchanges.least_time(message, axes, Purpose::gradient);
  };
  // Whichever its stage, ZeRO exchanges in the way of stages 0 or 1 at least.
  Seconds least = is_measured(replica_axes) ? at_least(gradients, replica_axes) : min(by_stage(0, 0), by_stage(1, 0));
  // In shard groups that a search tries with ZeRO-3, or that the plan has.
  const int data = plan.mesh[Axis::data];
  for (const int size : {job_.machine.devices_per_node(), plan.shard_group}) {
    if (size <= 1 || size >= data || data % size != 0) continue;
    const Family shards = shard_axes(replica_axes, size), copies = copy_axes(size);
    const bool measured = is_measured(shards) || is_measured(copies);
    const Bytes shard = gradients / (plan.mesh.replicas() * size / data);
    least = min(least, measured ? at_least(gradients, shards) + at_least(shard, copies)
                                : by_stage(size == plan.shard_group ? 1 : 3, size));
  }
  return bound + least;
}

Bytes Estimator::memory_lower_bound(const Plan& plan) const {
  Plan least = plan;
  least.zero_stage = 3;
  least.shard_group = 0;
  least.reshard = true;
  least.secondary_shards = 0;
  return parameters_lower_bound(least);
}

Bytes Estimator::parameters_lower_bound(const Plan& plan) const {
  const double splits = plan.mesh.product(weight_axes);
  const double elsewhere = 1.0 - 1.0 / plan.mesh[Axis::expert];
  const auto on_rank = [&](double all, double experts) {
    return (all - experts * elsewhere) / splits / plan.mesh[Axis::pipeline];
  };
  const double parameters = on_rank(job_.facts.parameters, job_.facts.expert_parameters);
  if (job_.assumptions.memory_reuse) {
    return Bytes(2.0 * *job_.assumptions.memory_reuse * item_bytes(plan.precision) * parameters);
  }
  const double trained = on_rank(job_.facts.trained_parameters, job_.facts.trained_expert_parameters);
  return parameter_memory({parameters, trained}, plan, parameter_bytes(plan.optimizer, plan.precision)).total();
}

Bytes Estimator::kept_of(const Plan& plan, int stage_first, int stage_last) const {
  const auto [first, last] = foremost_alike(plan, stage_first, stage_last);
  // It depends on recomputation, of so many blocks in each virtual stage, and on no other choice.
  Plan alike = split_of(plan);
  alike.recompute = plan.recompute;
  alike.recompute_blocks = plan.recompute_blocks;
  alike.schedule = plan.schedule;
  alike.virtual_stages = plan.virtual_stages;
  const auto [known, is_new] = split(plan).peaks.try_emplace({first, last, MemoryChoices(alike), 0.0});
  if (is_new) known->second.earlier = kept_by_micro_batch(job_, plan, table(plan), first, last);
  return known->second.earlier.allocated;
}

bool Estimator::keeps_more_than(const Plan& plan, Bytes limit) const {
  // Shares of a whole are as large as they should be but for rounding of their own.
  constexpr double rounding = 1 - 1e-9;
  if (parameters_lower_bound(plan) * rounding > limit) return true;
  if (job_.assumptions.memory_reuse || plan.offload_activations) return false;
  // After its last forward the first stage has all that its micro-batches keep, in addition to its parameters.
  const std::vector<int>& firsts = stages(plan);
  const double in_flight = micro_batches_in_flight(plan.schedule, 0, plan.mesh[Axis::pipeline],
                                                   static_cast<double>(plan.micro_batches), plan.virtual_stages);
  const LayerCostTable& costs = table(plan);
  MemoryBreakdown own = parameter_memory(
      {stage_parameters(job_, costs, firsts[0], firsts[1]), stage_parameters(job_, costs, firsts[0], firsts[1], true)}, plan,
      parameter_bytes(job_.facts, plan, job_.assumptions.mixed_precision));
  if (!has_whole_gradients(plan, job_.assumptions)) own.gradients = Bytes{};
  return (own.total() + kept_of(plan, firsts[0], firsts[1]) * in_flight) * rounding > limit;
}

bool Estimator::needs_more_than(const Plan& plan, Bytes limit) const {
  if (keeps_more_than(plan, limit)) return true;
  return (!job_.assumptions.memory_reuse && memory_of(plan, 0).total() > limit) || memory(plan).total() > limit;
}

}  // namespace ddl
