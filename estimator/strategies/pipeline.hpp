#pragma once

#include "estimator/strategies/strategy.hpp"

namespace ddl {

extern const Strategy pipeline_strategy;

/// Returns whether each stage of the plan can have so many stretches of layers, under its schedule and with its
/// micro-batches. Stretches are equal: the like blocks of the model divide into them, or do with what is before and behind
/// them as a block each. Stages take as many micro-batches in turn as there are stages [Nar21, section 2.2].
[[nodiscard]] bool may_interleave(const ModelFacts& facts, const Plan& plan, int virtual_stages);
/// Returns whether the stages of the plan can take its micro-batches by this schedule. By ZB-V and DualPipe, stages are
/// equal parts of like blocks.
[[nodiscard]] bool may_schedule(const ModelFacts& facts, const Plan& plan, Schedule schedule);
/// Returns the items per sample of one rank that cross a cut before `layer`.
[[nodiscard]] double crossing_items(const ModelFacts& facts, const Plan& plan, int layer,
                                    const ReplicatedLayers& replicated);

}  // namespace ddl
