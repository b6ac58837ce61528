#include <array>
#include <string_view>

#include "cli/tools/network_of.hpp"
#include "core/words.hpp"

namespace ddl {
namespace {

using Json = nlohmann::ordered_json;

/// Writes a Hugging Face configuration from the parameters of a model family. `models import`
/// converts in the other direction.
class ConfigWriter {
 public:
  explicit ConfigWriter(const Model& model) : model_(model) {}

  [[nodiscard]] std::int64_t number(std::string_view name) const { return family_number(model_, name); }
  [[nodiscard]] bool flag(std::string_view name) const { return family_flag(model_, name); }
  void set(std::string_view key, Json value) { config_[std::string(key)] = std::move(value); }
  void count(std::string_view key, std::string_view name) { set(key, number(name)); }
  void share(std::string_view key, std::string_view name) {
    const std::string text = model_.family_parameter(name);
    set(key, number_in<double>(text).value_or(0));
  }
  /// Sets the activation. `gelu` in model files means the tanh approximation. Each written activation runs as one kernel.
  void activation(std::string_view key) {
    const std::string name = model_.family_parameter("activation");
    set(key, name == "gelu" ? "gelu_pytorch_tanh" : name);
  }
  /// Sets the keys that configurations of most decoders share.
  void decoder() {
    count("vocab_size", "vocabulary");
    count("hidden_size", "hidden");
    count("intermediate_size", "feed_forward");
    count("num_hidden_layers", "layers");
    count("num_attention_heads", "heads");
    count("max_position_embeddings", "tokens");
    activation("hidden_act");
    set("tie_word_embeddings", flag("tied"));
  }
  [[nodiscard]] HuggingFaceNetwork network(std::string_view type) const {
    return {.model_type = std::string(type), .config = config_};
  }

 private:
  const Model& model_;
  Json config_;
};

std::optional<HuggingFaceNetwork> llama_network(const Model& model) {
  ConfigWriter config(model);
  config.decoder();
  config.count("num_key_value_heads", "kv_heads");
  config.count("head_dim", "head_size");
  config.share("attention_dropout", "dropout");
  const bool has_experts = config.number("experts") > 1, has_window = config.number("window") > 0;
  const bool has_norms = config.flag("query_key_norm"), has_qkv_bias = config.flag("qkv_bias");
  const bool has_bias = config.flag("attention_bias"), has_wide_bias = config.flag("feed_forward_bias");
  if (config.number("turned") != config.number("head_size")) return std::nullopt;
  std::string_view type = "llama";
  if (has_experts) {
    config.count("num_experts_per_tok", "active");
    config.count(has_norms ? "num_experts" : "num_local_experts", "experts");
    if (has_norms) config.count("moe_intermediate_size", "feed_forward");
    type = has_norms ? "qwen3_moe" : "mixtral";
    if (has_qkv_bias || has_wide_bias || (has_window && has_norms)) return std::nullopt;
    if (has_window) config.count("sliding_window", "window");
  } else if (has_norms) {
    type = "qwen3";
    if (has_window || has_wide_bias) return std::nullopt;
    config.set("attention_bias", has_bias);
  } else if (has_window) {
    type = "mistral";
    if (has_qkv_bias || has_wide_bias) return std::nullopt;
    config.count("sliding_window", "window");
  } else if (has_qkv_bias && !has_bias) {
    type = "qwen2";
    if (has_wide_bias) return std::nullopt;
  } else {
    config.set("attention_bias", has_bias);
    config.set("mlp_bias", has_wide_bias);
  }
  HuggingFaceNetwork network = config.network(type);
  network.has_llama_projections = !has_experts;
  return network;
}

std::optional<HuggingFaceNetwork> gpt_network(const Model& model) {
  ConfigWriter config(model);
  config.count("vocab_size", "vocabulary");
  config.count("n_embd", "hidden");
  config.count("n_layer", "layers");
  config.count("n_head", "heads");
  config.count("n_inner", "feed_forward");
  config.count("n_positions", "positions");
  config.activation("activation_function");
  config.share("resid_pdrop", "dropout");
  config.share("attn_pdrop", "attention_dropout");
  config.share("embd_pdrop", "embedding_dropout");
  config.set("tie_word_embeddings", config.flag("tied"));
  return config.network("gpt2");
}

std::optional<HuggingFaceNetwork> bert_network(const Model& model) {
  const std::string head = model.family_parameter("head");
  if (head != "words" && head != "masked_words") return std::nullopt;
  ConfigWriter config(model);
  config.count("vocab_size", "vocabulary");
  config.count("hidden_size", "hidden");
  config.count("intermediate_size", "feed_forward");
  config.count("num_hidden_layers", "layers");
  config.count("num_attention_heads", "heads");
  config.count("max_position_embeddings", "positions");
  config.count("type_vocab_size", "types");
  config.activation("hidden_act");
  config.share("hidden_dropout_prob", "dropout");
  config.share("attention_probs_dropout_prob", "attention_dropout");
  HuggingFaceNetwork network = config.network("bert");
  network.is_masked = true;
  return network;
}

std::optional<HuggingFaceNetwork> opt_network(const Model& model) {
  ConfigWriter config(model);
  config.count("vocab_size", "vocabulary");
  config.count("hidden_size", "hidden");
  config.count("ffn_dim", "feed_forward");
  config.count("num_hidden_layers", "layers");
  config.count("num_attention_heads", "heads");
  config.set("max_position_embeddings", config.number("positions") - 2);  // OPT's table of positions has two additional rows
  config.count("word_embed_proj_dim", "embedding");
  config.activation("activation_function");
  config.set("do_layer_norm_before", config.flag("norm_first"));
  config.set("_remove_final_layer_norm", config.flag("norm_first") && !config.flag("final_norm"));
  config.set("enable_bias", config.flag("bias"));
  config.share("dropout", "dropout");
  config.share("attention_dropout", "attention_dropout");
  config.set("tie_word_embeddings", config.flag("tied"));
  return config.network("opt");
}

std::optional<HuggingFaceNetwork> gpt_neox_network(const Model& model) {
  ConfigWriter config(model);
  config.decoder();
  const auto head_size = static_cast<double>(config.number("hidden")) / static_cast<double>(config.number("heads"));
  config.set("rotary_pct", static_cast<double>(config.number("turned")) / head_size);
  config.set("use_parallel_residual", config.flag("parallel"));
  config.set("attention_bias", config.flag("attention_bias"));
  config.share("hidden_dropout", "dropout");
  config.share("attention_dropout", "attention_dropout");
  return config.network("gpt_neox");
}

std::optional<HuggingFaceNetwork> bloom_network(const Model& model) {
  ConfigWriter config(model);
  config.count("vocab_size", "vocabulary");
  config.count("hidden_size", "hidden");
  config.count("n_layer", "layers");
  config.count("n_head", "heads");
  config.share("hidden_dropout", "dropout");
  config.share("attention_dropout", "attention_dropout");
  config.set("tie_word_embeddings", config.flag("tied"));
  return config.network("bloom");
}

std::optional<HuggingFaceNetwork> gemma_network(const Model& model) {
  if (model.family_parameter("window") != "0" || family_flag(model, "post_norms") || family_flag(model, "query_key_norm") ||
      family_flag(model, "soft_cap")) {
    return std::nullopt;  // Gemma 2 and 3 are not written
  }
  ConfigWriter config(model);
  config.decoder();
  config.count("num_key_value_heads", "kv_heads");
  config.count("head_dim", "head_size");
  config.set("attention_bias", config.flag("attention_bias"));
  config.share("attention_dropout", "dropout");
  HuggingFaceNetwork network = config.network("gemma");
  network.has_llama_projections = true;
  return network;
}

struct FamilyOfLibrary {
  std::string_view family;
  std::optional<HuggingFaceNetwork> (*network)(const Model&);
};

}  // namespace

std::optional<HuggingFaceNetwork> hugging_face_network(const Model& model) {
  static constexpr std::array<FamilyOfLibrary, 7> families{{{"llama", llama_network},
                                                            {"gpt", gpt_network},
                                                            {"bert", bert_network},
                                                            {"opt", opt_network},
                                                            {"gpt-neox", gpt_neox_network},
                                                            {"bloom", bloom_network},
                                                            {"gemma", gemma_network}}};
  const std::string head = model.family_parameter("head");
  if (head == "classifier" || head == "none") return std::nullopt;
  for (const FamilyOfLibrary& each : families) {
    if (each.family == model.family) return each.network(model);
  }
  return std::nullopt;
}

std::int64_t family_number(const Model& model, std::string_view name) {
  return number_in(model.family_parameter(name)).value_or(0);
}

bool family_flag(const Model& model, std::string_view name) { return model.family_parameter(name) == "yes"; }

}  // namespace ddl
