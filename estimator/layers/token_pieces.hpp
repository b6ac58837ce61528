#pragma once

#include <vector>

#include "estimator/facts/model_facts.hpp"
#include "estimator/inputs/assumptions.hpp"
#include "estimator/plan/plan.hpp"
#include "estimator/strategies/strategy.hpp"

namespace ddl {

// Stages that pass a sample on in pieces of its tokens, as soon as they have computed a piece: the wavefront of recurrent
// layers over time steps and devices [Wu et al., "Google's neural machine translation system", arXiv 1609.08144, section
// 3.3], and token-level pipelines of causal attention [Li et al., "TeraPipe", ICML 2021].

/// Returns the number of pieces in which the stages of a plan pass on the tokens of a sample; 1: the whole sample at once. A
/// piece has at least one token of each sequence.
[[nodiscard]] double token_pieces(const ModelFacts& facts, const Plan& plan, const Assumptions& assumptions);

/// Returns whether the kernels of a layer run once for each piece. Layers that read only the sample run once, because all
/// tokens of a sample are known.
[[nodiscard]] bool runs_in_pieces(const ModelFacts& facts, int layer);

/// One piece of the tokens of a shard, and the number of such pieces that have all tokens.
struct TokenPiece {
  LayerShard shard;
  double count = 1;
};
/// Returns a piece of a shard with as many tokens as one of `pieces` has, rounded up. Attention has pieces of its queries,
/// which are not equal: its shard is a whole one, with a count of 1.
[[nodiscard]] TokenPiece piece_of(const ShardContext& context, const LayerShard& shard, double pieces);

/// A part of a stage: its layers [first, last) of one wave (waves_of).
struct StagePart {
  int first = 0, last = 0;
  int wave = 0;
};
/// Divides the layers [first, last) of a stage into the parts of the waves. One part of wave 0 if `waves` is empty.
[[nodiscard]] std::vector<StagePart> parts_of_stage(const std::vector<int>& waves, int first, int last);

}  // namespace ddl
