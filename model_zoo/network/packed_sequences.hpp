#pragma once

#include <cstdint>

#include "model_zoo/network/model.hpp"

namespace ddl {

/// Packs each sequence of a model with documents of `tokens` tokens. Attention does not cross documents. All documents have
/// the same length; for documents of different lengths l, use the mean document length over tokens, Σl²/Σl. Afterwards, the
/// name of the model contains the length, in the syntax of load_model: `gpt2@packed=512`.
///
/// Throws Error if the model has no attention between the tokens of a sequence, if it is packed already, or if documents are
/// longer than its sequences.
void pack_sequences(Model& model, std::int64_t tokens);
[[nodiscard]] bool is_packed(const Model& model);

}  // namespace ddl
