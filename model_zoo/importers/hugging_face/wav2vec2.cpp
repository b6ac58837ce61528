#include <vector>

#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {
namespace {

/// Throws Error if a list of the waveform's convolutions is not the one that the family has.
void require_list(HuggingFaceConfig& config, std::string_view key, const std::vector<std::int64_t>& expected) {
  if (const auto numbers = config.numbers(key, 1); numbers && *numbers != expected)
    config.fail(key, "the convolutions of the bundled family have other sizes");
}

/// Accepts keys that change neither the layers nor their times: rates, masks of time and features, the parts of pretraining,
/// and keys of other heads.
void accept_speech_keys(HuggingFaceConfig& config) {
  for (const std::string_view key : {"final_dropout",
                                     "feat_proj_dropout",
                                     "feat_extract_dropout",
                                     "feat_quantizer_dropout",
                                     "layerdrop",
                                     "num_feat_extract_layers",
                                     "feat_extract_activation",
                                     "apply_spec_augment",
                                     "mask_time_prob",
                                     "mask_time_length",
                                     "mask_time_min_masks",
                                     "mask_feature_prob",
                                     "mask_feature_length",
                                     "mask_feature_min_masks",
                                     "num_clusters",
                                     "num_ctc_classes",
                                     "replace_prob",
                                     "max_bucket_distance",
                                     "num_codevectors_per_group",
                                     "num_codevector_groups",
                                     "contrastive_logits_temperature",
                                     "num_negatives",
                                     "codevector_dim",
                                     "proj_codevector_dim",
                                     "diversity_loss_weight",
                                     "ctc_loss_reduction",
                                     "ctc_zero_infinity",
                                     "use_weighted_layer_sum",
                                     "classifier_proj_size",
                                     "tdnn_dim",
                                     "tdnn_kernel",
                                     "tdnn_dilation",
                                     "xvector_output_dim",
                                     "adapter_kernel_size",
                                     "adapter_stride",
                                     "num_adapter_layers",
                                     "output_hidden_size",
                                     "do_stable_layer_norm",
                                     "max_source_positions",
                                     "rotary_embedding_base",
                                     "conformer_conv_dropout",
                                     "mask_channel_length",
                                     "mask_channel_min_space",
                                     "mask_channel_other",
                                     "mask_channel_prob",
                                     "mask_channel_selection",
                                     "mask_time_min_space",
                                     "mask_time_other",
                                     "mask_time_selection",
                                     "gradient_checkpointing",
                                     "tokenizer_class",
                                     "attention_dropout"})
    config.accept(key);
}

/// Reads the keys of wav2vec 2.0 and its successors. `classes`: the beginning of the names of a model's classes. The
/// convolutions of the waveform are frozen, as fine-tuning with the library does.
FamilyModel read_speech(HuggingFaceConfig& config, std::string_view classes, bool is_conformer) {
  FamilyModel model{.family = "wav2vec2", .frozen = "wave"};
  const std::int64_t hidden = config.size({"hidden_size"}, 768);
  const std::int64_t heads = config.heads({"num_attention_heads"}, 12, hidden);
  const std::string norm = config.text({"feat_extract_norm"}, "group");
  if (norm != "group" && norm != "layer") config.fail("feat_extract_norm", "known are group and layer");
  const double dropout = config.fraction({"hidden_dropout"}, 0.1);
  model.set("layers", config.layers({"num_hidden_layers"}, 12));
  model.set("hidden", hidden);
  model.set("heads", heads);
  model.set("feed_forward", config.size({"intermediate_size"}, 3072));
  model.set("wave_norm", norm == "layer" ? "all" : "first");
  model.set("norms", is_conformer || config.boolean("do_stable_layer_norm", false) ? "before" : "behind");
  if (is_conformer) {
    model.set("layer", "conformer");
    const std::string positions = config.text({"position_embeddings_type"}, "relative");
    if (positions != "rotary") config.fail("position_embeddings_type", "only rotary positions are read");
    model.set("turned", hidden / heads);
    config.require_number("conv_depthwise_kernel_size", 31, "the convolution of a layer reads 31 positions");
  }
  model.set("vocabulary", config.size({"vocab_size"}, 32));
  model.set_number("dropout", dropout);
  model.set_number("activation_dropout", config.fraction({"activation_dropout"}, 0.1));
  model.set("fused", is_conformer ? "no" : config.fused());
  const std::string head =
      config.head_with(classes, {{"ForCTC", "transcript"}, {"ForPreTraining", "pretraining"}, {"Model", "none"}});
  if (head != "transcript") config.warn("read with the head of transcripts (CTC), as for fine-tuning");
  if (config.fraction({"attention_dropout"}, 0.1) != dropout)
    config.warn("read as if the dropout of attention were that of the layers");
  if (config.activation({"hidden_act"}, is_conformer ? "swish" : "gelu") != (is_conformer ? "silu" : "gelu"))
    config.fail("hidden_act", "the perceptrons of the bundled family have another activation");
  require_list(config, "conv_dim", {512, 512, 512, 512, 512, 512, 512});
  require_list(config, "conv_stride", {5, 2, 2, 2, 2, 2, 2});
  require_list(config, "conv_kernel", {10, 3, 3, 3, 3, 2, 2});
  const bool has_bias = config.boolean("conv_bias", false);
  if (norm == "layer" && !has_bias) model.set_flag("wave_bias", false);
  if (norm == "group" && has_bias)
    config.unknown("conv_bias", "only convolutions that each have a norm have a bias in the bundled family");
  config.require("feat_proj_layer_norm", true, "a norm precedes the projection of features");
  config.require("conv_pos_batch_norm", false, "the convolution of positions has a norm of its weights");
  config.require_number("num_conv_pos_embeddings", 128, "the convolution of positions reads 128 positions");
  config.require_number("num_conv_pos_embedding_groups", 16, "the convolution of positions has 16 groups");
  config.require("add_adapter", false, "the bundled family has no adapter after its layers");
  if (config.has("adapter_attn_dim") && !config.is_null("adapter_attn_dim"))
    config.fail("adapter_attn_dim", "the layers of the bundled family have no adapters");
  accept_speech_keys(config);
  return model;
}

}  // namespace

// Defaults of Wav2Vec2Config, HubertConfig, UniSpeechConfig, UniSpeechSatConfig, WavLMConfig and Wav2Vec2ConformerConfig.
FamilyModel read_wav2vec2(HuggingFaceConfig& config) { return read_speech(config, "Wav2Vec2", false); }
FamilyModel read_hubert(HuggingFaceConfig& config) { return read_speech(config, "Hubert", false); }
FamilyModel read_unispeech(HuggingFaceConfig& config) { return read_speech(config, "UniSpeech", false); }
FamilyModel read_unispeech_sat(HuggingFaceConfig& config) { return read_speech(config, "UniSpeechSat", false); }
// All layers add distance biases of the first layer to their scores.
FamilyModel read_wavlm(HuggingFaceConfig& config) {
  FamilyModel model = read_speech(config, "WavLM", false);
  model.set("buckets", config.integer({"num_buckets"}, 320));
  config.warn("left out: the gates of distance biases, which each layer computes from its input");
  return model;
}
FamilyModel read_wav2vec2_conformer(HuggingFaceConfig& config) { return read_speech(config, "Wav2Vec2Conformer", true); }

}  // namespace ddl
