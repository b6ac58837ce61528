#pragma once

#include <cstdint>
#include <vector>

#include "estimator/facts/model_facts.hpp"
#include "estimator/inputs/assumptions.hpp"
#include "estimator/layers/layer_costs.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

/// Returns how many blocks of a stage full recomputation computes again at most, the first ones: so many of each stretch of
/// layers of the stage, which lie one behind the other here.
[[nodiscard]] std::int64_t most_recomputed_blocks(const Plan& plan);

/// Returns the number of blocks of a stage, [first, last), parts of blocks included.
[[nodiscard]] std::int64_t blocks_of(const Model& model, const LayerKinds& kinds, int first, int last);

/// Returns the layers of a stage, [first, last), that full recomputation computes again: those in blocks. What is in no
/// block, such as an embedding, a head and its loss, keeps what backward needs, as in frameworks that wrap blocks [Kort22].
[[nodiscard]] std::vector<LayerRange> recomputed_blocks(const Model& model, const LayerKinds& kinds, const Plan& plan,
                                                        int first, int last);

/// Returns the costs of the layers whose forward backward computes again as whole blocks.
[[nodiscard]] LayerCosts recomputed_costs(const Model& model, const LayerCostTable& costs, const Plan& plan, int first,
                                          int last);

/// Returns the FLOPs of forward of the blocks that are computed again, over those of all blocks; 0 where no block has any.
[[nodiscard]] double recomputed_share(const ModelFacts& facts, const LayerKinds& kinds, const Plan& plan,
                                      const std::vector<int>& firsts);

/// Returns of each layer whether backward computes its forward again: of those in blocks with full recomputation, of those
/// that are selected with selective. `firsts`: the first layer of each stage, and the layer count.
[[nodiscard]] std::vector<bool> runs_again(const Plan& plan, const ModelFacts& facts, const Assumptions& assumptions,
                                           const LayerKinds& kinds, const std::vector<int>& firsts);

}  // namespace ddl
