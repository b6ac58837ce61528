#include "model_zoo/network/packed_sequences.hpp"

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/error.hpp"

namespace ddl {

namespace {
constexpr std::string_view packed_mark = "@packed=";
}

bool is_packed(const Model& model) { return model.name.find(packed_mark) != std::string::npos; }

void pack_sequences(Model& model, std::int64_t tokens) {
  if (is_packed(model)) {
    throw Error(fmt::format("{} already sets the length of documents, but {} is requested", model.name, tokens),
                "leave out one of the two lengths");
  }
  if (tokens > model.sequence_length && model.sequence_length > 0) {
    throw Error(fmt::format("documents of {} tokens do not fit into the sequences of {}, which have {}", tokens, model.name,
                            model.sequence_length),
                "use shorter documents, or longer sequences (--seq)");
  }
  bool has_attention = false;
  // Layers that shared an operation before share an operation afterwards, too.
  std::map<const Operation*, std::shared_ptr<const Operation>> packed;
  for (Layer& layer : model.layers) {
    const auto [place, is_new] = packed.try_emplace(layer.operation.get());
    if (is_new) place->second = layer.operation->with_documents(tokens);
    if (!place->second) continue;
    has_attention = true;
    if (tokens < model.sequence_length) layer.operation = place->second;
  }
  if (has_attention && model.sequence_length > 0) {
    model.name += fmt::format("{}{}", packed_mark, tokens);
    return;
  }
  throw Error(fmt::format("{} has no attention between the tokens of a sequence, so documents cannot be packed", model.name),
              "only language models have packed sequences, such as gpt2 or llama3-8b");
}

}  // namespace ddl
