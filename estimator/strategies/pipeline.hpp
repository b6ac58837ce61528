#pragma once

#include <vector>

#include "estimator/strategies/strategy.hpp"

namespace ddl {

extern const Strategy pipeline_strategy;

/// Returns whether each stage of the plan can have this many model chunks, with the plan's schedule and micro-batches.
/// Chunks must have equal numbers of the model's equal blocks. The layers before and after the blocks may count as a block
/// each, or as a chunk each. The number of micro-batches must be a multiple of the number of stages [Nar21, section 2.2].
[[nodiscard]] bool may_interleave(const ModelFacts& facts, const Plan& plan, int virtual_stages);
/// Returns the number of blocks of each stage if the plan sets the blocks of the first or last stage. Empty if the other
/// stages cannot have a block each.
[[nodiscard]] std::vector<int> blocks_of_stages(const ModelFacts& facts, const Plan& plan);
/// Returns whether this schedule supports the stages and micro-batches of the plan. With ZB-V and DualPipe, the
/// blocks are distributed as for virtual stages.
[[nodiscard]] bool may_schedule(const ModelFacts& facts, const Plan& plan, Schedule schedule);
/// Returns the elements per sample of one rank that cross a cut before `layer`.
[[nodiscard]] double crossing_items(const ModelFacts& facts, const Plan& plan, int layer,
                                    const ReplicatedLayers& replicated);

}  // namespace ddl
