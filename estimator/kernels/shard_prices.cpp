#include "estimator/kernels/shard_prices.hpp"

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
  // Sums of gradients run before the rest of backward.
  ShardWorkspace::Range& at = problem.adds_gradients          ? workspace.backward_data
                              : pass == Pass::forward         ? workspace.forward
                              : pass == Pass::backward_weight ? workspace.backward_weight
                                                              : workspace.backward_data;
  at.expected = max(at.expected, own.expected);
  at.most = max(at.most, own.most);
}

}  // namespace

std::size_t ShardPrices::Hash::operator()(const Key& key) const {
  // FNV-1a [Fowler, Noll and Vo], one number at a time, with its upper half folded in at the end.
  std::uint64_t hash = 14695981039346656037ULL;
  for (const std::int64_t number : key) hash = (hash ^ static_cast<std::uint64_t>(number)) * 1099511628211ULL;
  return static_cast<std::size_t>(hash ^ (hash >> 32U));
}

ShardPrices::ShardPrices(const MeasuredKernels& measured, const Roofline& roofline, Precision precision,
                         const std::optional<Roofline>& wide)
    : name_(measured.name),
      layout_(measured.layout),
      steps_(measured.steps),
      precision_(precision),
      prices_(measured, roofline, precision),
      forward_(measured.forward),
      backward_(measured.backward),
      update_(measured.update),
      fresh_memory_(measured.fresh_memory),
      overhead_source_(measured.same_model ? Provenance::measured : Provenance::curve) {
  if (wide) wide_.emplace(measured, *wide, Precision::fp32);
}

const ShardPrices::Priced& ShardPrices::priced(const ShardContext& context, const LayerShard& shard) const {
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
  // With other experts, or with keys and values of other ranks, parts of one shape have different work.
  const Operation& operation = *context.operation(shard);
  key_.push_back(operation.experts());
  key_.push_back(operation.contexts());
  if (wide_) {
    // Layers of one shape compute in different formats if their inputs have different formats.
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
  return known_.emplace(key_, price(context, shard)).first->second;
}

ShardPrices::Priced ShardPrices::price(const ShardContext& context, const LayerShard& shard) const {
  Priced priced;
  std::vector<PricedKernel>& kernels = priced.kernels;
  struct Sum {
    Seconds time{};
    double count = 0;
    Bytes fresh{};
  };
  std::array<Sum, 2> sums;
  for (const ShardProblem& each : shard_problems(context, shard)) {
    const Problem& problem = each.problem;
    const KernelPrice price = this->price(problem);
    const Phase phase = phase_of(each);
    const Work work = work_of(each, static_cast<double>(std::llround(shard.samples)));
    const Seconds time = price.time * static_cast<double>(each.times);
    kernels.push_back({kernel_name(each), phase, work, time, price.source, problem.precision});
    Sum& sum = sums[phase == Phase::forward ? 0 : 1];
    sum.time += time;
    if (time.value() > 0) sum.count += each.times;
    sum.fresh += fresh_bytes(problem) * static_cast<double>(each.times);
    add_workspace(priced.workspace, each, price.workspace);
  }
  for (const Phase phase : {Phase::forward, Phase::backward}) {
    const Sum& sum = sums[phase == Phase::forward ? 0 : 1];
    const Seconds more = sum.time * (overhead(phase).factor - 1.0) + overhead(phase).per_kernel * sum.count;
    if (more.value() != 0) kernels.push_back({overhead_pass, phase, std::nullopt, more, overhead_source_});
    const Seconds touches = sum.fresh * fresh_memory_;
    if (touches.value() > 0) kernels.push_back({fresh_memory_pass, phase, std::nullopt, touches, Provenance::measured});
  }
  return priced;
}

KernelPrice ShardPrices::price(const Problem& problem) const {
  if (!wide_ || problem.precision != Precision::fp32) return prices_.price(problem);
  if (!wide_->empty()) return wide_->price(problem);
  Problem half = problem;
  half.precision = precision_;
  KernelPrice price = prices_.price(half);
  const Seconds roofline = prices_.roofline(half);
  if (roofline.value() > 0) price.time *= wide_->roofline(problem) / roofline;
  price.source = least_certain(price.source, Provenance::curve);
  price.workspace.source = least_certain(price.workspace.source, Provenance::interpolated);
  return price;
}

Seconds ShardPrices::least(const Problem& problem) const {
  if (!wide_ || problem.precision != Precision::fp32) return prices_.roofline(problem) * prices_.least_ratio(problem);
  if (!wide_->empty()) return wide_->roofline(problem) * wide_->least_ratio(problem);
  Problem half = problem;
  half.precision = precision_;
  return wide_->roofline(problem) * prices_.least_ratio(half);
}

KernelPrice ShardPrices::update(const UpdateProblem& list) const {
  const bool wide = wide_ && list.precision == Precision::fp32 && !wide_->empty();
  return wide ? wide_->price(list) : prices_.price(list);
}

KernelPrice ShardPrices::update(double parameters, Optimizer optimizer, Precision precision) const {
  const std::int64_t count = std::llround(parameters);
  if (count < 1) return {Seconds{}, Provenance::measured};
  key_.assign({count, static_cast<std::int64_t>(optimizer)});
  const auto known = known_updates_.find(key_);
  if (known != known_updates_.end()) return known->second;
  KernelPrice price = update(UpdateProblem{optimizer, count, precision});
  price.time = price.time * update_.factor + update_.per_kernel;
  return known_updates_.emplace(key_, price).first->second;
}

Seconds ShardPrices::least(const ShardContext& context, const LayerShard& whole) const {
  Seconds sum{};
  for (const ShardProblem& each : shard_problems(context, whole)) {
    sum += least(each.problem) * (each.times * overhead(phase_of(each)).factor);
  }
  return sum;
}

}  // namespace ddl
