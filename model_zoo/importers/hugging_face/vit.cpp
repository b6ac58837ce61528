#include <fmt/format.h>

#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {
void read_channels(HuggingFaceConfig& config, FamilyModel& model) {
  constexpr std::int64_t usual = 3;
  const std::int64_t channels = config.size({"num_channels"}, usual);
  if (channels != usual) model.input = fmt::format("{{channels: {}, size: $size x $size}}", channels);
}

/// Reads images, patches and the size of the encoder. Returns the hidden size.
std::int64_t read_encoder(HuggingFaceConfig& config, FamilyModel& model, std::int64_t usual_patch) {
  const std::int64_t hidden = config.size({"hidden_size"}, 768);
  const std::int64_t size = config.size({"image_size"}, 224);
  const std::int64_t patch = config.size({"patch_size"}, usual_patch);
  if (size % patch != 0) {
    config.fail(config.has("patch_size") ? "patch_size" : "image_size",
                fmt::format("patches of {} do not divide an image of {}", patch, size));
  }
  read_channels(config, model);
  model.set("size", size);
  model.set("patch", patch);
  model.set("layers", config.layers({"num_hidden_layers"}, 12));
  model.set("hidden", hidden);
  model.set("heads", config.heads({"num_attention_heads"}, 12, hidden));
  return hidden;
}

/// Reads the keys of ViTConfig, whose defaults DeiTConfig and ViTMSNConfig have, too.
FamilyModel read_vit_keys(HuggingFaceConfig& config) {
  FamilyModel model{.family = "vit"};
  (void)read_encoder(config, model, 16);
  model.set("feed_forward", config.size({"intermediate_size"}, 3072));
  model.set("activation", config.activation({"hidden_act"}, "gelu"));
  model.set_flag("qkv_bias", config.boolean("qkv_bias", true));
  model.set("fused", config.fused());
  model.set_number("dropout", config.fraction({"hidden_dropout_prob"}, 0));
  model.set_number("attention_dropout", config.fraction({"attention_probs_dropout_prob"}, 0));
  model.set("classes", config.labels());
  return model;
}

// A model without a classifier has a pooler, like ViTModel.
FamilyModel read_vit(HuggingFaceConfig& config) {
  FamilyModel model = read_vit_keys(config);
  model.set("head", config.head_with("ViT", {{"ForImageClassification", "classifier"}, {"Model", "none"}}));
  return model;
}

// A second trained token has a classifier of its own only in the class with a teacher.
FamilyModel read_deit(HuggingFaceConfig& config) {
  FamilyModel model = read_vit_keys(config);
  const std::string head = config.head_with(
      "DeiT",
      {{"ForImageClassificationWithTeacher", "distilled"}, {"ForImageClassification", "classifier"}, {"Model", "none"}});
  model.set_flag("distilled", head == "distilled");
  model.set("head", head == "distilled" ? "classifier" : head);
  if (head == "distilled") return model;
  model.set("registers", std::int64_t{1});
  model.set_flag("register_positions", true);
  return model;
}

// The class ViTMSNModel has no pooler, and is not read.
FamilyModel read_vit_msn(HuggingFaceConfig& config) {
  FamilyModel model = read_vit_keys(config);
  model.set("head", config.head_with("ViTMSN", {{"ForImageClassification", "classifier"}}));
  return model;
}

namespace {

/// Reads BEiT and its successor, whose class names begin with `classes`. Their keys have no biases. As in the library,
/// three further distances are those from, to and of the class token.
FamilyModel read_beit_keys(HuggingFaceConfig& config, std::string_view classes) {
  FamilyModel model{.family = "vit"};
  static_cast<void>(read_encoder(config, model, 16));
  const std::int64_t side = config.size({"image_size"}, 224) / config.size({"patch_size"}, 16);
  model.set("feed_forward", config.size({"intermediate_size"}, 3072));
  model.set("activation", config.activation({"hidden_act"}, "gelu"));
  model.set_flag("key_bias", false);
  model.set_flag("layer_scale", config.positive("layer_scale_init_value").value_or(true));
  if (!config.boolean("use_absolute_position_embeddings", false)) model.set("class_position", "none");
  if (config.boolean("use_relative_position_bias", false)) {
    model.set("distances", (2 * side - 1) * (2 * side - 1) + 3);
  } else {
    model.set("fused", config.fused());
  }
  const bool is_mean = config.boolean("use_mean_pooling", true);
  // The class token is no part of the mean.
  if (is_mean) model.set("registers", std::int64_t{1});
  model.set("pooled", is_mean ? "mean" : "class");
  model.set_number("dropout", config.fraction({"hidden_dropout_prob"}, 0));
  model.set_number("attention_dropout", config.fraction({"attention_probs_dropout_prob"}, 0));
  model.set("head", config.head_with(classes, {{"ForImageClassification", "classifier"}}));
  model.set("classes", config.labels());
  config.require("use_shared_relative_position_bias", false, "each layer of the bundled family has its own biases");
  config.require("use_mask_token", false, "the bundled family has no token of masked patches");
  config.require("add_fpn", false, "the bundled family classifies images");
  // Keys of the classes for masked images and segmentation.
  for (const std::string_view key :
       {"vocab_size", "drop_path_rate", "pool_scales", "use_auxiliary_head", "auxiliary_loss_weight", "auxiliary_channels",
        "auxiliary_num_convs", "auxiliary_concat_input", "semantic_loss_ignore_index", "out_features", "out_indices",
        "stage_names", "reshape_hidden_states"})
    config.accept(key);
  return model;
}

}  // namespace

FamilyModel read_beit(HuggingFaceConfig& config) { return read_beit_keys(config, "Beit"); }
FamilyModel read_data2vec_vision(HuggingFaceConfig& config) { return read_beit_keys(config, "Data2VecVision"); }

// The defaults are those of DINOv3ViTConfig.
FamilyModel read_dinov3(HuggingFaceConfig& config) {
  FamilyModel model{.family = "dinov3"};
  const std::int64_t hidden = config.size({"hidden_size"}, 384);
  const std::int64_t size = config.size({"image_size"}, 224);
  read_channels(config, model);
  model.set("size", size);
  model.set("patch", config.size({"patch_size"}, 16));
  model.set("layers", config.layers({"num_hidden_layers"}, 12));
  model.set("hidden", hidden);
  model.set("heads", config.heads({"num_attention_heads"}, 6, hidden));
  model.set("feed_forward", config.size({"intermediate_size"}, 1536));
  model.set_flag("gated", config.boolean("use_gated_mlp", false));
  model.set("activation", config.activation({"hidden_act"}, "gelu"));
  const bool has_query_bias = config.boolean("query_bias", true);
  model.set_flag("qkv_bias", has_query_bias);
  model.set("registers", config.integer({"num_register_tokens"}, 0, 0));
  static_cast<void>(config.head_with("DINOv3ViT", {{"Model", "none"}}));
  config.require("value_bias", has_query_bias, "queries and values of the bundled models both have biases, or neither has");
  config.require("key_bias", false, "the keys of the bundled models have no biases");
  config.require("proj_bias", true, "the projection of the bundled models has a bias");
  config.require("mlp_bias", true, "the MLPs of the bundled models have biases");
  for (const std::string_view key :
       {"attention_dropout", "drop_path_rate", "layerscale_value", "pos_embed_jitter", "pos_embed_rescale",
        "pos_embed_shift", "out_features", "out_indices", "stage_names", "apply_layernorm", "reshape_hidden_states"})
    config.accept(key);
  return model;
}

// The defaults are those of Dinov2Config and Dinov2WithRegistersConfig. As in the library, a gated MLP has two thirds of the
// channels of other MLPs, rounded up to a multiple of 8.
FamilyModel read_dinov2(HuggingFaceConfig& config) {
  FamilyModel model{.family = "dinov2"};
  const bool has_registers = config.text({"model_type"}, "") == "dinov2_with_registers";
  const std::int64_t hidden = read_encoder(config, model, has_registers ? 16 : 14);
  constexpr std::int64_t widest = 1024;
  const std::int64_t width = hidden * config.integer({"mlp_ratio"}, 4, 1, widest);
  const bool is_gated = config.boolean("use_swiglu_ffn", false);
  const std::string activation = config.activation({"hidden_act"}, "gelu");
  model.set("feed_forward", is_gated ? (width * 2 / 3 + 7) / 8 * 8 : width);
  model.set_flag("gated", is_gated);
  model.set("activation", is_gated ? "silu" : activation);
  model.set_flag("qkv_bias", config.boolean("qkv_bias", true));
  model.set("registers", has_registers ? config.integer({"num_register_tokens"}, 4, 0) : 0);
  model.set("fused", config.fused());
  model.set_number("dropout", config.fraction({"hidden_dropout_prob"}, 0));
  model.set_number("attention_dropout", config.fraction({"attention_probs_dropout_prob"}, 0));
  model.set("head", config.head_with(has_registers ? "Dinov2WithRegisters" : "Dinov2",
                                     {{"Model", "none"}, {"Backbone", "none"}, {"ForImageClassification", "classifier"}}));
  model.set("classes", config.labels());
  if (has_registers || config.boolean("use_mask_token", true))
    config.warn("left out: the trained token that replaces masked patches");
  for (const std::string_view key : {"drop_path_rate", "layerscale_value", "out_features", "out_indices", "stage_names",
                                     "apply_layernorm", "reshape_hidden_states"})
    config.accept(key);
  return model;
}

}  // namespace ddl
