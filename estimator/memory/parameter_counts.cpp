#include <algorithm>

#include "estimator/memory/memory.hpp"

// Numbers of parameters of a stage, and of its layers with one ZeRO stage.
namespace ddl {

bool is_copied(const TiedLayer& tied, int first, int last) {
  return tied.reader >= first && tied.reader < last && tied.previous < first;
}

double stage_parameters(const StageOf& stage, bool trained) {
  const LayerCount count = trained ? LayerCount::trained : LayerCount::parameters;
  double parameters = stage.all_costs()[count];
  for (const TiedLayer& tied : stage.job.facts.tied) {
    if (is_copied(tied, stage.first, stage.last)) parameters += stage.costs.at(tied.owner)[count];
  }
  return parameters;
}

ParameterCounts parameter_counts(const StageOf& stage) {
  // Whole blocks, which include the largest layer, are gathered in forward and backward alone (StageRequests::pass).
  const bool by_units = stage.job.assumptions.gathers_units && !streams_weights(stage.plan);
  const bool shards = !by_units && (stage.plan.zero_stage >= 2 || stage.plan.offload == Offload::weights);
  return {.all = stage_parameters(stage) * stage.parts,
          .trained = stage_parameters(stage, true) * stage.parts,
          .largest_layer = shards ? stage.costs.largest_layer(stage.first, stage.last) : 0.0,
          .largest_trained = shards ? stage.costs.largest_trained(stage.first, stage.last) : 0.0,
          .untouched = stage.all_costs()[LayerCount::untouched] * stage.parts};
}

double part_parameters(const StageOf& stage, const ZeroPart& part, bool trained) {
  const LayerCount count = trained ? LayerCount::trained : LayerCount::parameters;
  double parameters = costs_of(stage.costs, part)[count];
  for (const TiedLayer& tied : stage.job.facts.tied) {
    if (is_copied(tied, stage.first, stage.last) && part.contains(tied.reader))
      parameters += stage.costs.at(tied.owner)[count];
  }
  return parameters;
}

namespace {

/// Returns the parameters of the largest layer of a part.
double largest_of(const StageOf& stage, const ZeroPart& part, bool trained) {
  double largest = 0;
  for (const LayerRange& range : part.ranges) {
    const double own =
        trained ? stage.costs.largest_trained(range.first, range.last) : stage.costs.largest_layer(range.first, range.last);
    largest = std::max(largest, own);
  }
  return largest;
}

}  // namespace

ParameterCounts parameter_counts(const StageOf& stage, const ZeroPart& part) {
  ParameterCounts counts{.all = part_parameters(stage, part) * stage.parts,
                         .trained = part_parameters(stage, part, true) * stage.parts,
                         .untouched = costs_of(stage.costs, part)[LayerCount::untouched] * stage.parts};
  if (stage.job.assumptions.gathers_units || part.plan.zero_stage < 2) return counts;
  counts.largest_layer = largest_of(stage, part, false);
  counts.largest_trained = largest_of(stage, part, true);
  // Backward makes one gradient at a time: only the largest one of all parts counts as a whole.
  for (const ZeroPart& other : zero_parts(stage.plan, stage.first, stage.last)) {
    if (other.plan.zero_stage < 2 || other.plan.zero_stage == part.plan.zero_stage) continue;
    const double largest = largest_of(stage, other, true);
    const bool is_first = part.ranges.front().first < other.ranges.front().first;
    if (largest > counts.largest_trained || (largest == counts.largest_trained && !is_first)) counts.largest_trained = 0;
  }
  return counts;
}

}  // namespace ddl
