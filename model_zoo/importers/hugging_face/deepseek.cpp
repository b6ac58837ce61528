#include "core/source_text.hpp"
#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {
namespace {

/// The library's defaults for a type with multi-head latent attention.
struct Defaults {
  std::int64_t vocabulary, hidden, feed_forward, layers, heads, tokens, dense_layers, width, experts, shared;
  std::int64_t active;  ///< experts per token; 0: the library has no default
  std::int64_t query_rank = 1536, kv_rank = 512, key_size = 128, rotary_size = 64, value_size = 128;
  bool is_dense = false;  ///< whether no layer has experts
  bool is_tied = false;
  std::string_view other_classes{};  ///< the beginning of class names in the authors' files
};

/// Reads the experts. A model without experts gets values that no layer uses.
void read_mixture(HuggingFaceConfig& config, const Defaults& defaults, FamilyModel& model) {
  if (defaults.is_dense) {
    for (const auto& [parameter, value] : {std::pair{"feed_forward", 1}, {"experts", 2}, {"active", 1}, {"shared", 0}})
      model.set(parameter, value);
    return;
  }
  model.set("feed_forward", config.integer({"moe_intermediate_size"}, defaults.width));
  if (defaults.active == 0 && (!config.has("num_experts_per_tok") || config.is_null("num_experts_per_tok")))
    config.fail("", "the configuration has no 'num_experts_per_tok', and the library has no default");
  const auto [experts, active] =
      config.experts({"n_routed_experts"}, defaults.experts, {"num_experts_per_tok"}, defaults.active);
  model.set("experts", experts);
  model.set("active", active);
  model.set("shared", config.is_null("n_shared_experts") ? 0 : config.integer({"n_shared_experts"}, defaults.shared, 0));
}

/// Reads everything except the router.
FamilyModel read_latent_attention(HuggingFaceConfig& config, const Defaults& defaults, std::string_view classes) {
  FamilyModel model{.family = "deepseek"};
  const std::int64_t layers = config.layers({"num_hidden_layers"}, defaults.layers);
  const std::int64_t heads = config.size({"num_attention_heads"}, defaults.heads);
  const std::int64_t dense =
      defaults.is_dense ? layers : config.integer({"first_k_dense_replace"}, defaults.dense_layers, 0, layers);
  const bool no_query_rank = config.is_null("q_lora_rank");
  model.set("layers", layers);
  model.set("dense_layers", dense);
  model.set("hidden", config.size({"hidden_size"}, defaults.hidden));
  model.set("heads", heads);
  model.set("query_rank", config.integer({"q_lora_rank"}, no_query_rank ? 0 : defaults.query_rank, 0));
  model.set("kv_rank", config.integer({"kv_lora_rank"}, defaults.kv_rank));
  model.set("key_size", config.integer({"qk_nope_head_dim"}, defaults.key_size));
  const std::int64_t rotary = config.integer({"qk_rope_head_dim"}, defaults.rotary_size);
  if (rotary % 2 != 0) config.fail("qk_rope_head_dim", fmt::format("{} channels cannot be rotated in pairs", rotary));
  model.set("rotary_size", rotary);
  model.set("value_size", config.integer({"v_head_dim"}, defaults.value_size));
  model.set("dense_feed_forward", config.size({"intermediate_size"}, defaults.feed_forward));
  model.set("vocabulary", config.size({"vocab_size"}, defaults.vocabulary));
  model.set("tokens", config.tokens({"max_position_embeddings"}, defaults.tokens));
  read_mixture(config, defaults, model);
  model.set_flag("attention_bias", config.boolean("attention_bias", false));
  model.set("activation", config.activation({"hidden_act"}, "silu"));
  model.set("fused", config.fused());
  model.set_number("dropout", config.fraction({"attention_dropout"}, 0));
  model.set_head(config, classes, defaults.is_tied, defaults.other_classes);
  if (!defaults.is_dense) config.require_number("moe_layer_freq", 1, "all layers after the first dense layers have experts");
  // Keys and values are computed for each head, so the library ignores the key `num_key_value_heads`.
  static_cast<void>(config.integer({"num_key_value_heads"}, heads));
  static_cast<void>(config.integer({"head_dim"}, rotary));
  config.warn_of_predictors("predicted");
  return model;
}

/// Reads the groups of experts. Each token uses only experts of the best groups.
void read_groups(HuggingFaceConfig& config, FamilyModel& model, std::int64_t groups, std::int64_t active_groups) {
  model.set("groups", config.integer({"n_group"}, groups));
  model.set("active_groups", config.integer({"topk_group"}, active_groups));
}

/// Scores are sigmoids, and corrected scores select the experts.
FamilyModel read_with_corrected_scores(HuggingFaceConfig& config, const Defaults& defaults, std::string_view classes,
                                       std::int64_t groups, std::int64_t active_groups) {
  FamilyModel model = read_latent_attention(config, defaults, classes);
  for (const auto& [key, expected] : {std::pair{"scoring_func", "sigmoid"}, {"topk_method", "noaux_tc"}}) {
    const std::string said = config.text({key}, expected);
    if (said == expected) continue;
    config.unknown(key, fmt::format("unknown {} {}", quote(key), quote(said)), fmt::format("known: {}", expected));
    config.warn(fmt::format("{} is read as {}", quote(said), expected));
  }
  model.set("scores", "sigmoid");
  model.set_flag("correction", true);
  read_groups(config, model, groups, active_groups);
  return model;
}

/// Reads the indexer, which selects the tokens that attention reads.
void read_indexer(HuggingFaceConfig& config, FamilyModel& model, std::int64_t heads) {
  const std::int64_t frequency = config.integer({"index_topk_freq"}, 1);
  const std::optional<std::string> types = config.pattern({"indexer_types"}, {{"full", 'F'}, {"shared", 'S'}});
  // In GLM-5.2, most layers use the tokens that the indexer of an earlier layer selected.
  if (types ? types->find('S') != std::string::npos : frequency > 1) {
    config.fail(types ? "indexer_types" : "index_topk_freq", "no family has layers that share the indexer of another layer",
                "the nearest bundled model is glm-5, in which each layer has an indexer");
  }
  if (config.is_null("index_topk_pattern")) config.accept("index_topk_pattern");
  model.set("selected", config.integer({"index_topk"}, 2048));
  model.set("index_heads", config.integer({"index_n_heads"}, heads));
  model.set("index_size", config.integer({"index_head_dim"}, 128));
  for (const std::string_view key : {"indexer_rope_interleave", "index_skip_topk_offset", "index_share_for_mtp_iteration"})
    config.accept(key);
}

/// Throws Error if a list of layers contradicts the number of first layers without experts.
void check_layers(HuggingFaceConfig& config, std::int64_t usual_layers, std::int64_t usual_dense) {
  const std::optional<std::string> kinds = config.pattern({"mlp_layer_types"}, {{"dense", 'D'}, {"sparse", 'S'}});
  if (!kinds) return;
  const std::int64_t layers = config.layers({"num_hidden_layers"}, usual_layers);
  const std::int64_t dense = config.integer({"first_k_dense_replace"}, usual_dense, 0, layers);
  const auto first = static_cast<std::size_t>(dense), all = static_cast<std::size_t>(layers);
  if (*kinds != std::string(first, 'D') + std::string(all - first, 'S')) {
    config.fail("mlp_layer_types",
                fmt::format("this list does not have {} layers, of which the first {} have no experts", layers, dense));
  }
}

}  // namespace

// Defaults of DeepseekV2Config.
FamilyModel read_deepseek_v2(HuggingFaceConfig& config) {
  FamilyModel model = read_latent_attention(config,
                                            {.vocabulary = 32000,
                                             .hidden = 4096,
                                             .feed_forward = 11008,
                                             .layers = 32,
                                             .heads = 32,
                                             .tokens = 2048,
                                             .dense_layers = 0,
                                             .width = 1407,
                                             .experts = 64,
                                             .shared = 2,
                                             .active = 0},
                                            "DeepseekV2");
  const std::string scores = config.text({"scoring_func"}, "softmax");
  if (scores != "softmax") {
    config.unknown("scoring_func", fmt::format("unknown scores {}", quote(scores)), "known: softmax");
    config.warn(fmt::format("the scores {} are read as softmax", quote(scores)));
  }
  const std::string method = config.text({"topk_method"}, "greedy");
  if (method == "group_limited_greedy") {
    read_groups(config, model, 1, 1);
  } else {
    static_cast<void>(config.integer({"n_group"}, 1));
    static_cast<void>(config.integer({"topk_group"}, 1));
    if (method != "greedy") {
      config.unknown("topk_method", fmt::format("unknown choice of experts {}", quote(method)),
                     "known: greedy, group_limited_greedy");
      config.warn(fmt::format("the choice of experts {} is read as greedy", quote(method)));
    }
  }
  return model;
}

// Defaults of DeepseekV3Config.
FamilyModel read_deepseek_v3(HuggingFaceConfig& config) {
  return read_with_corrected_scores(config,
                                    {.vocabulary = 129280,
                                     .hidden = 7168,
                                     .feed_forward = 18432,
                                     .layers = 61,
                                     .heads = 128,
                                     .tokens = 4096,
                                     .dense_layers = 3,
                                     .width = 2048,
                                     .experts = 256,
                                     .shared = 1,
                                     .active = 8},
                                    "DeepseekV3", 8, 4);
}

// Defaults of DeepseekV32Config.
FamilyModel read_deepseek_v32(HuggingFaceConfig& config) {
  FamilyModel model = read_with_corrected_scores(config,
                                                 {.vocabulary = 129280,
                                                  .hidden = 7168,
                                                  .feed_forward = 18432,
                                                  .layers = 61,
                                                  .heads = 128,
                                                  .tokens = 163840,
                                                  .dense_layers = 3,
                                                  .width = 2048,
                                                  .experts = 256,
                                                  .shared = 1,
                                                  .active = 8},
                                                 "DeepseekV32", 8, 4);
  check_layers(config, 61, 3);
  read_indexer(config, model, 64);
  return model;
}

// Defaults of GlmMoeDsaConfig.
FamilyModel read_glm_moe_dsa(HuggingFaceConfig& config) {
  FamilyModel model = read_with_corrected_scores(config,
                                                 {.vocabulary = 154880,
                                                  .hidden = 6144,
                                                  .feed_forward = 12288,
                                                  .layers = 78,
                                                  .heads = 64,
                                                  .tokens = 202752,
                                                  .dense_layers = 3,
                                                  .width = 2048,
                                                  .experts = 256,
                                                  .shared = 1,
                                                  .active = 8,
                                                  .query_rank = 2048,
                                                  .key_size = 192,
                                                  .value_size = 256},
                                                 "GlmMoeDsa", 1, 1);
  check_layers(config, 78, 3);
  read_indexer(config, model, 32);
  return model;
}

// Defaults of Mistral4Config.
FamilyModel read_mistral4(HuggingFaceConfig& config) {
  FamilyModel model = read_latent_attention(config,
                                            {.vocabulary = 131072,
                                             .hidden = 4096,
                                             .feed_forward = 12288,
                                             .layers = 36,
                                             .heads = 32,
                                             .tokens = 1048576,
                                             .dense_layers = 0,
                                             .width = 2048,
                                             .experts = 128,
                                             .shared = 1,
                                             .active = 4,
                                             .query_rank = 1024,
                                             .kv_rank = 256,
                                             .key_size = 64},
                                            "Mistral4");
  read_groups(config, model, 1, 1);
  return model;
}

// Defaults of Glm4MoeLiteConfig.
FamilyModel read_glm4_moe_lite(HuggingFaceConfig& config) {
  return read_with_corrected_scores(config,
                                    {.vocabulary = 154880,
                                     .hidden = 2048,
                                     .feed_forward = 10240,
                                     .layers = 47,
                                     .heads = 20,
                                     .tokens = 202752,
                                     .dense_layers = 1,
                                     .width = 1536,
                                     .experts = 64,
                                     .shared = 1,
                                     .active = 4,
                                     .query_rank = 768,
                                     .key_size = 192,
                                     .value_size = 256},
                                    "Glm4MoeLite", 1, 1);
}

// Defaults of SarvamMLAConfig.
FamilyModel read_sarvam_mla(HuggingFaceConfig& config) {
  return read_with_corrected_scores(config,
                                    {.vocabulary = 262144,
                                     .hidden = 4096,
                                     .feed_forward = 16384,
                                     .layers = 32,
                                     .heads = 64,
                                     .tokens = 4096,
                                     .dense_layers = 1,
                                     .width = 2048,
                                     .experts = 128,
                                     .shared = 1,
                                     .active = 8,
                                     .query_rank = 0,
                                     .other_classes = "SarvamMLA"},
                                    "DeepseekV3", 1, 1);
}

// Defaults of MiniCPM3Config.
FamilyModel read_minicpm3(HuggingFaceConfig& config) {
  return read_latent_attention(config,
                               {.vocabulary = 73448,
                                .hidden = 2560,
                                .feed_forward = 6400,
                                .layers = 62,
                                .heads = 40,
                                .tokens = 32768,
                                .dense_layers = 0,
                                .width = 0,
                                .experts = 0,
                                .shared = 0,
                                .active = 0,
                                .query_rank = 768,
                                .kv_rank = 256,
                                .key_size = 64,
                                .rotary_size = 32,
                                .value_size = 64,
                                .is_dense = true,
                                .is_tied = true},
                               "MiniCPM3");
}

// Defaults of YoutuConfig.
FamilyModel read_youtu(HuggingFaceConfig& config) {
  return read_latent_attention(config,
                               {.vocabulary = 128256,
                                .hidden = 2048,
                                .feed_forward = 6144,
                                .layers = 32,
                                .heads = 16,
                                .tokens = 131072,
                                .dense_layers = 0,
                                .width = 0,
                                .experts = 0,
                                .shared = 0,
                                .active = 0,
                                .is_dense = true,
                                .is_tied = true},
                               "Youtu");
}

}  // namespace ddl
