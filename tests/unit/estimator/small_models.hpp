#pragma once

#include <string>

#include <fmt/format.h>

#include "model_zoo/files/load_model.hpp"

namespace ddl {

/// Returns matrices of 100 × 100 in a row: fc1, fc2 and so on.
inline Model chain_of(int matrices) {
  std::string text = "format: 1\nmodel: chain\ninput: {features: 100}\nlayers:\n";
  for (int i = 0; i < matrices; ++i) text += "  - fully_connected: {features: 100, bias: no}\n";
  return parse_model(text, "chain.yaml");
}

/// Returns a transformer with hidden size 24, 6 heads, 8 tokens, and a vocabulary of 100. There are
/// 24 · 8 = 192 elements between layers.
inline Model small_transformer(int layers = 1) {
  return parse_model(fmt::format("format: 1\nmodel: transformer\nfamily: gpt\n"
                                 "parameters: {{layers: {}, hidden: 24, heads: 6, vocabulary: 100, tokens: 8}}\n",
                                 layers),
                     "transformer.yaml");
}

}  // namespace ddl
