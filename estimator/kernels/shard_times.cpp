#include "estimator/kernels/shard_times.hpp"

#include <array>
#include <cmath>

#include "estimator/kernels/fresh_memory.hpp"
#include "estimator/kernels/shard_problems.hpp"

namespace ddl {
namespace {

void add_workspace(ShardWorkspace& workspace, const ShardProblem& problem, const KernelWorkspace& own) {
  ++workspace.kernels;
  workspace.estimated += own.source == Provenance::interpolated ? 1 : 0;
  workspace.unknown += own.source == Provenance::roofline ? 1 : 0;
  const Pass pass = problem.problem.pass;
  // In backward, kernels that sum gradients run first.
  ShardWorkspace::Range& at = problem.adds_gradients          ? workspace.backward_data
                              : pass == Pass::forward         ? workspace.forward
                              : pass == Pass::backward_weight ? workspace.backward_weight
                                                              : workspace.backward_data;
  at.expected = max(at.expected, own.expected);
  at.most = max(at.most, own.most);
}

}  // namespace

std::size_t ShardTimes::Hash::operator()(const Key& key) const {
  // Computes an FNV-1a hash [Fowler, Noll and Vo], one number at a time. The hash's upper half is folded in at the end.
  std::uint64_t hash = 14695981039346656037ULL;
  for (const std::int64_t number : key) hash = (hash ^ static_cast<std::uint64_t>(number)) * 1099511628211ULL;
  return static_cast<std::size_t>(hash ^ (hash >> 32U));
}

ShardTimes::ShardTimes(const MeasuredKernels& measured, const Roofline& roofline, Precision precision,
                       const std::optional<Roofline>& wide, const KernelModel& model)
    : name_(measured.name),
      layout_(measured.layout),
      steps_(measured.steps),
      precision_(precision),
      times_(measured, roofline, precision),
      forward_(measured.forward),
      backward_(measured.backward),
      update_(measured.update),
      fresh_memory_(measured.fresh_memory),
      overhead_source_(measured.same_model ? Provenance::measured : Provenance::curve) {
  if (wide) wide_.emplace(measured, *wide, Precision::fp32);
  for (const KernelKind kind : enum_values<KernelKind>) under_limit_[kind] = model.under_limit(kind, Pass::forward);
}

const ShardTimes::Kernels& ShardTimes::kernels_of(const ShardContext& context, const LayerShard& shard) const {
  const auto add_shape = [&](const TensorShape& shape) {
    key_.push_back(shape.channels);
    for (int d = 0; d < shape.rank; ++d) key_.push_back(shape.extent[static_cast<std::size_t>(d)]);
  };
  const std::size_t index = context.index();
  const int additions = context.facts.gradient_additions[index];
  const TableRows rows = table_rows(context);
  key_.clear();
  key_.push_back(context.at().shape_class);
  key_.push_back(context.facts.needs_input_gradient[index] ? 1 : 0);
  key_.push_back(additions);
  key_.push_back(rows.is_cut() ? rows.own : 0);
  key_.push_back(std::llround(shard.samples));
  // Shards of the same shape have different work if they have different numbers of experts, or
  // different numbers of keys and values from other ranks.
  const Operation& operation = *context.operation(shard);
  key_.push_back(operation.experts());
  key_.push_back(operation.contexts());
  if (wide_) {
    // Layers of the same shape compute in different formats if their inputs have different formats.
    const AutocastTypes& types = context.facts.autocast;
    key_.push_back(types.is_wide[index] ? 1 : 0);
    for (const int input : context.at().inputs) {
      key_.push_back(input < 0 ? 2 : (types.is_wide[static_cast<std::size_t>(input)] ? 1 : 0));
    }
  }
  for (const TensorShape& input : shard.inputs) add_shape(input);
  add_shape(shard.output);
  if (additions > 0) add_shape(shard.kept_output);
  const auto known = known_.find(key_);
  if (known != known_.end()) return known->second;
  return known_.emplace(key_, predict(context, shard)).first->second;
}

ShardTimes::Kernels ShardTimes::predict(const ShardContext& context, const LayerShard& shard) const {
  Kernels result;
  std::vector<TimedKernel>& kernels = result.kernels;
  struct Sum {
    Seconds time{};
    double count = 0;
    Bytes fresh{};
  };
  std::array<Sum, 2> sums;
  for (const ShardProblem& each : shard_problems(context, shard)) {
    const Problem& problem = each.problem;
    const KernelCost own = cost(problem);
    const Phase phase = phase_of(each);
    const Work work = work_of(each, static_cast<double>(std::llround(shard.samples)));
    const Seconds time = own.time * static_cast<double>(each.times) * under_limit_[work.kernel_kind()];
    kernels.push_back({kernel_name(each), phase, work, time, own.source, problem.precision});
    Sum& sum = sums[phase == Phase::forward ? 0 : 1];
    sum.time += time;
    if (time.value() > 0) sum.count += each.times;
    sum.fresh += fresh_bytes(problem) * static_cast<double>(each.times);
    add_workspace(result.workspace, each, own.workspace);
  }
  for (const Phase phase : {Phase::forward, Phase::backward}) {
    const Sum& sum = sums[phase == Phase::forward ? 0 : 1];
    const Seconds more = sum.time * (overhead(phase).factor - 1.0) + overhead(phase).per_kernel * sum.count;
    if (more.value() != 0) kernels.push_back({overhead_pass, phase, std::nullopt, more, overhead_source_});
    const Seconds touches = sum.fresh * fresh_memory_;
    if (touches.value() > 0) kernels.push_back({fresh_memory_pass, phase, std::nullopt, touches, Provenance::measured});
  }
  return result;
}

KernelCost ShardTimes::cost(const Problem& problem) const {
  if (!wide_ || problem.precision != Precision::fp32) return times_.cost(problem);
  if (!wide_->empty()) return wide_->cost(problem);
  Problem half = problem;
  half.precision = precision_;
  KernelCost cost = times_.cost(half);
  const Seconds roofline = times_.roofline(half);
  if (roofline.value() > 0) cost.time *= wide_->roofline(problem) / roofline;
  cost.source = least_certain(cost.source, Provenance::curve);
  cost.workspace.source = least_certain(cost.workspace.source, Provenance::interpolated);
  return cost;
}

Seconds ShardTimes::least(const Problem& problem) const {
  if (!wide_ || problem.precision != Precision::fp32) return times_.roofline(problem) * times_.least_ratio(problem);
  if (!wide_->empty()) return wide_->roofline(problem) * wide_->least_ratio(problem);
  Problem half = problem;
  half.precision = precision_;
  return wide_->roofline(problem) * times_.least_ratio(half);
}

KernelCost ShardTimes::update(const UpdateProblem& list) const {
  const bool wide = wide_ && list.precision == Precision::fp32 && !wide_->empty();
  KernelCost cost = wide ? wide_->cost(list) : times_.cost(list);
  cost.time *= under_limit_[KernelKind::elementwise];
  return cost;
}

KernelCost ShardTimes::update(double parameters, Optimizer optimizer, Precision precision) const {
  const std::int64_t count = std::llround(parameters);
  if (count < 1) return {Seconds{}, Provenance::measured};
  key_.assign({count, static_cast<std::int64_t>(optimizer)});
  const auto known = known_updates_.find(key_);
  if (known != known_updates_.end()) return known->second;
  KernelCost cost = update(UpdateProblem{optimizer, count, precision});
  cost.time = cost.time * update_.factor + update_.per_kernel;
  return known_updates_.emplace(key_, cost).first->second;
}

Seconds ShardTimes::least(const ShardContext& context, const LayerShard& whole) const {
  Seconds sum{};
  for (const ShardProblem& each : shard_problems(context, whole)) {
    sum += least(each.problem) * (each.times * overhead(phase_of(each)).factor);
  }
  return sum;
}

}  // namespace ddl
