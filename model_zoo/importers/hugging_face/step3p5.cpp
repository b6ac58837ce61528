#include <algorithm>
#include <charconv>
#include <string>

#include "core/source_text.hpp"
#include "model_zoo/importers/hugging_face/families.hpp"
#include "model_zoo/values/pattern.hpp"

namespace ddl {
namespace {

/// Writes the layers with experts in lower case. `moe_layers_enum` lists them: `3,4,5`. Without it, only the first layer has
/// no experts.
void mark_experts(HuggingFaceConfig& config, std::string& letters) {
  const auto mark = [&](std::size_t layer) { letters[layer] = letters[layer] == 'F' ? 'f' : 'w'; };
  const std::string listed = config.text({"moe_layers_enum"}, "");
  if (listed.empty()) {
    for (std::size_t layer = 1; layer < letters.size(); ++layer) mark(layer);
    return;
  }
  for (std::size_t at = 0; at < listed.size();) {
    const std::size_t end = std::min(listed.find(',', at), listed.size());
    std::size_t layer = 0;
    const auto [stop, problem] = std::from_chars(listed.data() + at, listed.data() + end, layer);
    if (problem != std::errc{} || stop != listed.data() + end)
      config.fail("moe_layers_enum", fmt::format("{} is not a list of layers", quote(listed)));
    // Modules that predict further tokens follow the layers.
    if (layer < letters.size()) mark(layer);
    at = end + 1;
  }
}

}  // namespace

// The defaults are the sizes of the released Step-3.5-Flash.
FamilyModel read_step3p5(HuggingFaceConfig& config) {
  FamilyModel model{.family = "decoder"};
  const std::int64_t layers = config.layers({"num_hidden_layers"}, 45), head_size = config.integer({"head_dim"}, 128);
  auto letters = config.pattern({"layer_types"}, {{"full_attention", 'F'}, {"sliding_attention", 'W'}});
  if (!letters || letters->size() < static_cast<std::size_t>(layers))
    config.fail("layer_types", fmt::format("the kind of each of the {} layers is needed", layers));
  letters->resize(static_cast<std::size_t>(layers));
  mark_experts(config, *letters);
  const std::int64_t heads = config.size({"num_attention_heads"}, 64), groups = config.integer({"num_attention_groups"}, 8);
  const auto [experts, active] = config.experts({"moe_num_experts"}, 288, {"moe_top_k"}, 8);
  model.set("pattern", fmt::format("\"{}\"", shortest_pattern(*letters)));
  model.set("hidden", config.size({"hidden_size"}, 4096));
  model.set("heads", heads);
  model.set("kv_heads", groups);
  model.set("head_size", head_size);
  model.set_flag("apart", true);
  model.set("window_heads", config.inner_integer("attention_other_setting", "num_attention_heads", heads));
  model.set("window", config.integer({"sliding_window"}, 512));
  model.set("query_key_norm", "head");
  model.set_flag("head_gate", config.boolean("use_head_wise_attn_gate", false));
  model.set("feed_forward", config.size({"intermediate_size"}, 11264));
  model.set("vocabulary", config.size({"vocab_size"}, 128896));
  model.set("tokens", config.tokens({"max_position_embeddings", "max_seq_len"}, 262144));
  model.set("experts", experts);
  model.set("active", active);
  model.set("expert_feed_forward", config.integer({"moe_intermediate_size"}, 1280));
  model.set("shared_feed_forward", config.integer({"share_expert_dim"}, 1280));
  model.set("scores", config.text({"moe_router_activation"}, "softmax") == "sigmoid" ? "sigmoid" : "softmax");
  model.set_flag("correction", config.boolean("use_moe_router_bias", false));
  model.set("fused", config.fused());
  model.set_head(config, "Step3p5", false);
  if (config.inner_integer("attention_other_setting", "num_attention_groups", groups) != groups ||
      config.inner_integer("attention_other_setting", "head_dim", head_size) != head_size)
    config.fail("attention_other_setting", "all layers have the same heads of keys, and one size of heads");
  config.require("use_qk_norm", true, "queries and keys of the bundled models are normalized");
  // Constants of positions, limits of activations, and the scale and number format of the router.
  for (const std::string_view key :
       {"rope_theta", "rope_scaling", "partial_rotary_factors", "yarn_only_types", "use_rope_layers", "swiglu_limits",
        "swiglu_limits_shared", "moe_router_scaling_factor", "norm_expert_weight", "need_fp32_gate", "use_moe",
        "attention_output_gate", "att_impl_type", "zero_centered", "moe_every_n_layer", "moe_layer_offset", "sink"})
    config.accept(key);
  config.warn_of_predictors();
  return model;
}

}  // namespace ddl
