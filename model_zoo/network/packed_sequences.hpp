#pragma once

#include <cstdint>

#include "model_zoo/network/model.hpp"

namespace ddl {

/// Packs each sequence of a model with documents of so many tokens, whose attention does not cross documents. All documents
/// are alike; for others, the tokens are those of the document that a token is in on average: of lengths l, Σl²/Σl. An Error
/// where the model has no attention between the tokens of a sequence, is packed already, or where documents are longer than
/// its sequences. The model's name then says it, as it does for load_model: `gpt2@packed=512`.
void pack_sequences(Model& model, std::int64_t tokens);
[[nodiscard]] bool is_packed(const Model& model);

}  // namespace ddl
