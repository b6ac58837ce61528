#pragma once

#include <cstdint>

#include "model_zoo/network/model.hpp"

namespace ddl {

/// Packs each sequence of a model with documents of this many tokens; attention does not cross documents. All documents have
/// the same length; for other distributions, use the mean length of the document of a token: for lengths l, Σl²/Σl. An Error
/// if the model has no attention between the tokens of a sequence, is packed already, or if documents are longer than its
/// sequences. The model's name then shows it in the syntax of load_model: `gpt2@packed=512`.
void pack_sequences(Model& model, std::int64_t tokens);
[[nodiscard]] bool is_packed(const Model& model);

}  // namespace ddl
