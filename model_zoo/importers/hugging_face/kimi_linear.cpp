#include <algorithm>
#include <string>

#include "model_zoo/importers/hugging_face/families.hpp"
#include "model_zoo/values/pattern.hpp"

namespace ddl {
namespace {

/// Returns a letter for each layer: L with a delta rule, F with attention, in lower case if the layer has experts.
std::string kimi_letters(HuggingFaceConfig& config, std::int64_t layers) {
  std::string letters(static_cast<std::size_t>(layers), 'L');
  if (const auto types = config.pattern({"layer_types"}, {{"linear_attention", 'L'}, {"full_attention", 'F'}})) {
    if (types->size() != letters.size()) config.fail("layer_types", fmt::format("the model has {} layers", layers));
    letters = *types;
  } else if (const auto attending = config.inner_numbers("linear_attn_config", "full_attn_layers", 1)) {
    for (const std::int64_t layer : *attending) {
      if (layer > layers) config.fail("linear_attn_config", fmt::format("layer {} of {}", layer, layers));
      letters[static_cast<std::size_t>(layer) - 1] = 'F';
    }
  } else {
    config.fail("", "the configuration has no list of the layers with attention: 'linear_attn_config' or 'layer_types'");
  }
  const std::int64_t first = config.integer({"first_k_dense_replace"}, 1, 0, layers);
  // Without a number of experts, all layers are dense.
  const auto dense = static_cast<std::size_t>(config.is_null("num_experts") ? layers : first);
  for (std::size_t layer = dense; layer < letters.size(); ++layer) letters[layer] = letters[layer] == 'L' ? 'l' : 'f';
  return letters;
}

}  // namespace

// The defaults are the sizes of the released Kimi-Linear-48B-A3B.
FamilyModel read_kimi_linear(HuggingFaceConfig& config) {
  FamilyModel model{.family = "kimi-linear"};
  const std::int64_t layers = config.layers({"num_hidden_layers"}, 27);
  const std::int64_t heads = config.size({"num_attention_heads"}, 32);
  const auto [experts, active] = config.experts({"num_experts"}, 256, {"num_experts_per_token", "num_experts_per_tok"}, 8);
  model.set("pattern", fmt::format("\"{}\"", shortest_pattern(kimi_letters(config, layers))));
  model.set("hidden", config.size({"hidden_size"}, 2304));
  model.set("heads", heads);
  model.set("head_size", config.inner_integer("linear_attn_config", "head_dim", 128));
  model.set("kv_rank", config.integer({"kv_lora_rank"}, 512));
  model.set("key_size", config.integer({"qk_nope_head_dim"}, 128));
  model.set("shared_key_size", config.integer({"qk_rope_head_dim"}, 64));
  model.set("value_size", config.integer({"v_head_dim"}, 128));
  model.set("dense_feed_forward", config.size({"intermediate_size"}, 9216));
  model.set("feed_forward", config.integer({"moe_intermediate_size"}, 1024));
  model.set("experts", experts);
  model.set("active", active);
  // `null` means that no expert is shared.
  const std::int64_t shared = config.integer({"num_shared_experts"}, 1, 0);
  model.set("shared", config.is_null("num_shared_experts") ? 0 : shared);
  model.set("vocabulary", config.size({"vocab_size"}, 163840));
  model.set("tokens", config.tokens({"max_position_embeddings", "model_max_length"}, 1048576));
  model.set("fused", config.fused());
  static_cast<void>(config.head_with("KimiLinear", {{"ForCausalLM", "language_model"}}));
  if (config.inner_integer("linear_attn_config", "num_heads", heads) != heads)
    config.fail("linear_attn_config", fmt::format("all layers of the bundled models have {} heads", heads));
  if (config.activation({"hidden_act"}, "silu") != "silu")
    config.fail("hidden_act", "the MLPs of the bundled models have silu");
  if (config.tied(false)) config.fail("tie_word_embeddings", "the head of the bundled models has weights of its own");
  if (config.has("q_lora_rank") && !config.is_null("q_lora_rank"))
    config.fail("q_lora_rank", "the queries of the bundled models are not compressed");
  config.require_number("moe_layer_freq", 1, "all layers after the first dense layers have experts");
  config.require_number("num_key_value_heads", static_cast<double>(heads), "each head has keys and values of its own");
  for (const std::string_view key : {"mla_use_output_gate", "latent_moe_use_norm"})
    config.require(key, false, "the bundled models lack this part");
  if (config.has("attn_res_block_size") && !config.is_null("attn_res_block_size"))
    config.fail("attn_res_block_size", "the bundled models have no attention to earlier layers");
  // The sizes of heads were read above. The router's groups and scores change neither weights nor times.
  for (const std::string_view key : {"head_dim", "mla_use_nope", "moe_renormalize", "moe_router_activation_func",
                                     "num_expert_group", "topk_group", "use_grouped_topk", "rope_scaling"})
    config.accept(key);
  config.warn_of_predictors();
  return model;
}

}  // namespace ddl
