#include "model_zoo/importers/hugging_face/decoder_type.hpp"

#include <algorithm>
#include <string>

#include "core/source_text.hpp"
#include "model_zoo/importers/hugging_face/decoder_layers.hpp"
#include "model_zoo/values/pattern.hpp"

namespace ddl {
namespace {

bool is_on(HuggingFaceConfig& config, const DecoderSwitch& part) {
  return part.key.empty() ? part.usual : config.boolean(part.key, part.usual);
}

/// The sizes in the file of a decoder.
struct Decoder {
  std::int64_t hidden = 1, heads = 1, kv_heads = 1, head_size = 1, feed_forward = 0, vocabulary = 1, tokens = 1;
  std::int64_t turned = 0;  ///< channels of a head that rotary positions rotate; 0: no rotary positions
  bool qkv_bias = false, projection_bias = false, feed_forward_bias = false, head_bias = false, parallel = false;
  DecoderQueryKeyNorm query_key_norm = DecoderQueryKeyNorm::none;
  DecoderLayers layers{};
  std::int64_t experts = 0, active = 1, expert_feed_forward = 0, shared_feed_forward = 0, groups = 1, active_groups = 1;
  double dropout = 0, residual_dropout = 0, embedding_dropout = 0;
  std::string activation{}, head{};
  std::string_view fused{};
  bool tied = false;
  std::int64_t labels = 2;
};

void read_sizes(HuggingFaceConfig& config, const DecoderType& type, Decoder& decoder) {
  const DecoderSizes& usual = type.sizes;
  const bool gpt = type.parts.has_gpt_keys;
  const auto size = [&](std::string_view key, std::string_view gpt_key, std::int64_t fallback) {
    return gpt ? config.size({gpt_key, key}, fallback) : config.size({key}, fallback);
  };
  decoder.hidden = size("hidden_size", "n_embd", usual.hidden);
  const bool says_head_size = config.has("head_dim") && !config.is_null("head_dim");
  decoder.heads = size("num_attention_heads", "n_head", usual.heads);
  const std::string_view heads_key = gpt ? "n_head" : "num_attention_heads";
  if (!says_head_size && type.parts.head_size == 0 && decoder.hidden % decoder.heads != 0)
    config.fail(heads_key, fmt::format("{} channels are not divisible by {} heads", decoder.hidden, decoder.heads));
  const std::int64_t divided =
      type.parts.head_size > 0 ? type.parts.head_size : std::max<std::int64_t>(decoder.hidden / decoder.heads, 1);
  decoder.head_size = config.integer({"head_dim"}, divided);
  const bool is_rotated = type.parts.unrotated != DecoderUnrotated::all;
  if (is_rotated && decoder.head_size % 2 != 0) {
    config.fail(says_head_size ? "head_dim" : heads_key,
                fmt::format("heads of {} channels cannot be rotated in pairs", decoder.head_size));
  }
  // In GPT-BigCode, keys and values have one head, or as many heads as queries.
  const bool one_head = gpt && type.parts.unrotated == DecoderUnrotated::all && config.boolean("multi_query", true);
  decoder.kv_heads = one_head ? 1 : gpt ? decoder.heads : kv_heads_of(config, decoder.heads, usual.kv_heads);
  if (gpt) config.accept("num_key_value_heads");
  if (gpt) {
    decoder.feed_forward = config.integer({"n_inner", "intermediate_size"}, 4 * decoder.hidden);
  } else if (usual.feed_forward > 0) {
    decoder.feed_forward = config.size({"intermediate_size"}, usual.feed_forward);
  } else {
    decoder.feed_forward = config.integer({"intermediate_size"}, 0);  // all layers have experts
  }
  decoder.vocabulary = config.size({"vocab_size"}, usual.vocabulary);
  decoder.tokens = gpt ? config.tokens({"n_positions", "max_position_embeddings"}, usual.tokens)
                       : config.tokens({"max_position_embeddings"}, usual.tokens);
  decoder.tokens = std::min(decoder.tokens, config.integer({"original_max_position_embeddings"}, decoder.tokens));
  if (!is_rotated) return;
  const std::int64_t rotary = config.integer({"rotary_dim"}, 0, 0, decoder.head_size);
  decoder.turned = rotary > 0 ? rotary / 2 * 2
                              : config.turned({"partial_rotary_factor", "rotary_pct"}, type.parts.turned, decoder.head_size);
}

void read_parts(HuggingFaceConfig& config, const DecoderType& type, Decoder& decoder) {
  const bool both = is_on(config, type.parts.attention_bias);
  decoder.qkv_bias = is_on(config, type.parts.qkv_bias) || both;
  decoder.projection_bias = is_on(config, type.parts.projection_bias) || both;
  decoder.feed_forward_bias = is_on(config, type.parts.feed_forward_bias);
  decoder.head_bias = is_on(config, type.parts.head_bias);
  decoder.parallel = is_on(config, type.parts.parallel);
  // Files may repeat that queries, keys and values always have biases.
  if (type.parts.qkv_bias.key.empty() && decoder.qkv_bias) {
    for (const std::string_view key : {"attention_bias", "qkv_bias"}) config.accept(key);
  }
  if (type.parts.query_key_norm != DecoderQueryKeyNorm::none && is_on(config, type.parts.query_key_norm_switch))
    decoder.query_key_norm = type.parts.query_key_norm;
  if (!type.parts.accepted.empty()) config.accept(type.parts.accepted);
  // Files may also state that queries and keys have norms.
  if (decoder.query_key_norm != DecoderQueryKeyNorm::none) {
    for (const std::string_view key : {"use_qk_norm", "qk_norm", "qk_layernorm"}) config.accept(key);
  }
  config.accept("position_embedding_type");
  decoder.activation = config.activation({"hidden_act", "hidden_activation", "activation_function"}, type.parts.activation);
  decoder.fused = config.fused(type.parts.attention);
  decoder.dropout = config.fraction({"attention_dropout", "attn_pdrop"}, type.parts.dropout);
  decoder.residual_dropout =
      config.fraction({"resid_pdrop", "residual_dropout", "hidden_dropout"}, type.parts.residual_dropout);
  decoder.embedding_dropout = config.fraction({"embd_pdrop", "embedding_dropout"}, type.parts.embedding_dropout);
  decoder.head = type.parts.is_encoder
                     ? config.head_with(type.classes, {{"ForMaskedLM", "language_model"}, {"Model", "none"}})
                     : config.head_of(type.classes, type.parts.other_classes);
  decoder.tied = config.tied(type.parts.is_tied);
  decoder.labels = config.labels();
  config.warn_of_predictors();
}

void read_experts(HuggingFaceConfig& config, const DecoderType& type, Decoder& decoder) {
  const DecoderExperts& usual = type.parts.experts;
  if (usual.count_key.empty()) return;
  const auto require_said = [&](std::string_view key, std::int64_t fallback) {
    if (fallback == 0 && (!config.has(key) || config.is_null(key)))
      config.fail("", fmt::format("the configuration has no {}, and the library has no default", quote(key)));
  };
  require_said(usual.count_key, usual.count);
  decoder.experts = config.integer({usual.count_key, usual.other_count_key}, usual.count, 0);
  // In Jamba, one expert stands for an MLP. Elsewhere, a single expert would be an MLP with a router, which no operation
  // supports.
  if (decoder.experts == 1 && usual.dense == DecoderDense::periodic) {
    decoder.experts = 0;
    for (const std::string_view key : {"expert_layer_period", "expert_layer_offset"}) config.accept(key);
  }
  if (decoder.experts == 1) config.fail(usual.count_key, "one expert is not supported: use at least 2, or 0 for an MLP");
  // Without experts, such a type has no width for most of its layers.
  if (decoder.experts == 0 && usual.dense == DecoderDense::first && !usual.dense_width_key.empty())
    config.fail(usual.count_key, "layers of this type have experts: use at least 2");
  require_said(usual.active_key, usual.active);
  decoder.active = config.integer({usual.active_key}, usual.active, decoder.experts > 0 ? 1 : 0);
  if (decoder.experts > 0 && decoder.active > decoder.experts) {
    config.fail(usual.active_key,
                fmt::format("there are {} experts, so {} cannot be active", decoder.experts, decoder.active));
  }
  decoder.expert_feed_forward =
      usual.width_key.empty() ? decoder.feed_forward : config.integer({usual.width_key}, usual.width);
  if (!usual.dense_width_key.empty()) decoder.feed_forward = config.integer({usual.dense_width_key}, usual.dense_width);
  if (!usual.shared_width_key.empty()) {
    decoder.shared_feed_forward = config.integer({usual.shared_width_key}, usual.shared, 0);
  } else if (usual.shared_key.empty()) {
    decoder.shared_feed_forward = usual.shared * decoder.expert_feed_forward;
  } else {
    const std::int64_t count =
        config.is_null(usual.shared_key) ? 0 : config.integer({usual.shared_key}, usual.shared, 0, 1024);
    decoder.shared_feed_forward = count * decoder.expert_feed_forward;
  }
  if (!usual.has_groups) return;
  decoder.groups = config.integer({"n_group"}, 1);
  decoder.active_groups = config.integer({"topk_group"}, 1);
}

/// Returns whether the family of Llama has all parts that this decoder needs.
bool is_llama(const DecoderType& type, const Decoder& decoder) {
  const bool experts_alone = decoder.experts == 0 || (decoder.shared_feed_forward == 0 && !type.parts.experts.is_sigmoid &&
                                                      !type.parts.experts.is_corrected && decoder.groups == 1);
  const bool no_dropouts = decoder.residual_dropout == 0 && decoder.embedding_dropout == 0;
  const bool usual_norms = type.parts.norm == DecoderNorm::rms && type.parts.norms == DecoderNorms::before;
  const bool few_norms =
      decoder.query_key_norm == DecoderQueryKeyNorm::none || decoder.query_key_norm == DecoderQueryKeyNorm::head;
  const std::string& letters = decoder.layers.letters;
  const bool alike = letters.find_first_not_of(letters.front()) == std::string::npos &&
                     std::string_view("FfWw").find(letters.front()) != std::string_view::npos && decoder.layers.chunk == 0;
  return alike && !type.parts.is_encoder && !type.parts.has_output_gate && usual_norms && few_norms && experts_alone &&
         no_dropouts && !decoder.parallel && type.parts.is_gated && !decoder.head_bias && decoder.turned > 0;
}

/// Sets the parameters that the families `llama` and `decoder` share.
void set_shared(const Decoder& decoder, FamilyModel& model) {
  model.set("hidden", decoder.hidden);
  model.set("heads", decoder.heads);
  model.set("kv_heads", decoder.kv_heads);
  model.set("head_size", decoder.head_size);
}
void set_rest(const Decoder& decoder, FamilyModel& model) {
  model.set("vocabulary", decoder.vocabulary);
  model.set("tokens", decoder.tokens);
  model.set("activation", decoder.activation);
  model.set("fused", decoder.fused);
  model.set_number("dropout", decoder.dropout);
  model.set("head", decoder.head);
  model.set_flag("tied", decoder.tied);
  model.set("labels", decoder.labels);
}

FamilyModel llama(const Decoder& decoder) {
  FamilyModel model{.family = "llama"};
  const char letter = decoder.layers.letters.front();
  const bool has_experts = letter == 'f' || letter == 'w';
  model.set("layers", static_cast<std::int64_t>(decoder.layers.letters.size()));
  set_shared(decoder, model);
  model.set("feed_forward", has_experts ? decoder.expert_feed_forward : decoder.feed_forward);
  set_rest(decoder, model);
  if (decoder.turned != decoder.head_size) model.set("turned", decoder.turned);
  if (letter == 'W' || letter == 'w') model.set("window", decoder.layers.window);
  if (has_experts) {
    model.set("experts", decoder.experts);
    model.set("active", decoder.active);
  }
  if (decoder.query_key_norm != DecoderQueryKeyNorm::none) model.set_flag("query_key_norm", true);
  model.set_flag("attention_bias", decoder.projection_bias);
  if (decoder.qkv_bias != decoder.projection_bias) model.set_flag("qkv_bias", decoder.qkv_bias);
  model.set_flag("feed_forward_bias", decoder.feed_forward_bias);
  return model;
}

void set_mamba(const DecoderMamba& mamba, FamilyModel& model) {
  model.set("mamba_heads", mamba.heads);
  model.set("mamba_head_size", mamba.head_size);
  model.set("mamba_groups", mamba.groups);
  model.set("state", mamba.state);
  model.set("convolution", mamba.convolution);
  model.set("scan", mamba.scan);
  model.set_flag("mamba_norm", mamba.has_norm);
  model.set_flag("mamba_bias", mamba.has_bias);
  model.set_flag("mamba_output_bias", mamba.has_output_bias);
}

void set_delta(const DecoderDelta& delta, FamilyModel& model) {
  model.set("delta_heads", delta.heads);
  model.set("delta_head_size", delta.head_size);
  model.set("delta_key_heads", delta.key_heads);
  model.set("delta_key_size", delta.key_size);
  model.set("convolution", delta.convolution);
}

void set_selective(const DecoderLayers& layers, FamilyModel& model) {
  model.set("inner", layers.selective.inner);
  model.set("step_rank", layers.selective.rank);
  model.set("step_norms", "trained");
  model.set_flag("convolution_bias", layers.selective.has_convolution_bias);
  model.set("state", layers.mamba.state);
  model.set("convolution", layers.mamba.convolution);
  model.set_flag("mamba_bias", layers.mamba.has_bias);
}

FamilyModel general(const DecoderType& type, const Decoder& decoder) {
  FamilyModel model{.family = "decoder"};
  const auto has = [&letters = decoder.layers.letters](std::string_view any) {
    return letters.find_first_of(any) != std::string::npos;
  };
  model.set("pattern", fmt::format("\"{}\"", shortest_pattern(decoder.layers.letters)));
  set_shared(decoder, model);
  if (has("FWNMHLSA")) model.set("feed_forward", decoder.feed_forward);
  set_rest(decoder, model);
  if (decoder.turned == 0) model.set("positions", decoder.tokens);
  model.set("turned", decoder.turned);
  if (decoder.layers.window > 0) model.set("window", decoder.layers.window);
  if (decoder.layers.chunk > 0) model.set("chunk", decoder.layers.chunk);
  const bool has_weights =
      type.parts.norm != DecoderNorm::without_weights && type.parts.norm != DecoderNorm::rms_without_weights;
  const bool is_rms = type.parts.norm == DecoderNorm::rms || type.parts.norm == DecoderNorm::rms_without_weights;
  model.set("norm", is_rms ? "rms" : "layer");
  if (!has_weights) model.set_flag("norm_scale", false);
  model.set_flag("norm_bias", type.parts.norm == DecoderNorm::layer);
  model.set("norms", type.parts.norms == DecoderNorms::before   ? "before"
                     : type.parts.norms == DecoderNorms::behind ? "behind"
                                                                : "both");
  model.set_flag("parallel", decoder.parallel);
  static constexpr EnumNames<DecoderQueryKeyNorm> norms{"no", "head", "each_head", "all_heads"};
  model.set("query_key_norm", norms[decoder.query_key_norm]);
  if (!has_weights && decoder.query_key_norm != DecoderQueryKeyNorm::none) model.set_flag("query_key_scale", false);
  model.set_flag("gated", type.parts.is_gated);
  if (type.parts.has_output_gate) model.set_flag("output_gate", true);
  if (type.parts.is_encoder) model.set_flag("causal", false);
  model.set_flag("qkv_bias", decoder.qkv_bias);
  model.set_flag("projection_bias", decoder.projection_bias);
  model.set_flag("feed_forward_bias", decoder.feed_forward_bias);
  if (decoder.head_bias) model.set_flag("head_bias", true);
  if (has("fwnmhlsa")) {
    model.set("experts", decoder.experts);
    model.set("active", decoder.active);
    model.set("expert_feed_forward", decoder.expert_feed_forward);
    model.set("shared_feed_forward", decoder.shared_feed_forward);
    if (type.parts.experts.has_shared_gate) model.set_flag("shared_gate", true);
    model.set("scores", type.parts.experts.is_sigmoid ? "sigmoid" : "softmax");
    if (type.parts.experts.is_corrected) model.set_flag("correction", true);
    if (decoder.groups > 1) {
      model.set("groups", decoder.groups);
      model.set("active_groups", decoder.active_groups);
    }
  }
  if (has("MHmh")) set_mamba(decoder.layers.mamba, model);
  if (has("Ll")) set_delta(decoder.layers.delta, model);
  if (has("Ss")) set_selective(decoder.layers, model);
  if (has("Aa") && decoder.layers.linear_chunk != 256) model.set("linear_chunk", decoder.layers.linear_chunk);
  if (decoder.residual_dropout > 0) model.set_number("residual_dropout", decoder.residual_dropout);
  if (decoder.embedding_dropout > 0) model.set_number("embedding_dropout", decoder.embedding_dropout);
  return model;
}

}  // namespace

FamilyModel read_decoder_type(HuggingFaceConfig& config, const DecoderType& type) {
  Decoder decoder;
  const std::string_view own_key = type.parts.has_gpt_keys ? "n_layer" : type.parts.layers_key;
  const std::int64_t layers = own_key.empty() ? config.layers({"num_hidden_layers"}, type.sizes.layers)
                                              : config.layers({own_key, "num_hidden_layers"}, type.sizes.layers);
  read_sizes(config, type, decoder);
  read_experts(config, type, decoder);
  read_parts(config, type, decoder);
  // If a model has no experts, the keys of the shared expert may describe the MLP.
  if (decoder.experts == 0 && decoder.shared_feed_forward > 0) decoder.feed_forward = decoder.shared_feed_forward;
  decoder.layers =
      read_decoder_layers(config, type, {.layers = layers, .hidden = decoder.hidden, .experts = decoder.experts});
  FamilyModel model = is_llama(type, decoder) ? llama(decoder) : general(type, decoder);
  if (type.parts.has_embedding_norm) model.set_flag("embedding_norm", true);
  if (type.parts.has_output_cap) {
    const std::string_view key = "final_logit_softcapping";
    model.set_flag("output_cap", !config.is_null(key) && config.positive(key).value_or(true));
  }
  if (type.parts.has_joined_queries) model.set("separate", 0);
  return model;
}

}  // namespace ddl
