#pragma once

#include <cstdint>
#include <vector>

#include "estimator/facts/model_facts.hpp"
#include "estimator/inputs/assumptions.hpp"
#include "estimator/layers/layer_costs.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

/// Returns the maximum number of blocks of a stage that full recomputation recomputes. A plan recomputes the first blocks of
/// each model chunk of the stage. Here, the chunks of a stage are treated as consecutive.
[[nodiscard]] std::int64_t most_recomputed_blocks(const Plan& plan);

/// Returns the number of blocks of a stage with layers [first, last), including parts of blocks.
[[nodiscard]] std::int64_t blocks_of(const Model& model, const LayerKinds& kinds, int first, int last);

/// Returns the layers of a stage, [first, last), that full recomputation recomputes: the layers in blocks. Layers outside of
/// blocks, such as an embedding, a head and its loss, keep what backward needs, as in frameworks that wrap blocks [Kort22].
[[nodiscard]] std::vector<LayerRange> recomputed_blocks(const Model& model, const LayerKinds& kinds, const Plan& plan,
                                                        int first, int last);

/// Returns the costs of the layers that full recomputation recomputes in backward. If recomputation stops early, the layers
/// of ModelFacts::spared are not included.
[[nodiscard]] LayerCosts recomputed_costs(const Job& job, const LayerCostTable& costs, const Plan& plan, int first,
                                          int last);

/// Returns the forward FLOPs of the recomputed layers, divided by the forward FLOPs of all blocks; 0 if no block has FLOPs.
[[nodiscard]] double recomputed_share(const Job& job, const LayerKinds& kinds, const Plan& plan,
                                      const std::vector<int>& firsts);

/// Returns, for each layer, whether backward recomputes its forward. Full recomputation recomputes layers in blocks.
/// Selective recomputation recomputes the selected layers. `firsts`: the first layer of each stage, and the layer count.
[[nodiscard]] std::vector<bool> runs_again(const Plan& plan, const ModelFacts& facts, const Assumptions& assumptions,
                                           const LayerKinds& kinds, const std::vector<int>& firsts);

}  // namespace ddl
