#include "model_zoo/network/parameter_words.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/suggest.hpp"

namespace ddl {
namespace {

struct OtherWord {
  std::string_view word, parameter;
};
/// Words of other programs, with the parameter that each word means: keys of Hugging Face's
/// configurations, arguments of Megatron-LM, and common abbreviations.
constexpr std::array<OtherWord, 24> other_words{{{"seq", "tokens"},
                                                 {"seq_len", "tokens"},
                                                 {"seq_length", "tokens"},
                                                 {"sequence", "tokens"},
                                                 {"sequence_length", "tokens"},
                                                 {"length", "tokens"},
                                                 {"context", "tokens"},
                                                 {"max_position_embeddings", "tokens"},
                                                 {"n_ctx", "tokens"},
                                                 {"hidden_size", "hidden"},
                                                 {"d_model", "hidden"},
                                                 {"n_embd", "hidden"},
                                                 {"num_layers", "layers"},
                                                 {"n_layers", "layers"},
                                                 {"num_hidden_layers", "layers"},
                                                 {"num_heads", "heads"},
                                                 {"n_heads", "heads"},
                                                 {"num_attention_heads", "heads"},
                                                 {"num_key_value_heads", "kv_heads"},
                                                 {"intermediate_size", "feed_forward"},
                                                 {"ffn_hidden_size", "feed_forward"},
                                                 {"vocab", "vocabulary"},
                                                 {"vocab_size", "vocabulary"},
                                                 {"num_experts", "experts"}}};

}  // namespace

std::string suggest_parameter(std::string_view word, std::span<const std::string> known) {
  if (word == "base") return "--base gives the format of frozen weights: --lora 16 --base nf4";
  const auto other = std::ranges::find(other_words, word, &OtherWord::word);
  const std::string all = fmt::format("known parameters: {}", fmt::join(known, ", "));
  if (other != other_words.end() && std::ranges::find(known, other->parameter) != known.end())
    return fmt::format("did you mean '{}'? {}", other->parameter, all);
  const auto meant = nearest(word, known);
  return meant ? fmt::format("did you mean '{}'? {}", *meant, all) : all;
}

}  // namespace ddl
