#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {

// The defaults are those of DbrxConfig, DbrxAttentionConfig and DbrxFFNConfig of transformers 4.57.
// Two objects in the file contain some of the sizes.
FamilyModel read_dbrx(HuggingFaceConfig& config) {
  FamilyModel model{.family = "decoder"};
  const std::int64_t hidden = config.size({"d_model", "hidden_size"}, 2048);
  const std::int64_t heads = config.heads({"n_heads", "num_attention_heads"}, 16, hidden);
  const std::int64_t kv_heads = config.inner_integer("attn_config", "kv_n_heads", 1);
  if (heads % kv_heads != 0)
    config.fail("attn_config/kv_n_heads", fmt::format("{} heads are not divisible by {} key-value heads", heads, kv_heads));
  const std::int64_t experts = config.inner_integer("ffn_config", "moe_num_experts", 4);
  const std::int64_t active = config.inner_integer("ffn_config", "moe_top_k", 1);
  if (experts < 2 || active > experts)
    config.fail("ffn_config", fmt::format("there are {} experts, so {} cannot be active", experts, active));
  const std::int64_t layers = config.layers({"n_layers", "num_hidden_layers"}, 24);
  model.set("pattern", fmt::format("\"(f){}\"", layers));
  model.set("hidden", hidden);
  model.set("heads", heads);
  model.set("kv_heads", kv_heads);
  model.set("vocabulary", config.size({"vocab_size"}, 32000));
  model.set("tokens", config.tokens({"max_seq_len", "max_position_embeddings"}, 2048));
  model.set("norm", "layer");
  model.set_flag("norm_bias", false);
  model.set("experts", experts);
  model.set("active", active);
  model.set("expert_feed_forward", config.inner_integer("ffn_config", "ffn_hidden_size", 3584));
  model.set("fused", config.fused());
  model.set_number("residual_dropout", config.fraction({"resid_pdrop"}, 0));
  model.set_number("embedding_dropout", config.fraction({"emb_pdrop"}, 0));
  model.set("head", config.head_of("Dbrx"));
  model.set_flag("tied", config.tied(false));
  config.accept("num_key_value_heads");
  return model;
}

}  // namespace ddl
