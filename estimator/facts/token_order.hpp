#pragma once

#include <vector>

#include "estimator/facts/model_facts.hpp"

namespace ddl {

/// The order in which a layer needs and computes the tokens of a sample.
enum class TokenOrder {
  in_turn,    ///< a token needs no later token: a token-wise layer, causal attention, an LSTM in one direction
  after_all,  ///< the first token of the output needs all tokens of the input: attention over a whole sequence
  at_once,    ///< the output is complete only at the end: an LSTM in both directions, a layer without a sequence
};

/// Returns the order of the tokens in a layer.
[[nodiscard]] TokenOrder token_order(const ModelFacts& facts, int layer);

/// Returns for each layer the number of its wave. Layers of one wave can pass a sample on in pieces of its tokens, from one
/// layer to the next one, in forward and, in reverse order, in backward. A wave waits until the wave before it has computed
/// all tokens.
[[nodiscard]] std::vector<int> waves_of(const ModelFacts& facts);

/// Returns the number of tokens of the shortest sequence of a model; 0 without sequences.
[[nodiscard]] double shortest_sequence(const ModelFacts& facts);

}  // namespace ddl
