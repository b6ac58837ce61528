#include <string>

#include "core/source_text.hpp"
#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {
namespace {

/// Returns one letter per layer, from `hybrid_override_pattern`, or from the list that replaces this key in newer files.
std::string pattern_of(HuggingFaceConfig& config) {
  const std::string written = config.text({"hybrid_override_pattern"}, "");
  if (const std::size_t unknown = written.find_first_not_of("ME*-"); unknown != std::string::npos) {
    config.fail("hybrid_override_pattern", fmt::format("{} is not a kind of layer", quote(written.substr(unknown, 1))),
                "M is Mamba, * attention, - an MLP, E experts");
  }
  const auto listed = config.pattern(
      {"layers_block_type", "layer_types"},
      {{"mamba", 'M'}, {"linear_attention", 'M'}, {"attention", '*'}, {"full_attention", '*'}, {"mlp", '-'}, {"moe", 'E'}});
  const std::string pattern = listed ? *listed : written.empty() ? "ME*-" : written;
  if (pattern.empty()) config.fail("layers_block_type", "the model has no layers");
  return pattern;
}

}  // namespace

// The defaults are those of NemotronHConfig. Attention has no position encoding.
FamilyModel read_nemotron_h(HuggingFaceConfig& config) {
  FamilyModel model{.family = "nemotron-h"};
  const std::string pattern = pattern_of(config);
  // The library uses the length of the pattern as the number of layers.
  static_cast<void>(config.layers({"num_hidden_layers"}, static_cast<std::int64_t>(pattern.size())));
  model.set("pattern", fmt::format("\"{}\"", pattern));
  model.set("hidden", config.size({"hidden_size"}, 4096));
  const std::int64_t heads = config.size({"num_attention_heads"}, 32);
  model.set("heads", heads);
  model.set("kv_heads", kv_heads_of(config, heads, 8));
  model.set("head_size", config.integer({"head_dim"}, 128));
  model.set("mamba_heads", config.integer({"mamba_num_heads"}, 128));
  model.set("mamba_head_size", config.integer({"mamba_head_dim"}, 64));
  model.set("mamba_groups", config.integer({"n_groups", "mamba_n_groups"}, 8));
  model.set("state", config.integer({"ssm_state_size"}, 128));
  model.set("convolution", config.integer({"conv_kernel", "mamba_d_conv"}, 4));
  model.set("chunk", config.integer({"chunk_size", "mamba_chunk_size"}, 128));
  model.set("feed_forward", config.size({"intermediate_size"}, 21504));
  if (pattern.find('E') != std::string::npos) {
    const auto [experts, active] = config.experts({"n_routed_experts", "num_local_experts"}, 8, {"num_experts_per_tok"}, 2);
    model.set("experts", experts);
    model.set("active", active);
    model.set("expert_feed_forward", config.integer({"moe_intermediate_size"}, 7688));
    const std::int64_t shared = config.integer({"moe_shared_expert_intermediate_size"}, 7688, 0);
    model.set("shared_feed_forward", config.integer({"n_shared_experts"}, 1, 0) > 0 ? shared : 0);
    model.set("latent", config.is_null("moe_latent_size") ? 0 : config.integer({"moe_latent_size"}, 0, 0));
    config.require_number("n_group", 1, "a token chooses among all experts");
    static_cast<void>(config.integer({"topk_group"}, 1));
  }
  model.set("vocabulary", config.size({"vocab_size"}, 131072));
  model.set("tokens", config.tokens({"max_position_embeddings"}, 4096));
  model.set_flag("attention_bias", config.boolean("attention_bias", false));
  model.set("activation", config.activation({"mlp_hidden_act"}, "relu2"));
  model.set("fused", config.fused());
  model.set_number("dropout", config.fraction({"attention_dropout"}, 0));
  model.set("head", config.head_of("NemotronH"));
  model.set_flag("tied", config.tied(false));
  for (const std::string_view key : {"use_bias", "mlp_bias", "mamba_proj_bias"})
    config.require(key, false, "matrices have no bias");
  config.require("use_conv_bias", true, "the convolution has a bias");
  config.warn_of_predictors("predicted");
  return model;
}

}  // namespace ddl
