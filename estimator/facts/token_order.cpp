#include "estimator/facts/token_order.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ddl {
namespace {

/// Operations whose state passes from a token to the next one.
constexpr std::array<std::string_view, 6> recurrences{"lstm", "mamba1", "mamba2", "gated_delta", "rwkv7", "token_shift"};

bool is_recurrence(const Operation& operation) {
  return std::find(recurrences.begin(), recurrences.end(), operation.type()) != recurrences.end();
}

}  // namespace

TokenOrder token_order(const ModelFacts& facts, int layer) {
  const auto index = static_cast<std::size_t>(layer);
  const Layer& at = facts.model->layers[index];
  const Operation& operation = *at.operation;
  const bool is_loss = operation.type() == "loss";
  const auto has_tokens = [](const TensorShape& shape) { return shape.sequence; };
  if (!has_tokens(is_loss && !at.input_shapes.empty() ? at.input_shapes.front() : at.output_shape))
    return TokenOrder::at_once;
  if (is_recurrence(operation))
    return operation.attribute_values().flag("bidirectional", false) ? TokenOrder::at_once : TokenOrder::in_turn;
  if (operation.is_attention() || operation.in_contexts(2) != nullptr)
    return operation.attribute_values().flag("causal", false) ? TokenOrder::in_turn : TokenOrder::after_all;
  // A token of a sample is read, and not computed.
  if (is_loss || facts.of_sample[index]) return TokenOrder::in_turn;
  const Divisible& divisible = facts.divisible[index];
  const bool is_alone = divisible.tokens || (divisible.matrix && facts.window[index].size[0] == 1);
  const bool keeps_tokens = std::all_of(at.input_shapes.begin(), at.input_shapes.end(), [&](const TensorShape& input) {
    return input.sequence && input.extent[0] == at.output_shape.extent[0];
  });
  return is_alone && keeps_tokens ? TokenOrder::in_turn : TokenOrder::at_once;
}

std::vector<int> waves_of(const ModelFacts& facts) {
  std::vector<int> waves;
  int wave = 0;
  TokenOrder before = TokenOrder::in_turn;
  for (int layer = 0; layer < static_cast<int>(facts.model->layers.size()); ++layer) {
    const TokenOrder order = token_order(facts, layer);
    if (layer > 0 && (order != TokenOrder::in_turn || before == TokenOrder::at_once)) ++wave;
    waves.push_back(wave);
    before = order;
  }
  return waves;
}

double shortest_sequence(const ModelFacts& facts) {
  std::int64_t shortest = 0;
  for (const Layer& layer : facts.model->layers) {
    const TensorShape& output = layer.output_shape;
    if (output.sequence) shortest = shortest == 0 ? output.extent[0] : std::min(shortest, output.extent[0]);
  }
  return static_cast<double>(shortest);
}

}  // namespace ddl
