#pragma once

#include "estimator/strategies/strategy.hpp"

namespace ddl {

extern const Strategy pipeline_strategy;

/// Returns whether each stage of the plan can have so many stretches of layers, under its schedule and with its
/// micro-batches. Stretches are equal: the like blocks of the model divide into them, or do with what is before and behind
/// them as a block each. Stages take as many micro-batches in turn as there are stages [Nar21, section 2.2].
[[nodiscard]] bool may_interleave(const ModelFacts& facts, const Plan& plan, int virtual_stages);
/// Returns the items per sample of one rank that cross a cut before `layer`.
[[nodiscard]] double crossing_items(const ModelFacts& facts, const Plan& plan, int layer, int spatial_end);

}  // namespace ddl
