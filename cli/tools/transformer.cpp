#include "cli/tools/transformer.hpp"

#include "cli/tools/network_of.hpp"

namespace ddl {

std::optional<Transformer> transformer_of(const Model& model) {
  const bool is_gpt = model.family == "gpt", is_llama = model.family == "llama";
  if (!is_gpt && !is_llama) return std::nullopt;
  if (model.family_parameter("head") != "language_model") return std::nullopt;
  if (model.family_parameter("activation") != (is_gpt ? "gelu" : "silu")) return std::nullopt;
  if (is_gpt && model.family_parameter("embedding_dropout") != model.family_parameter("dropout")) return std::nullopt;
  // Megatron-LM has a single argument for the biases of all matrices, so attention and MLPs must agree.
  if (is_llama && family_flag(model, "attention_bias") != family_flag(model, "feed_forward_bias")) return std::nullopt;
  const auto number = [&](std::string_view name) { return family_number(model, name); };
  Transformer all;
  all.is_llama = is_llama;
  all.layers = number("layers");
  all.hidden = number("hidden");
  all.feed_forward = number("feed_forward");
  all.heads = number("heads");
  all.vocabulary = number("vocabulary");
  all.tokens = number("tokens");
  all.positions = is_gpt ? number("positions") : all.tokens;
  all.kv_heads = is_gpt ? all.heads : number("kv_heads");
  all.head_size = is_gpt ? all.hidden / all.heads : number("head_size");
  all.experts = is_gpt ? 1 : number("experts");
  all.active = is_gpt ? 1 : number("active");
  all.window = is_gpt ? 0 : number("window");
  all.is_tied = family_flag(model, "tied");
  all.has_query_key_norm = family_flag(model, "query_key_norm");
  all.has_qkv_bias = family_flag(model, "qkv_bias");
  all.turned = is_gpt ? all.head_size : number("turned");
  all.has_bias = is_gpt || family_flag(model, "attention_bias");
  all.is_fused = family_flag(model, "fused");
  all.dropout = is_gpt ? model.family_parameter("dropout") : "0";
  all.attention_dropout = model.family_parameter(is_gpt ? "attention_dropout" : "dropout");
  return all;
}

}  // namespace ddl
