#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {

// The defaults are those of FalconConfig. In the newer architecture, the number of key and value
// heads is a separate setting, and attention and MLP each have a norm.
FamilyModel read_falcon(HuggingFaceConfig& config) {
  FamilyModel model{.family = "falcon"};
  const std::int64_t hidden = config.size({"hidden_size", "n_embed"}, 4544);
  const std::int64_t heads = config.heads({"num_attention_heads", "n_head"}, 71, hidden);
  if (hidden / heads % 2 != 0) {
    config.fail("num_attention_heads", fmt::format("heads of {} channels cannot be rotated in pairs", hidden / heads));
  }
  const bool newer = config.boolean("new_decoder_architecture", false);
  const bool one_head = config.boolean("multi_query", true);
  const std::int64_t said_kv_heads = config.integer({"num_kv_heads", "n_head_kv"}, heads);
  const std::int64_t kv_heads = newer ? said_kv_heads : one_head ? 1 : heads;
  if (heads % kv_heads != 0) {
    config.fail("num_kv_heads", fmt::format("{} heads are not divisible by {} key-value heads", heads, kv_heads));
  }
  model.set("layers", config.layers({"num_hidden_layers", "n_layer"}, 32));
  model.set("hidden", hidden);
  model.set("heads", heads);
  model.set("kv_heads", kv_heads);
  model.set("feed_forward", config.integer({"ffn_hidden_size"}, 4 * hidden));
  model.set("vocabulary", config.size({"vocab_size"}, 65024));
  model.set("tokens", config.tokens({"max_position_embeddings"}, 2048));
  const std::int64_t norms = config.integer({"num_ln_in_parallel_attn"}, newer ? 2 : 1, 1, 2);
  model.set("norms", newer ? norms : 1);
  model.set_flag("bias", config.boolean("bias", false));
  model.set("activation", config.activation({"activation"}, "gelu"));
  model.set("fused", config.fused());
  model.set_number("dropout", config.fraction({"attention_dropout"}, 0));
  model.set_head(config, "Falcon", true, "RW");
  config.require("alibi", false, "positions are rotary");
  config.require("parallel_attn", true, "attention and MLP are parallel");
  config.require_number("hidden_dropout", 0, "only attention has a dropout");
  return model;
}

}  // namespace ddl
