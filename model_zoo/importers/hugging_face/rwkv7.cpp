#include <algorithm>
#include <cmath>

#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {
namespace {

/// Returns the default rank of the matrices that make numbers of the channels (fla/layers/rwkv7.py).
std::int64_t usual_rank(double factor, std::int64_t hidden) {
  const double multiple = std::nearbyint(factor * std::sqrt(static_cast<double>(hidden)) / 32);
  return std::max<std::int64_t>(32, 32 * static_cast<std::int64_t>(multiple));
}

}  // namespace

// The keys, defaults and parts are those of RWKV7Config and RWKV7Attention in fla-org/flash-linear-attention
// (fla/models/rwkv7), whose classes the published files name. The default vocabulary is that of the published models.
FamilyModel read_rwkv7(HuggingFaceConfig& config) {
  FamilyModel model{.family = "rwkv7"};
  const std::int64_t hidden = config.size({"hidden_size"}, 2048);
  const std::int64_t said_heads = config.is_null("num_heads") ? 0 : config.integer({"num_heads"}, 0, 0);
  if (said_heads > 0 && config.is_null("head_dim") && hidden % said_heads != 0)
    config.fail("num_heads", fmt::format("{} channels are not divisible by {} heads", hidden, said_heads));
  const std::int64_t head_size =
      config.is_null("head_dim") && said_heads > 0 ? hidden / said_heads : config.integer({"head_dim"}, 64);
  if (hidden % head_size != 0)
    config.fail("head_dim", fmt::format("{} channels are not divisible into heads of {}", hidden, head_size));
  const double wide = static_cast<double>(head_size) / 64;
  model.set("layers", config.layers({"num_hidden_layers"}, 24));
  model.set("hidden", hidden);
  model.set("head_size", head_size);
  const std::int64_t ratio = config.integer({"hidden_ratio"}, 4);
  model.set("feed_forward", config.integer({"intermediate_size"}, (ratio * hidden + 31) / 32 * 32));
  model.set("decay_rank", config.integer({"decay_low_rank_dim"}, usual_rank(2.5 * wide, hidden)));
  model.set("rate_rank", config.integer({"a_low_rank_dim"}, usual_rank(2.5 * wide, hidden)));
  model.set("value_rank", config.integer({"v_low_rank_dim"}, usual_rank(1.7 * wide, hidden)));
  model.set("gate_rank", config.integer({"gate_low_rank_dim"}, usual_rank(5, hidden)));
  const std::string activation = config.text({"hidden_act"}, "sqrelu");
  model.set("activation", activation == "sqrelu" ? "relu2" : config.activation_of("hidden_act", activation));
  model.set_flag("norm_bias", config.boolean("norm_bias", true));
  model.set("vocabulary", config.size({"vocab_size"}, 65536));
  model.set("tokens", config.tokens({"max_position_embeddings"}, 2048));
  model.set("head", config.head_with("RWKV7", {{"ForCausalLM", "language_model"}, {"Model", "none"}}));
  model.set_flag("tied", config.tied(false));
  config.require("norm_first", true, "a norm follows the embedding");
  if (config.has("attn") && !config.is_null("attn")) config.fail("attn", "all layers of the family have the recurrence");
  if (const auto widths = config.numbers("value_dim", 1)) {
    for (const std::int64_t width : *widths) {
      if (width != hidden) config.fail("value_dim", "values have as many channels as keys");
    }
  }
  for (const std::string_view key :
       {"attn_mode", "fuse_norm", "fuse_cross_entropy", "fuse_linear_cross_entropy", "use_l2warp", "num_attention_heads"})
    config.accept(key);
  return model;
}

// The keys and defaults are those of TransformerConfig, and the width of the MLP is that of GatedMLP
// (fla/models/transformer/configuration_transformer.py, fla/modules/mlp.py). The decoder has the parts of Llama.
FamilyModel read_flash_transformer(HuggingFaceConfig& config) {
  FamilyModel model{.family = "llama"};
  const std::int64_t hidden = config.size({"hidden_size"}, 2048), heads = config.heads({"num_heads"}, 32, hidden);
  const std::int64_t kv_heads = config.is_null("num_kv_heads") ? heads : config.integer({"num_kv_heads"}, heads);
  if (heads % kv_heads != 0)
    config.fail("num_kv_heads", fmt::format("{} heads are not divisible by {} key-value heads", heads, kv_heads));
  if ((hidden / heads) % 2 != 0)
    config.fail("num_heads", fmt::format("heads of {} channels cannot be rotated in pairs", hidden / heads));
  const std::int64_t ratio = config.integer({"hidden_ratio"}, 4, 1, 1024);
  const std::int64_t width = (hidden * ratio * 2 / 3 + 255) / 256 * 256;
  model.set("layers", config.layers({"num_hidden_layers"}, 24));
  model.set("hidden", hidden);
  model.set("heads", heads);
  model.set("kv_heads", kv_heads);
  model.set("feed_forward", config.is_null("intermediate_size") ? width : config.size({"intermediate_size"}, width));
  model.set("vocabulary", config.size({"vocab_size"}, 32000));
  model.set("tokens", config.tokens({"max_position_embeddings"}, 2048));
  model.set("activation", config.activation({"hidden_act"}, "swish"));
  model.set_flag("qkv_bias", config.boolean("qkv_bias", false));
  model.set("head", config.head_with("Transformer", {{"ForCausalLM", "language_model"}, {"Model", "none"}}));
  model.set_flag("tied", config.tied(false));
  config.require("qk_norm", false, "queries and keys have no norm");
  config.require("elementwise_affine", true, "norms have a trained scale");
  if (config.has("window_size") && !config.is_null("window_size"))
    config.fail("window_size", "a token attends to all tokens before it");
  for (const std::string_view key :
       {"fuse_norm", "fuse_swiglu", "fuse_cross_entropy", "fuse_linear_cross_entropy", "use_l2warp"})
    config.accept(key);
  return model;
}

}  // namespace ddl
