#include "estimator/layers/layer_costs.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/error.hpp"
#include "estimator/inputs/expert_load.hpp"
#include "estimator/kernels/recurrent_steps.hpp"
#include "estimator/kernels/shard_problems.hpp"
#include "estimator/kernels/shard_times.hpp"
#include "estimator/layers/exchange_time.hpp"
#include "estimator/layers/host_launches.hpp"
#include "estimator/layers/matrix_update.hpp"
#include "estimator/layers/overlaps.hpp"
#include "estimator/layers/token_pieces.hpp"
#include "estimator/strategies/expert.hpp"
#include "estimator/strategies/pipeline.hpp"
#include "estimator/strategies/shard_memory.hpp"
#include "estimator/strategies/spatial.hpp"

namespace ddl {
namespace {

/// Calls `take` with every kernel of one layer. Kernels of split filters and channels have measured
/// times if available, else roofline times.
template <class Take>
void each_kernel_of_layer(const Job& job, const ShardContext& context, const LayerShard& shard, const Take& take) {
  const KernelTimes& kernels = job.kernels;
  if (job.times_whole_layers()) {
    const LayerTimes& whole = kernels.serial()[context.index()];
    const double samples = shard.samples * shard.share;
    take(TimedKernel{to_string(Pass::forward), Phase::forward, std::nullopt, whole.forward * samples, kernels.source()});
    take(TimedKernel{"backward", Phase::backward, std::nullopt, whole.backward * samples, kernels.source()});
    return;
  }
  if (const ShardTimes* measured = kernels.measured()) {
    for (const TimedKernel& kernel : measured->kernels(context, shard)) take(kernel);
    return;
  }
  const Layer& layer = context.at();
  const Operation& operation = *context.operation(shard);
  const Precision precision = precision_of(context);
  const auto measured = [&](const std::optional<UndividedFraction>& split, double parts) -> const UndividedFraction* {
    return parts > 1 && split && split->is_about(operation.type(), precision) ? &*split : nullptr;
  };
  const UndividedFraction* const filters_measured = measured(kernels.filter_undivided(), shard.filter_parts);
  const UndividedFraction* const channels_measured = measured(kernels.channel_undivided(), shard.channel_parts);
  const auto left = [](const UndividedFraction& split, double parts) {
    return split.fraction + (1.0 - split.fraction) / parts;
  };
  std::vector<TensorShape> whole_inputs;
  const std::vector<TensorShape>* inputs = &shard.inputs;
  TensorShape output = shard.output;
  double factor = 1;
  if (filters_measured != nullptr) {
    output.channels = layer.output_shape.channels;
    factor *= left(*filters_measured, shard.filter_parts);
  }
  if (channels_measured != nullptr) {
    whole_inputs = shard.inputs;
    whole_inputs.front().channels = layer.input_shapes.front().channels;
    inputs = &whole_inputs;
    factor *= left(*channels_measured, shard.channel_parts);
  }
  // If a table is split along its vocabulary, a rank has the whole output, but only a part of the rows, whichever layer owns
  // the table.
  const TableRows rows = table_rows(context);
  const double part = rows.is_cut() ? static_cast<double>(rows.own) / static_cast<double>(rows.all) : 1.0;
  const bool split_measured = filters_measured != nullptr || channels_measured != nullptr;
  const auto add_pass = [&](Pass pass) {
    const Phase phase = pass == Pass::forward ? Phase::forward : Phase::backward;
    if (runs_in_one_call(operation)) {
      const std::size_t at = context.index();
      const Work work = operation.work(pass, *inputs, output);
      if (!work.is_any()) return;
      take(TimedKernel{to_string(pass), phase, work,
                       kernels.pass_time(at, operation, pass, *inputs, output, shard.samples, precision) * factor,
                       kernels.source(work, pass, precision), precision});
      return;
    }
    for (Work& work : kernels.works(context.index(), operation, pass, *inputs, output)) {
      if (!work.is_any()) continue;
      work.weight_items *= part;
      const Precision own = precision_of(work, precision);
      const Provenance source = kernels.source(work, pass, own);
      take(TimedKernel{to_string(pass), phase, work, kernels.kernel_time(work, pass, shard.samples, own) * factor,
                       split_measured ? least_certain(source, Provenance::curve) : source, own});
    }
  };
  add_pass(Pass::forward);
  if (!context.facts.frozen[context.index()]) add_pass(Pass::backward_weight);
  if (context.facts.needs_input_gradient[context.index()]) add_pass(Pass::backward_data);
  if (!casts(context.plan, context.assumptions)) return;
  for (const ShardProblem& each : shard_problems(context, shard)) {
    if (kernel_name(each) != cast_pass) continue;
    const Problem& cast = each.problem;
    const Work work = work_of(each, shard.samples);
    const Seconds time = kernels.kernel_time(work, Pass::forward, shard.samples, cast.precision);
    take(TimedKernel{cast_pass, phase_of(each), work, time, kernels.source(work, Pass::forward, cast.precision),
                     cast.precision});
  }
}

/// Calls `take` with every kernel of a shard. The time of a kernel is the mean time on a rank that has `held` such layers.
template <class Take>
void each_timed_kernel(const Job& job, const ShardContext& context, const LayerShard& shard, const Take& take) {
  if (shard.held == 0) return;
  if (shard.held == 1 && shard.batches == 1) return each_kernel_of_layer(job, context, shard, take);
  LayerShard one = shard;
  one.samples *= one.batches;
  each_kernel_of_layer(job, context, one, [&](TimedKernel kernel) {
    kernel.time *= shard.held;
    take(kernel);
  });
}

}  // namespace

Seconds kernels_time(const Job& job, const ShardContext& context, const LayerShard& shard) {
  Seconds sum{};
  each_timed_kernel(job, context, shard, [&](const TimedKernel& kernel) { sum += kernel.time; });
  return sum;
}

namespace {

/// The effect of fitted coefficients on a shard's kernels: a factor, and the derivative of the time
/// with respect to Coefficient::repeated.
struct LearnedFactor {
  double factor = 1, repeated = 0;
};
LearnedFactor learned_factor(const Job& job, const ShardContext& context, const LayerShard& shard, const Learned& learned,
                             bool with_slopes) {
  const Plan& plan = context.plan;
  // All ranks wait for the rank whose experts have the most tokens.
  const auto experts = static_cast<double>(context.at().operation->experts());
  const double imbalance =
      experts > 1 ? expert_load(job.assumptions, experts, static_cast<double>(expert_parts(plan))) : 1.0;
  const double factor = learned[Coefficient::kernels] * imbalance, repeated = learned[Coefficient::repeated];
  const bool splits = plan.mesh.product(weight_axes) > 1 || plan.mesh[Axis::spatial] > 1;
  if (!splits || (repeated <= 0 && !with_slopes)) return {factor, 0};
  const Seconds split = kernels_time(job, context, shard);
  if (split.value() <= 0) return {factor, 0};
  WholeLayers layers(context.facts, shard.samples, plan.precision, plan.optimizer, job.assumptions);
  const ShardContext& unsplit = layers.at(context.index());
  const Seconds whole = kernels_time(job, unsplit, layers.shard());
  const double more = factor * std::max(0.0, whole / split - 1.0);
  return {factor + repeated * more, more};
}

/// Calls `take` with the kernels of each_timed_kernel, with fitted factors applied. If the host cannot run ahead of a
/// kernel, the kernel takes at least the host's launch time.
template <class Take>
void each_kernel(const Job& job, const ShardContext& context, const LayerShard& shard, const LearnedFactor& learned,
                 const Take& take) {
  each_timed_kernel(job, context, shard, [&](TimedKernel kernel) {
    kernel.time *= learned.factor;
    // A negative correction is not scaled. It means that the step is faster than the sum of its kernels.
    if (const Seconds launch = expert_launch_time(job, context, shard, kernel); launch > Seconds{}) {
      kernel.time = max(kernel.time, launch);
    }
    take(kernel);
  });
}

/// Adds the kernels of a shard to the costs of its layer.
void add_kernels(const Job& job, const ShardContext& context, const LayerShard& shard, const LearnedFactor& learned,
                 LayerCosts& costs) {
  each_kernel(job, context, shard, learned, [&](const TimedKernel& kernel) {
    const bool forward = kernel.phase == Phase::forward;
    (forward ? costs[LayerTime::forward] : costs[LayerTime::backward]) += kernel.time;
    if (kernel.pass == to_string(Pass::backward_data)) costs[LayerTime::input_gradient] += kernel.time;
    const bool of_weights = kernel.pass == to_string(Pass::backward_weight);
    if (of_weights) costs[LayerTime::weight_gradient] += kernel.time;
    if (learned.repeated > 0) {
      const Seconds repeated = kernel.time * (learned.repeated / learned.factor);
      (forward ? costs.slopes[LayerTime::forward] : costs.slopes[LayerTime::backward]) += repeated;
      if (of_weights) costs.slopes[LayerTime::weight_gradient] += repeated;
    }
    (forward ? costs[LayerCount::forward_kernels] : costs[LayerCount::backward_kernels]) +=
        launches_of(job, kernel) * shard.held;
  });
}

/// Divides the kernels of a shard, whose costs are known, into kernels of a piece of the tokens each. A smaller kernel is
/// never more efficient.
void divide_kernels(const Job& job, const ShardContext& context, const LayerShard& shard, const LearnedFactor& learned,
                    double pieces, LayerCosts& costs) {
  if (!job.times_whole_layers()) {
    const TokenPiece piece = piece_of(context, shard, pieces);
    LayerCosts of_piece;
    add_kernels(job, context, piece.shard, learned, of_piece);
    for (const LayerTime row :
         {LayerTime::forward, LayerTime::backward, LayerTime::input_gradient, LayerTime::weight_gradient}) {
      const Seconds divided = of_piece[row] * piece.count;
      if (divided <= costs[row]) continue;
      costs[row] = divided;
      costs.slopes[row] = of_piece.slopes[row] * piece.count;
    }
  }
  costs[LayerCount::forward_kernels] *= pieces;
  costs[LayerCount::backward_kernels] *= pieces;
}

void set_kernels(const KernelCosts& kernels, LayerCosts& costs) {
  costs[LayerTime::forward] = kernels.forward;
  costs[LayerTime::backward] = kernels.backward;
  costs[LayerTime::input_gradient] = kernels.input_gradient;
  costs[LayerTime::weight_gradient] = kernels.weight_gradient;
  costs[LayerCount::forward_kernels] = kernels.forward_kernels;
  costs[LayerCount::backward_kernels] = kernels.backward_kernels;
}

/// Adds the work of a shard in addition to its kernels: conversions of frozen weights, and the update.
void add_conversions_and_update(const Job& job, const ShardContext& context, const LayerShard& shard, LayerCosts& costs) {
  // Frozen weights in a format of their own are read, and written in the precision of the kernels, before each pass.
  if (const double converted = converted_bytes(context, shard); converted > 0) {
    const Seconds time = Bytes(converted) / job.machine.device.memory_bandwidth;
    costs[LayerTime::forward] += time;
    costs[LayerTime::backward] += time;
    costs[LayerTime::input_gradient] += time;
  }
  if (const double share = tile_share(context, shard); share < 1) {
    // Each tile launches all kernels, and reads all weights. Backward of a tile first recomputes it.
    const double item = item_bytes(context.plan.precision);
    const Seconds reads = Bytes(shard.weights * item / share) / job.machine.device.memory_bandwidth;
    costs[LayerTime::forward] = max(costs[LayerTime::forward], reads);
    costs[LayerTime::input_gradient] = max(costs[LayerTime::input_gradient], reads);
    costs[LayerTime::backward] =
        max(costs[LayerTime::backward], costs[LayerTime::input_gradient] + costs[LayerTime::weight_gradient]);
    costs[LayerCount::forward_kernels] /= share;
    costs[LayerCount::backward_kernels] /= share;
    costs[LayerTime::backward] += costs[LayerTime::forward];
    costs[LayerTime::input_gradient] += costs[LayerTime::forward];
    costs[LayerCount::backward_kernels] += costs[LayerCount::forward_kernels];
  }
  MatrixUpdate matrices;
  if (job.times_whole_layers()) {
    const double splits = context.plan.mesh.product(weight_axes);
    costs[LayerTime::update] = job.kernels.serial()[context.index()].update / splits;
  } else {
    costs[LayerTime::update] = job.kernels.update_cost(shard.updated()).time;
    matrices = matrix_update(job, context, shard);
    costs[LayerTime::update] = costs[LayerTime::update] * matrices.factor + matrices.time;
    costs[LayerCount::whole_matrices] = matrices.parameters;
    costs[LayerCount::summed_items] = matrices.summed;
    costs[LayerCount::gathered_items] = matrices.gathered;
  }
  const double replicas = context.plan.mesh.product(shard.replicas);
  costs[LayerTime::sharded_update] = costs[LayerTime::update] / replicas;
  if (matrices.of_batch + matrices.distributed > Seconds{}) {
    const Seconds alike = matrices.of_batch + matrices.distributed / replicas;
    costs[LayerTime::update] += alike;
    costs[LayerTime::sharded_update] += alike / context.plan.shard_copies();
  }
}

/// Adds the problems of a shard as profile lines, with the times of the shard's kernels.
void add_problems(const Job& job, const ShardContext& context, LayerDetail& detail) {
  if (detail.shard.held != 1 || detail.shard.batches != 1) return;  // the rank runs no single kernel of this layer alone
  // A layer may have several casts. Their times are in the order of their problems.
  std::unordered_map<std::string_view, int> seen;
  for (const ShardProblem& each : shard_problems(context, detail.shard)) {
    const std::string_view pass = kernel_name(each);
    int place = seen[pass]++;
    const auto timed = std::find_if(detail.kernels.begin(), detail.kernels.end(),
                                    [&](const TimedKernel& kernel) { return kernel.pass == pass && place-- == 0; });
    const bool any = timed != detail.kernels.end();
    detail.problems.push_back({print_problem(each.problem), phase_of(each), false, any ? timed->time : Seconds{},
                               any ? timed->source : job.kernels.source()});
  }
  if (const auto update = shard_update(context, detail.shard)) {
    const KernelCost kernel_cost = job.kernels.update_cost(detail.shard.updated());
    detail.problems.push_back({print_problem(*update), Phase::backward, true, kernel_cost.time, kernel_cost.source});
  }
}

void add_memory(const ShardContext& context, const LayerMemory& memory, LayerCosts& costs) {
  const bool of_sample = context.facts.of_sample[context.index()];
  if (!of_sample) costs[LayerBytes::input] = memory.inputs.front();
  costs[LayerBytes::output] = memory.output;
  if (context.facts.keeps_output(context.index(), kept_rules(context.plan, context.assumptions)))
    costs[LayerBytes::kept] += costs[LayerBytes::output];
  costs[LayerBytes::kept] += memory.all_kept();
  if (holds_routed_tokens(context.facts, context.layer)) costs[LayerBytes::kept_of_experts] = costs[LayerBytes::kept];
  costs[LayerCount::workspaces_estimated] = memory.workspace.estimated;
  costs[LayerCount::workspaces_unknown] = memory.workspace.unknown;
  // The batch stays in memory as long as its first reader's backward may need it.
  if (context.layer == context.facts.batch_keeper) costs[LayerBytes::kept] += costs[LayerBytes::input];
}

/// Returns whether selective recomputation may treat the layer differently than a layer of the same shape and modules.
bool is_recomputed_apart(const ModelFacts& facts, SelectiveRecompute selective, std::size_t layer) {
  if (selective == SelectiveRecompute::products) return facts.again_with_products[layer];
  return facts.spared[layer] && !facts.modules[layer].is_empty();
}

/// The properties in which two layers of the same shape class may differ, and which change the layers' costs under a split.
struct Variant {
  bool spatial, boundary, pooled, reads_pooled, auxiliary, reads_auxiliary, input_gradient, sends_gradient, first,
      keeps_batch, ends_tables, last, output_kept, output_kept_cast, output_kept_narrow, output_kept_compiled,
      output_kept_fused, output_kept_stored, only_weighed, copies_narrow, is_gated, is_wide, after_head, recomputed_apart;
  bool token_split;
  std::vector<bool> reads_token_splits;  ///< whether each input is sharded by tokens
  std::vector<bool> reads_wide;          ///< by input
  std::vector<bool> reads_replicated;    ///< for each input, whether it is after replicated layers
  std::vector<bool> takes_tile;          ///< by input
  RecomputeModules modules;
  TensorSplitRole role;
  std::int64_t units;
  double live_items;                  ///< elements that are live after the layer
  Seconds forward, backward, update;  ///< times of the unsplit layer; measured times of equal shapes may differ
  friend bool operator==(const Variant&, const Variant&) = default;
};

}  // namespace

bool is_selected(const ModelFacts& facts, const Assumptions& assumptions, const Plan& plan, int layer) {
  const auto index = static_cast<std::size_t>(layer);
  if (assumptions.selective == SelectiveRecompute::products) return facts.again_with_products[index];
  if (assumptions.recompute_stops_early && facts.spared[index]) return false;
  return !facts.modules[index].in_common(plan.recompute_modules).is_empty();
}

void LayerCosts::add(const LayerCosts& other, double repeats) {
  const auto add_rows = [repeats](auto& rows, const auto& others) {
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] += others[i] * repeats;
  };
  add_rows(times, other.times);
  add_rows(slopes, other.slopes);
  add_rows(counts, other.counts);
  add_rows(bytes, other.bytes);
  add_rows(gradient_parameters, other.gradient_parameters);
  add_rows(frozen_parameters, other.frozen_parameters);
}

// Two runs are of the same class if corresponding layers are of the same kinds, and if equally many elements cross the
// beginnings of both runs.
void find_block_runs(const ModelFacts& facts, LayerKinds& kinds) {
  const auto& layers = facts.model->layers;
  const auto count = static_cast<int>(layers.size());
  using Ends = std::pair<double, bool>;
  std::map<std::pair<std::vector<int>, Ends>, std::size_t> classes;
  for (int first = 0; first < count;) {
    int last = first + 1;
    const int block = layers[static_cast<std::size_t>(first)].block;
    while (last < count && layers[static_cast<std::size_t>(last)].block == block) ++last;
    const Ends ends{facts.live_items[static_cast<std::size_t>(first)], kinds.replicated.has_tiles_before(last)};
    std::vector<int> own(kinds.kind.begin() + first, kinds.kind.begin() + last);
    own.push_back(block >= 0 ? 1 : 0);
    kinds.block_runs.push_back(first);
    if (block < 0) kinds.outside.push_back({first, last});
    kinds.block_run_class.push_back(classes.try_emplace({std::move(own), ends}, classes.size()).first->second);
    first = last;
  }
  kinds.block_runs.push_back(count);
}

LayerKinds layer_kinds(const ModelFacts& facts, const std::vector<LayerTimes>& serial, const ReplicatedLayers& replicated,
                       SelectiveRecompute selective) {
  const auto& layers = facts.model->layers;
  LayerKinds kinds;
  kinds.replicated = replicated;
  std::vector<Variant> variants;
  std::vector<std::vector<int>> by_class(static_cast<std::size_t>(facts.model->shape_classes));
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Layer& layer = layers[i];
    const int producer = layer.inputs.empty() ? -1 : layer.inputs.front();
    const auto index = static_cast<int>(i);
    const auto is_pooled = [&facts](int input) {
      return input >= 0 && facts.pooled_branch[static_cast<std::size_t>(input)];
    };
    std::vector<bool> reads_wide, reads_token_splits, reads_replicated, takes_tile;
    for (const int input : layer.inputs) {
      reads_token_splits.push_back(input >= 0 && facts.token_split[static_cast<std::size_t>(input)]);
      reads_replicated.push_back(!replicated.contains(index) && replicated.contains(input));
      takes_tile.push_back(takes_tile_of(facts, replicated, index, input));
      reads_wide.push_back(input >= 0 && facts.autocast.is_wide[static_cast<std::size_t>(input)]);
    }
    const Variant variant{!replicated.contains(index),
                          index == replicated.first,
                          facts.pooled_branch[i],
                          std::any_of(layer.inputs.begin(), layer.inputs.end(), is_pooled),
                          layer.auxiliary,
                          producer >= 0 && layers[static_cast<std::size_t>(producer)].auxiliary,
                          facts.needs_input_gradient[i],
                          facts.sends_input_gradient[i],
                          producer < 0,
                          index == facts.batch_keeper,
                          facts.ends_tables(index),
                          index == facts.last_matrix,
                          facts.output_kept[i],
                          facts.output_kept_cast[i],
                          facts.output_kept_narrow[i],
                          facts.output_kept_compiled[i],
                          facts.output_kept_fused[i],
                          facts.output_kept_stored[i],
                          facts.only_weighed[i],
                          facts.narrow_copies[i],
                          facts.is_gated[i],
                          facts.autocast.is_wide[i],
                          producer >= 0 && facts.tensor_role[static_cast<std::size_t>(producer)] == TensorSplitRole::head,
                          is_recomputed_apart(facts, selective, i),
                          facts.token_split[i],
                          reads_token_splits,
                          reads_wide,
                          reads_replicated,
                          takes_tile,
                          facts.modules[i],
                          facts.tensor_role[i],
                          facts.tensor_units[i],
                          facts.live_items[i + 1],
                          serial[i].forward,
                          serial[i].backward,
                          serial[i].update};
    std::vector<int>& known = by_class[static_cast<std::size_t>(layer.shape_class)];
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](int kind) { return variants[static_cast<std::size_t>(kind)] == variant; });
    if (found != known.end()) {
      kinds.kind.push_back(*found);
      kinds.count[static_cast<std::size_t>(*found)] += 1;
      continue;
    }
    const auto kind = static_cast<int>(variants.size());
    variants.push_back(variant);
    known.push_back(kind);
    kinds.kind.push_back(kind);
    kinds.representative.push_back(index);
    kinds.count.push_back(1);
  }
  kinds.runs = LayerRuns(kinds.kind);
  find_block_runs(facts, kinds);
  return kinds;
}

std::vector<KernelCosts> kernel_costs(const Job& job, const Plan& plan, const LayerKinds& kinds) {
  std::vector<KernelCosts> all;
  ShardContext context{job.facts, plan, job.assumptions, 0, kinds.replicated};
  LayerShard shard;
  for (const int layer : kinds.representative) {
    context.layer = layer;
    shard_layer(context, shard);
    LayerCosts costs;
    add_kernels(job, context, shard, learned_factor(job, context, shard, {}, false), costs);
    all.push_back({costs[LayerTime::forward], costs[LayerTime::backward], costs[LayerTime::input_gradient],
                   costs[LayerTime::weight_gradient], costs[LayerCount::forward_kernels],
                   costs[LayerCount::backward_kernels]});
  }
  return all;
}

LayerCostTable::LayerCostTable(const Job& job, const Plan& plan, const LayerKinds& kinds, bool with_slopes,
                               const std::vector<KernelCosts>* kernels, KnownTimes* known)
    : job_(job),
      plan_(plan),
      kinds_(kinds),
      with_slopes_(with_slopes),
      pieces_(token_pieces(job.facts, plan, job.assumptions)) {
  if (kinds.layouts.empty()) layouts_.push_back(std::make_unique<Layout>(job, plan, known));
  for (const LayoutOfMesh& layout : kinds.layouts)
    layouts_.push_back(std::make_unique<Layout>(job, on_mesh(plan, layout.mesh), known));
  const ModelFacts& facts = job.facts;
  const double item = item_bytes(plan_.precision);
  LayerShard shard;
  costs_.resize(kinds.count.size());
  for (std::size_t kind = 0; kind < costs_.size(); ++kind) {
    const ShardContext context = context_of(kinds.representative[kind]);
    const std::size_t layout = kinds.layout_of(kind);
    LayerCosts& costs = costs_[kind];
    shard_layer(context, shard);
    if (kernels != nullptr) {
      set_kernels((*kernels)[kind], costs);
    } else {
      add_kernels(job, context, shard, learned_factor(job, context, shard, layouts_[layout]->learned, with_slopes), costs);
    }
    if (pieces_of(kind) > 1) {
      const Learned fitted = kernels != nullptr ? Learned{} : layouts_[layout]->learned;
      divide_kernels(job, context, shard, learned_factor(job, context, shard, fitted, with_slopes), pieces_, costs);
    }
    add_conversions_and_update(job, context, shard, costs);
    if (is_selected(facts, job.assumptions, plan_, context.layer)) {
      costs[LayerTime::selected_forward] = costs[LayerTime::forward];
      costs[LayerCount::selected_kernels] = costs[LayerCount::forward_kernels];
      costs.slopes[LayerTime::selected_forward] = costs.slopes[LayerTime::forward];
    }
    add_memory(context, memory_.emplace_back(layer_memory(job, context, shard)), costs);
    costs[LayerCount::parameters] = shard.parameters();
    costs[LayerCount::trained] = shard.trained();
    costs[LayerCount::untouched] = shard.trained() - shard.updated();
    const Layer& layer = context.at();
    const bool matrix = facts.divisible[context.index()].matrix;
    costs[LayerCount::gradient_messages] = matrix ? 1 : 0;
    if (matrix && layer.output_shape.rank == 0)
      costs[LayerCount::whole_parameters] = static_cast<double>(layer.parameters());
    for (const Exchange& exchange : shard.exchanges) {
      if (exchange.purpose == Purpose::pipeline) continue;  // only used at cuts
      if (exchange.phase == Phase::gradient) {
        add_gradients(context, layout, exchange, costs);
        continue;
      }
      pending_.push_back({kind, exchange, Bytes(exchange.items * shard.samples * item)});
    }
  }
  place(plan.placement);
}

ShardContext LayerCostTable::context_of(int layer) const {
  const auto own = static_cast<std::size_t>(kind(layer));
  const Plan& plan = layout_of(own).plan;
  if (kinds_.layouts.empty()) return {job_.facts, plan, job_.assumptions, layer, kinds_.replicated};
  const Borders& borders = kinds_.borders[own];
  return {job_.facts,
          plan,
          job_.assumptions,
          layer,
          kinds_.layouts[kinds_.layout_of(own)].replicated,
          borders.is_empty() ? nullptr : &borders};
}

void LayerCostTable::add_gradients(const ShardContext& context, std::size_t layout, const Exchange& exchange,
                                   LayerCosts& costs) {
  const std::pair axes(layout, exchange.axes);
  const auto known = std::find(gradient_axes_.begin(), gradient_axes_.end(), axes);
  const auto group = static_cast<std::size_t>(known - gradient_axes_.begin());
  if (known == gradient_axes_.end()) {
    if (group == most_gradient_groups) throw Error("gradients are summed along too many sets of axes");
    gradient_axes_.push_back(axes);
  }
  // Some software sums the gradients of the whole layer, although each rank has computed only a part of the gradients.
  const Mesh& mesh = context.plan.mesh;
  const bool whole = job_.coefficients.software.whole_gradients_in_hybrids && job_.assumptions.host_staging &&
                     mesh[Axis::data] > 1 && (mesh[Axis::filter] > 1 || mesh[Axis::channel] > 1);
  costs.gradient_parameters[group] += whole ? static_cast<double>(context.at().trained()) : exchange.items;
  costs.frozen_parameters[group] += exchange.frozen;
}

std::vector<GradientGroup> LayerCostTable::gradients(const Plan& plan, const LayerCosts& costs, double blocks) const {
  std::vector<GradientGroup> groups;
  for (std::size_t i = 0; i < gradient_axes_.size(); ++i) {
    const auto& [layout, axes] = gradient_axes_[i];
    const bool layered = layers_gradients(job_.coefficients.software, job_.assumptions, layouts_[layout]->plan);
    const double messages = layered ? std::max(1.0, costs[LayerCount::gradient_messages]) : 1.0;
    groups.push_back(
        {axes, std::max(0.0, costs.gradient_parameters[i]), messages, std::max(0.0, costs.frozen_parameters[i])});
    groups.back().layout = layout;
    if (layered) continue;
    if (kinds_.layouts.empty()) {
      divide_into_messages(job_.coefficients.software, job_.assumptions, plan, blocks, groups.back());
    } else {
      divide_into_messages(job_.coefficients.software, job_.assumptions, on_mesh(plan, mesh(layout)), blocks, groups.back());
    }
  }
  return groups;
}

double LayerCostTable::pieces_of(std::size_t kind) const {
  return pieces_ > 1 && runs_in_pieces(job_.facts, kinds_.representative[kind]) ? pieces_ : 1;
}

Seconds LayerCostTable::whole_time_of(const PendingExchange& pending) const {
  const double pieces = pieces_of(pending.kind);
  return exchange_time(job_, layout_of(pending.kind).exchanges, pending.exchange, pending.message / pieces) * pieces;
}

Seconds LayerCostTable::time_of(const PendingExchange& pending) const {
  const Exchange& exchange = pending.exchange;
  const ExchangeTimes& exchanges = layout_of(pending.kind).exchanges;
  const Seconds time = whole_time_of(pending);
  const LayerCosts& costs = costs_[pending.kind];
  const bool of_input = exchange.operation == Collective::reduce_scatter && exchange.phase == Phase::backward;
  // The gradient of the input is summed across ranks while the gradient of the weights is computed.
  const Seconds meanwhile = exchange.phase == Phase::forward ? costs[LayerTime::forward]
                            : of_input                       ? costs[LayerTime::backward] - costs[LayerTime::input_gradient]
                                                             : costs[LayerTime::input_gradient];
  if (is_of_tables(pending)) return time * (1 - hidden_of_tables_[exchange.phase == Phase::forward ? 0 : 1]);
  const double share = exposed_share(job_, exchange, exchanges.group(exchange.axes));
  if (share == 1) return time;
  const Seconds exposed = time * share;
  return exposed + max(Seconds{}, time - exposed - meanwhile);
}

Seconds LayerCostTable::exchange_time_with(int layer, const Borders* borders) const {
  ShardContext context = context_of(layer);
  context.borders = borders;
  LayerShard shard;
  shard_layer(context, shard);
  const ExchangeTimes& exchanges = layout_of(static_cast<std::size_t>(kind(layer))).exchanges;
  Seconds sum{};
  for (const Exchange& exchange : shard.exchanges) {
    if (exchange.phase == Phase::gradient || exchange.purpose == Purpose::pipeline) continue;
    sum += exchange_time(job_, exchanges, exchange, Bytes(exchange.items * shard.samples * item_bytes(plan_.precision)));
  }
  return sum;
}

LayerDetail LayerCostTable::detail(int layer, bool with_problems) const {
  LayerDetail detail;
  const ShardContext context = context_of(layer);
  const auto own = static_cast<std::size_t>(kind(layer));
  const ExchangeTimes& exchanges = layout_of(own).exchanges;
  shard_layer(context, detail.shard);
  const LearnedFactor learned = learned_factor(job_, context, detail.shard, layout_of(own).learned, false);
  each_kernel(job_, context, detail.shard, learned, [&](const TimedKernel& kernel) { detail.kernels.push_back(kernel); });
  detail.update_source =
      job_.times_whole_layers() ? job_.kernels.source() : job_.kernels.update_cost(detail.shard.updated()).source;
  if (with_problems && !job_.times_whole_layers()) add_problems(job_, context, detail);
  for (const PendingExchange& pending : pending_) {
    if (pending.kind != own) continue;
    const Exchange& exchange = pending.exchange;
    const Bytes sent = sent_bytes(job_, exchanges, exchange, pending.message);
    const auto way = exchanges.fastest(exchange.operation, sent, exchange.axes, exchange.purpose);
    const Seconds exposed = time_of(pending);
    const Seconds hidden = max(Seconds{}, whole_time_of(pending) - exposed);
    detail.exchanges.push_back({exchange, sent, exchanges.group(exchange.axes).ranks,
                                exchanges.route(exchange.operation, exchange.axes, exchange.purpose), way.algorithm, exposed,
                                way.bottleneck, hidden});
  }
  return detail;
}

bool LayerCostTable::is_of_tables(const PendingExchange& pending) const {
  return job_.facts.ends_tables(kinds_.representative[pending.kind]) && pending.exchange.purpose == Purpose::layer &&
         pending.exchange.axes == family_bit(Axis::data);
}

void LayerCostTable::hide_table_exchanges() {
  hidden_of_tables_ = {};
  if (!job_.assumptions.overlaps_table_exchanges || !job_.assumptions.overlap || job_.facts.tables.empty()) return;
  std::array<Seconds, 2> kernels{}, exchanged{};
  for (int layer = 0; layer < job_.facts.tables.back().last; ++layer) {
    if (job_.facts.is_of_table(static_cast<std::size_t>(layer))) continue;
    kernels[0] += at(layer)[LayerTime::forward];
    kernels[1] += at(layer)[LayerTime::backward];
  }
  for (const PendingExchange& pending : pending_) {
    if (!is_of_tables(pending)) continue;
    exchanged[pending.exchange.phase == Phase::forward ? 0 : 1] +=
        exchange_time(job_, layout_of(pending.kind).exchanges, pending.exchange, pending.message);
  }
  for (std::size_t pass = 0; pass < exchanged.size(); ++pass)
    hidden_of_tables_[pass] = hidden_share(job_.coefficients.overlap, kernels[pass], exchanged[pass]);
}

void LayerCostTable::place(const Placement& placement) {
  plan_.placement = placement;
  for (const auto& layout : layouts_) {
    layout->plan.placement = placement;
    layout->exchanges.forget_groups();
  }
  for (LayerCosts& costs : costs_) {
    for (const LayerTime row : {LayerTime::exchange_forward, LayerTime::exchange_backward, LayerTime::halo_forward,
                                LayerTime::halo_backward, LayerTime::experts_forward, LayerTime::experts_backward}) {
      costs.times[row] = costs.slopes[row] = Seconds{};
    }
    costs[LayerCount::forward_exchanges] = costs[LayerCount::backward_exchanges] = 0;
  }
  hide_table_exchanges();
  for (const PendingExchange& pending : pending_) {
    const Exchange& exchange = pending.exchange;
    const ExchangeTimes& exchanges = layout_of(pending.kind).exchanges;
    LayerCosts& costs = costs_[pending.kind];
    const Seconds time = time_of(pending);
    const double pieces = pieces_of(pending.kind);
    const bool halo = exchange.purpose == Purpose::halo, forward = exchange.phase == Phase::forward;
    costs[forward ? LayerCount::forward_exchanges : LayerCount::backward_exchanges] +=
        time > Seconds{} ? static_cast<double>(exchange.messages + exchange.kernels) * pieces : 0.0;
    const LayerTime row = forward ? (halo ? LayerTime::halo_forward : LayerTime::exchange_forward)
                                  : (halo ? LayerTime::halo_backward : LayerTime::exchange_backward);
    const LayerTime row_of_experts = forward ? LayerTime::experts_forward : LayerTime::experts_backward;
    costs[row] += time;
    if (is_of_experts(exchange)) costs[row_of_experts] += time;
    if (!with_slopes_ || time == Seconds{}) continue;
    const Bytes sent = sent_bytes(job_, exchanges, exchange, pending.message / pieces);
    const Seconds startups = exchanges.startup(exchange.operation, sent, exchange.axes, exchange.purpose) *
                             (static_cast<double>(exchange.messages) * pieces);
    costs.slopes[row] += startups;
    if (is_of_experts(exchange)) costs.slopes[row_of_experts] += startups;
  }
  for (std::size_t kind = 0; kind < costs_.size(); ++kind) {
    // In any case, backward gathers the inputs of matrix products, and the sums of their outputs are kept.
    if (job_.assumptions.selective == SelectiveRecompute::products) break;
    if (!is_selected(job_.facts, job_.assumptions, plan_, kinds_.representative[kind])) continue;
    LayerCosts& costs = costs_[kind];
    costs[LayerTime::selected_exchange] = costs[LayerTime::exchange_forward];
    costs.slopes[LayerTime::selected_exchange] = costs.slopes[LayerTime::exchange_forward];
  }
  total_ = {};
  for (std::size_t kind = 0; kind < costs_.size(); ++kind) total_.add(costs_[kind], kinds_.count[kind]);
  sums_.clear();
  ranges_.clear();
  loads_.clear();
}

StageLoad LayerCostTable::load_of(const LayerCosts& costs) {
  return {costs[LayerTime::forward] + costs[LayerTime::exchange_forward] + costs[LayerTime::halo_forward],
          costs[LayerTime::backward] + costs[LayerTime::exchange_backward] + costs[LayerTime::halo_backward],
          costs[LayerCount::forward_kernels] + costs[LayerCount::forward_exchanges],
          costs[LayerCount::backward_kernels] + costs[LayerCount::backward_exchanges],
          costs[LayerCount::parameters],
          costs[LayerBytes::kept]};
}

StageLoad LayerCostTable::load_before(int layer) const {
  if (loads_.empty()) loads_.assign(kinds_.runs, [this](int each) { return load_of(at(each)); });
  return loads_.before(layer);
}

const LayerCosts& LayerCostTable::at(int layer) const {
  return costs_[static_cast<std::size_t>(kinds_.kind[static_cast<std::size_t>(layer)])];
}

Bytes LayerCostTable::cut_bytes(int layer) const {
  const auto bytes_on = [&](const Plan& plan, const ReplicatedLayers& replicated) {
    const double items = crossing_items(job_.facts, plan, layer, replicated);
    return Bytes(items * item_bytes(plan_.precision) * samples_per_micro_batch(plan));
  };
  if (kinds_.layouts.empty()) return bytes_on(plan_, kinds_.replicated);
  // A rank sends the smaller of the parts that it has and that the next stage needs. Ranks of the stage that reads the
  // tensor reshard it.
  const auto bytes_at = [&](int at) {
    const auto own = static_cast<std::size_t>(kind(at));
    return bytes_on(layout_of(own).plan, kinds_.layouts[kinds_.layout_of(own)].replicated);
  };
  return min(bytes_at(std::max(0, layer - 1)), bytes_at(layer));
}

const LayerCosts& LayerCostTable::between(int first, int last) const {
  if (first == 0 && last == static_cast<int>(kinds_.kind.size())) return total_;
  const std::uint64_t key = (static_cast<std::uint64_t>(first) << 32U) + static_cast<std::uint64_t>(last);
  const auto [known, is_new] = ranges_.try_emplace(key);
  if (!is_new) return known->second;
  if (sums_.empty()) sums_.assign(kinds_.runs, [this](int layer) -> const LayerCosts& { return at(layer); });
  LayerCosts& costs = known->second;
  costs = sums_.before(last);
  costs.add(sums_.before(first), -1.0);
  return costs;
}

double LayerCostTable::largest(int first, int last, LayerCount count) const {
  double largest = 0;
  kinds_.runs.each(first, last, [&](int from, int period, int) {
    for (int layer = from; layer < from + period; ++layer) largest = std::max(largest, at(layer)[count]);
  });
  return largest;
}

}  // namespace ddl
