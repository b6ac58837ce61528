#include <algorithm>
#include <optional>
#include <string>

#include "model_zoo/importers/hugging_face/families.hpp"
#include "model_zoo/values/pattern.hpp"

namespace ddl {
namespace {

/// Returns a letter for each layer: C with a short convolution, F with attention.
std::string lfm2_letters(HuggingFaceConfig& config, std::size_t layers) {
  const auto listed = config.pattern({"layer_types"}, {{"conv", 'C'}, {"full_attention", 'F'}});
  const auto attention = config.numbers("full_attn_idxs", 0);
  if (listed && listed->size() != layers)
    config.fail("layer_types", fmt::format("'layer_types' has {} entries, but there are {} layers", listed->size(), layers));
  if (listed) return *listed;
  std::string letters(layers, attention ? 'C' : 'F');
  for (const std::int64_t layer : attention.value_or(std::vector<std::int64_t>{})) {
    if (layer >= static_cast<std::int64_t>(layers))
      config.fail("full_attn_idxs", fmt::format("there is no layer {}: the last one is {}", layer, layers - 1));
    letters[static_cast<std::size_t>(layer)] = 'F';
  }
  return letters;
}

/// Sets the parts that both types have. `letters`: a letter for each layer, in lower case for layers with experts.
void set_lfm2_parts(HuggingFaceConfig& config, FamilyModel& model, const std::string& letters, std::int64_t hidden,
                    std::string_view classes) {
  const std::int64_t heads = config.heads({"num_attention_heads"}, 32, hidden);
  model.set("pattern", fmt::format("\"{}\"", shortest_pattern(letters)));
  model.set("hidden", hidden);
  model.set("heads", heads);
  model.set("kv_heads", kv_heads_of(config, heads, 8));
  model.set("vocabulary", config.size({"vocab_size"}, 65536));
  model.set("tokens", config.tokens({"max_position_embeddings"}, 128000));
  model.set("short_kernel", config.integer({"conv_L_cache"}, 3));
  model.set("query_key_norm", "head");
  model.set("fused", config.fused());
  model.set("head", config.head_of(classes));
  model.set_flag("tied", config.tied(config.boolean("tie_embedding", true)));
  model.set("labels", config.labels());
  config.require("conv_bias", false, "the convolutions of the bundled models have no biases");
  // Keys of LFM2's authors, which the library does not read.
  for (const std::string_view key :
       {"block_dim", "conv_dim", "conv_dim_out", "block_mlp_init_scale", "block_out_init_scale", "block_use_swiglu",
        "block_use_xavier_init", "block_norm_eps", "conv_use_xavier_init", "num_heads", "use_pos_enc", "theta"})
    config.accept(key);
}

}  // namespace

// Defaults of Lfm2Config.
FamilyModel read_lfm2(HuggingFaceConfig& config) {
  FamilyModel model{.family = "decoder"};
  const std::int64_t layers = config.layers({"num_hidden_layers"}, 32), hidden = config.size({"hidden_size"}, 2560);
  set_lfm2_parts(config, model, lfm2_letters(config, static_cast<std::size_t>(layers)), hidden, "Lfm2");
  std::int64_t width = config.size({"block_ff_dim", "intermediate_size"}, 12288);
  const std::int64_t multiple = config.integer({"block_multiple_of"}, 256);
  config.accept("intermediate_size");
  config.require_number("block_ffn_dim_multiplier", 1, "only the usual width of MLPs is read");
  if (config.boolean("block_auto_adjust_ff_dim", true)) width = (2 * width / 3 + multiple - 1) / multiple * multiple;
  model.set("feed_forward", width);
  return model;
}

// Defaults of Lfm2MoeConfig.
FamilyModel read_lfm2_moe(HuggingFaceConfig& config) {
  FamilyModel model{.family = "decoder"};
  const std::int64_t layers = config.layers({"num_hidden_layers"}, 32), hidden = config.size({"hidden_size"}, 2048);
  std::string letters = lfm2_letters(config, static_cast<std::size_t>(layers));
  const auto dense = static_cast<std::size_t>(config.integer({"num_dense_layers"}, 2, 0, layers));
  for (std::size_t layer = dense; layer < letters.size(); ++layer) letters[layer] = letters[layer] == 'C' ? 'c' : 'f';
  set_lfm2_parts(config, model, letters, hidden, "Lfm2Moe");
  const auto [experts, active] = config.experts({"num_experts"}, 32, {"num_experts_per_tok"}, 4);
  model.set("feed_forward", config.size({"intermediate_size"}, 7168));
  model.set("experts", experts);
  model.set("active", active);
  model.set("expert_feed_forward", config.integer({"moe_intermediate_size"}, 1792));
  model.set("scores", "sigmoid");
  model.set_flag("correction", config.boolean("use_expert_bias", true));
  return model;
}

}  // namespace ddl
