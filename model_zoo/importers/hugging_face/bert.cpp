#include <array>
#include <utility>

#include "core/source_text.hpp"
#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {
namespace {

/// How an encoder numbers its positions.
enum class EncoderPositions {
  numbered,
  padded,  ///< from the padding token's number plus 1 on
  rotary
};

/// The library's defaults of the sizes of an encoder.
struct EncoderSizes {
  std::int64_t vocabulary = 30522, hidden = 768, layers = 12, heads = 12, feed_forward = 3072, tokens = 512;
  std::int64_t types = 2;      ///< kinds of tokens; 0: the type has none
  std::int64_t word_size = 0;  ///< channels of the embedding; 0: the type has no key for them
};

/// The properties in which an encoder may differ from BERT.
struct EncoderParts {
  std::string_view activation = "gelu";
  double dropout = 0.1, attention_dropout = 0.1;
  EncoderPositions positions = EncoderPositions::numbered;
  bool is_norm_before = false, has_embedding_norm = true, is_gated = false;
  bool has_bias = true, has_up_bias = true, has_down_bias = true;
  std::int64_t buckets = 0;           ///< distances with a trained bias; 0: the type has none
  bool is_shared = false;             ///< whether all layers have the weights of the first
  bool has_pooler = true;             ///< whether the class `Model` has one
  std::string_view pretraining = "";  ///< the head of the class `ForPreTraining`; empty: there is no such class
  std::string_view pooler_activation = "tanh";
  bool has_gpt_keys = false;  ///< whether files of the model's authors have the keys n_embd, n_head, n_layer and n_inner
};

/// A type of encoder, as a row of a table.
struct EncoderType {
  std::string_view model_type;
  std::string_view classes;  ///< the beginning of the names of a model's classes: `Bert`
  EncoderSizes sizes{};
  EncoderParts parts{};
};

// Sources: configuration_*.py and modeling_*.py of transformers 5.24.
constexpr EncoderType encoder_types[] = {
    {"albert",
     "Albert",
     {.vocabulary = 30000, .hidden = 4096, .heads = 64, .feed_forward = 16384, .word_size = 128},
     {.activation = "gelu_new", .dropout = 0, .attention_dropout = 0, .is_shared = true, .pretraining = "pretraining"}},
    {"bert", "Bert", {}, {.pretraining = "pretraining"}},
    {"camembert", "Camembert", {}, {.positions = EncoderPositions::padded}},
    {"data2vec-text", "Data2VecText", {}, {.positions = EncoderPositions::padded}},
    {"electra",
     "Electra",
     {.hidden = 256, .heads = 4, .feed_forward = 1024, .word_size = 128},
     {.has_pooler = false, .pretraining = "replaced", .pooler_activation = "gelu"}},
    {"ernie", "Ernie", {}, {.pretraining = "pretraining"}},
    {"gte",
     "Gte",
     {.vocabulary = 250048, .tokens = 8192, .types = 1},
     {.attention_dropout = 0,
      .positions = EncoderPositions::rotary,
      .is_gated = true,
      .has_up_bias = false,
      .has_pooler = false}},
    {"jina_embeddings_v3",
     "JinaEmbeddingsV3",
     {.vocabulary = 250002, .hidden = 1024, .layers = 24, .heads = 16, .feed_forward = 4096, .tokens = 8194, .types = 1},
     {.positions = EncoderPositions::rotary}},
    {"megatron-bert",
     "MegatronBert",
     {.vocabulary = 29056, .hidden = 1024, .layers = 24, .heads = 16, .feed_forward = 4096},
     {.is_norm_before = true, .has_embedding_norm = false, .pretraining = "pretraining"}},
    {"mpnet", "MPNet", {.vocabulary = 30527, .types = 0}, {.positions = EncoderPositions::padded, .buckets = 32}},
    {"nomic_bert",
     "NomicBert",
     {.vocabulary = 30528, .tokens = 2048},
     {.activation = "silu",
      .dropout = 0,
      .attention_dropout = 0,
      .positions = EncoderPositions::rotary,
      .is_gated = true,
      .has_bias = false,
      .has_up_bias = false,
      .has_down_bias = false,
      .has_pooler = false,
      .has_gpt_keys = true}},
    {"roberta", "Roberta", {.vocabulary = 50265}, {.positions = EncoderPositions::padded}},
    {"roberta-prelayernorm",
     "RobertaPreLayerNorm",
     {.vocabulary = 50265},
     {.positions = EncoderPositions::padded, .is_norm_before = true}},
    {"xlm-roberta", "XLMRoberta", {}, {.positions = EncoderPositions::padded}},
    {"xlm-roberta-xl",
     "XLMRobertaXL",
     {.vocabulary = 250880, .hidden = 2560, .layers = 36, .heads = 32, .feed_forward = 10240, .tokens = 514, .types = 1},
     {.positions = EncoderPositions::padded, .is_norm_before = true, .has_embedding_norm = false}}};

/// The row of the type that a configuration has. A configuration without a type is that of BERT.
const EncoderType& encoder_type_of(HuggingFaceConfig& config) {
  const std::string name = config.text({"model_type"}, "bert");
  for (const EncoderType& type : encoder_types) {
    if (type.model_type == name) return type;
  }
  config.fail("model_type", fmt::format("unknown encoder {}", quote(name)));
}

void read_encoder_sizes(HuggingFaceConfig& config, const EncoderType& type, FamilyModel& model) {
  const EncoderSizes& usual = type.sizes;
  const auto own = [&](std::string_view key) { return type.parts.has_gpt_keys ? key : std::string_view(); };
  const std::int64_t hidden = config.size({"hidden_size", own("n_embd")}, usual.hidden);
  const std::int64_t heads = config.heads({"num_attention_heads", own("n_head")}, usual.heads, hidden);
  model.set("layers", config.layers({"num_hidden_layers", own("n_layer")}, usual.layers));
  model.set("hidden", hidden);
  model.set("heads", heads);
  model.set("feed_forward", config.size({"intermediate_size", own("n_inner")}, usual.feed_forward));
  model.set("vocabulary", config.size({"vocab_size"}, usual.vocabulary));
  if (usual.word_size > 0) model.set("word_size", config.integer({"embedding_size"}, usual.word_size));
  model.set("types", usual.types == 0 ? 0 : config.integer({"type_vocab_size"}, usual.types));
  const std::int64_t tokens = config.tokens({"max_position_embeddings", own("n_positions")}, usual.tokens);
  if (type.parts.positions == EncoderPositions::rotary) {
    if (config.integer({"head_dim"}, hidden / heads) != hidden / heads)
      config.fail("head_dim", "the heads of the bundled family together have the channels of the layers");
    model.set("tokens", tokens);
    model.set("positions", std::int64_t{0});
    model.set("turned", hidden / heads);
    config.accept("rope_parameters");
  } else if (type.parts.positions == EncoderPositions::padded) {
    const std::int64_t padding = config.integer({"pad_token_id"}, 1, 0);
    if (tokens <= padding + 1)
      config.fail("max_position_embeddings", fmt::format("of {} positions, none is left after the padding token", tokens));
    model.set("tokens", tokens - padding - 1);
    model.set("positions", tokens);
  } else {
    model.set("tokens", tokens);
  }
}

/// The activation of a feed-forward network, and whether its values gate others.
struct EncoderGate {
  std::string activation;
  bool is_gated;
};

/// Files of Nomic AI name the gate with the activation, and state more parts, which are read in one form only
/// [nomic-ai/nomic-bert-2048, configuration_hf_nomic_bert.py, modeling_hf_nomic_bert.py].
EncoderGate read_gate(HuggingFaceConfig& config, const EncoderParts& usual) {
  const std::string activation = config.activation({"hidden_act"}, usual.activation);
  if (!usual.has_gpt_keys) return {activation, usual.is_gated};
  for (const std::string_view key : {"qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias"})
    config.require(key, false, "the matrices of the layers have no biases");
  config.require("prenorm", false, "norms follow attention and the feed-forward network");
  config.require("use_rms_norm", false, "norms subtract the mean");
  config.require_number("rotary_emb_fraction", 1, "all channels of a head are rotated");
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> gates{
      {{"glu", "sigmoid"}, {"swiglu", "silu"}, {"geglu", "gelu"}}};
  const std::string name = config.text({"activation_function"}, "");
  if (name.empty()) return {activation, usual.is_gated};
  for (const auto& [gate, function] : gates) {
    if (name == gate) return {std::string(function), true};
  }
  return {config.activation({"activation_function"}, "gelu"), false};
}

void read_encoder_parts(HuggingFaceConfig& config, const EncoderType& type, FamilyModel& model) {
  const EncoderParts& usual = type.parts;
  const EncoderGate gate = read_gate(config, usual);
  model.set("activation", gate.activation);
  if (usual.is_norm_before) model.set("norms", "before");
  if (!usual.has_embedding_norm) model.set_flag("embedding_norm", false);
  if (gate.is_gated) model.set_flag("gated", true);
  if (!usual.has_bias) model.set_flag("bias", false);
  if (usual.has_up_bias != usual.has_bias) model.set_flag("up_bias", usual.has_up_bias);
  if (usual.has_down_bias != usual.has_bias) model.set_flag("down_bias", usual.has_down_bias);
  if (usual.buckets > 0) {
    // A bias is added to each score, so scores are written.
    model.set("buckets", config.integer({"relative_attention_num_buckets"}, usual.buckets));
  } else {
    model.set("fused", config.fused());
  }
  if (usual.is_shared) {
    model.set_flag("shared", true);
    config.require_number("num_hidden_groups", 1, "all layers of the bundled family have the same weights");
    config.require_number("inner_group_num", 1, "all layers of the bundled family have the same weights");
    config.accept("classifier_dropout_prob");
  }
  model.set_number("dropout", config.fraction({"hidden_dropout_prob"}, usual.dropout));
  model.set_number("attention_dropout", config.fraction({"attention_probs_dropout_prob"}, usual.attention_dropout));
  if (usual.pooler_activation != "tanh") model.set("pooler_activation", usual.pooler_activation);
}

}  // namespace

FamilyModel read_encoder_type(HuggingFaceConfig& config) {
  const EncoderType& type = encoder_type_of(config);
  FamilyModel model{.family = "bert"};
  read_encoder_sizes(config, type, model);
  read_encoder_parts(config, type, model);
  const bool pretrains = !type.parts.pretraining.empty();
  model.set("head", config.head_with(type.classes, {{pretrains ? "ForPreTraining" : "ForMaskedLM",
                                                     pretrains ? type.parts.pretraining : "masked_words"},
                                                    {"ForMaskedLM", "masked_words"},
                                                    {"Model", type.parts.has_pooler ? "none" : "bare"},
                                                    {"ForSequenceClassification", "sequence"},
                                                    {"ForTokenClassification", "tokens"},
                                                    {"ForQuestionAnswering", "tokens"}}));
  model.set("classes", config.labels());
  const std::string positions = config.text({"position_embedding_type"}, "absolute");
  if (positions != "absolute" && type.parts.positions != EncoderPositions::rotary) {
    config.unknown("position_embedding_type", fmt::format("unknown kind of positions {}", quote(positions)),
                   "known: absolute");
    config.warn("read as if positions were absolute");
  }
  config.require("is_decoder", false, "each token attends to all others");
  config.require("add_cross_attention", false, "these layers read no encoder");
  config.require("tie_word_embeddings", true, "the head shares the embedding");
  // ERNIE has the layers of BERT.
  config.require("use_task_id", false, "embeddings of tasks are not supported");
  for (const std::string_view key : {"summary_last_dropout", "summary_activation"}) config.accept(key);
  return model;
}

// Defaults of DistilBertConfig: tokens have no types, and there is no pooler.
FamilyModel read_distilbert(HuggingFaceConfig& config) {
  FamilyModel model{.family = "bert"};
  const std::int64_t hidden = config.size({"dim", "hidden_size"}, 768);
  model.set("layers", config.layers({"n_layers", "num_hidden_layers"}, 6));
  model.set("hidden", hidden);
  model.set("heads", config.heads({"n_heads", "num_attention_heads"}, 12, hidden));
  model.set("feed_forward", config.size({"hidden_dim"}, 3072));
  model.set("vocabulary", config.size({"vocab_size"}, 30522));
  model.set("tokens", config.tokens({"max_position_embeddings"}, 512));
  model.set("types", std::int64_t{0});
  model.set("activation", config.activation({"activation"}, "gelu"));
  model.set("fused", config.fused());
  model.set_number("dropout", config.fraction({"dropout"}, 0.1));
  model.set_number("attention_dropout", config.fraction({"attention_dropout"}, 0.1));
  model.set("head", config.head_with("DistilBert", {{"ForMaskedLM", "masked_words"},
                                                    {"Model", "bare"},
                                                    {"ForSequenceClassification", "sequence"},
                                                    {"ForTokenClassification", "tokens"},
                                                    {"ForQuestionAnswering", "tokens"}}));
  model.set("classes", config.labels());
  config.require("tie_word_embeddings", true, "the head shares the embedding");
  config.require("sinusoidal_pos_embds", false, "positions are trained");
  return model;
}

}  // namespace ddl
