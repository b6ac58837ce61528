#pragma once

#include <cstdint>

#include "model_zoo/network/model.hpp"

namespace ddl {

/// Packs each sequence of a model with documents of this many tokens; attention does not cross documents. All documents have
/// the same length. For documents of different lengths l, use the mean document length over tokens: Σl²/Σl. Throws Error if
/// the model has no attention between the tokens of a sequence, if it is packed already, or if documents are longer than its
/// sequences. The name of the model then shows the length, in the syntax of load_model: `gpt2@packed=512`.
void pack_sequences(Model& model, std::int64_t tokens);
[[nodiscard]] bool is_packed(const Model& model);

}  // namespace ddl
