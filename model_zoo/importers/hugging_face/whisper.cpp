#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {

// The defaults are those of WhisperConfig. The spectrogram has two steps for each position of the encoder, and the
// positions are a table that is not trained.
FamilyModel read_whisper(HuggingFaceConfig& config) {
  FamilyModel model{.family = "whisper", .frozen = "positions"};
  const std::int64_t hidden = config.size({"d_model"}, 384);
  const std::int64_t heads = config.heads({"encoder_attention_heads"}, 6, hidden);
  const std::int64_t feed_forward = config.size({"encoder_ffn_dim"}, 1536);
  model.set("frequencies", config.size({"num_mel_bins"}, 80));
  model.set("steps", 2 * config.size({"max_source_positions"}, 1500));
  model.set("layers", config.layers({"encoder_layers"}, 4));
  model.set("decoder_layers", config.layers({"decoder_layers"}, 4));
  model.set("hidden", hidden);
  model.set("heads", heads);
  model.set("feed_forward", feed_forward);
  model.set("vocabulary", config.size({"vocab_size"}, 51865));
  model.set("fused", config.fused());
  static_cast<void>(config.head_with("Whisper", {{"ForConditionalGeneration", "language_model"}}));
  config.require("tie_word_embeddings", true, "the head of the bundled models shares the embedding");
  constexpr std::string_view equal = "the bundled models have an encoder and a decoder of equal sizes";
  config.require_number("decoder_attention_heads", static_cast<double>(heads), equal);
  config.require_number("decoder_ffn_dim", static_cast<double>(feed_forward), equal);
  config.require_number("max_target_positions", 448, "the decoder of the bundled models has 448 positions");
  if (config.activation({"activation_function"}, "gelu") != "gelu")
    config.unknown("activation_function", "the MLPs of the bundled models have gelu");
  // The file repeats the number of layers. Masked frequencies, weights of layers and timestamps add nothing to a step.
  for (const std::string_view key :
       {"num_hidden_layers", "dropout", "attention_dropout", "activation_dropout", "encoder_layerdrop", "decoder_layerdrop",
        "scale_embedding", "apply_spec_augment", "mask_time_prob", "mask_time_length", "mask_time_min_masks",
        "mask_feature_prob", "mask_feature_length", "mask_feature_min_masks", "median_filter_width", "classifier_proj_size",
        "use_weighted_layer_sum", "forced_decoder_ids", "alignment_heads"})
    config.accept(key);
  return model;
}

}  // namespace ddl
