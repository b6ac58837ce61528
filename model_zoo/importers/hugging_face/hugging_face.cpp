#include "model_zoo/importers/hugging_face/hugging_face.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/files/model_file.hpp"
#include "model_zoo/importers/hugging_face/decoder_type.hpp"
#include "model_zoo/importers/hugging_face/families.hpp"
#include "model_zoo/network/model.hpp"

namespace ddl {

// Each reader is defined in the file of its family.
HuggingFaceReader read_bart, read_beit, read_biogpt, read_blenderbot, read_blenderbot_small, read_bloom, read_clip,
    read_clip_text, read_clip_vision, read_convnext, read_convnextv2, read_data2vec_vision, read_dbrx, read_deberta,
    read_deberta_v2, read_deepseek_v2, read_deepseek_v3, read_deepseek_v32, read_deit, read_dinov2, read_dinov3,
    read_distilbert, read_encoder_type, read_esm, read_falcon, read_falcon_mamba, read_flash_transformer, read_gemma,
    read_gemma2, read_gemma3, read_gemma3n, read_gemma4, read_glm4_moe_lite, read_glm_moe_dsa, read_gpt2, read_gpt_neo,
    read_gpt_neox, read_gpt_oss, read_grok, read_hubert, read_kimi_linear, read_lfm2, read_lfm2_moe, read_m2m_100,
    read_mamba, read_mamba2, read_marian, read_mbart, read_mimo_v2_flash, read_minicpm3, read_mistral4, read_modernbert,
    read_mpt, read_mt5, read_nemotron, read_nemotron_h, read_opt, read_pegasus, read_phi, read_plbart, read_resnet,
    read_rwkv7, read_sarvam_mla, read_segformer, read_siglip, read_siglip2, read_siglip2_text, read_siglip2_vision,
    read_siglip_text, read_siglip_vision, read_step3p5, read_swin, read_swinv2, read_t5, read_umt5, read_unispeech,
    read_unispeech_sat, read_vit, read_vit_msn, read_wav2vec2, read_wav2vec2_conformer, read_wavlm, read_whisper, read_youtu,
    read_zamba, read_zamba2;

namespace {

constexpr std::string_view library_version = "5.24";

/// Types with a reader of their own. All other types are rows of decoder_types().
constexpr auto families = std::to_array<HuggingFaceFamily>({{"albert", read_encoder_type},
                                                            {"bart", read_bart},
                                                            {"beit", read_beit},
                                                            {"bert", read_encoder_type},
                                                            {"biogpt", read_biogpt},
                                                            {"blenderbot", read_blenderbot},
                                                            {"blenderbot-small", read_blenderbot_small},
                                                            {"bloom", read_bloom},
                                                            {"camembert", read_encoder_type},
                                                            {"clip", read_clip},
                                                            {"clip_text_model", read_clip_text},
                                                            {"clip_vision_model", read_clip_vision},
                                                            {"convnext", read_convnext},
                                                            {"convnextv2", read_convnextv2},
                                                            {"data2vec-text", read_encoder_type},
                                                            {"data2vec-vision", read_data2vec_vision},
                                                            {"dbrx", read_dbrx},
                                                            {"deberta", read_deberta},
                                                            {"deberta-v2", read_deberta_v2},
                                                            {"deepseek_v2", read_deepseek_v2},
                                                            {"deepseek_v3", read_deepseek_v3},
                                                            {"deepseek_v32", read_deepseek_v32},
                                                            {"deit", read_deit},
                                                            {"dinov2", read_dinov2},
                                                            {"dinov2_with_registers", read_dinov2},
                                                            {"dinov3_vit", read_dinov3},
                                                            {"distilbert", read_distilbert},
                                                            {"electra", read_encoder_type},
                                                            {"ernie", read_encoder_type},
                                                            {"esm", read_esm},
                                                            {"falcon", read_falcon},
                                                            {"falcon_mamba", read_falcon_mamba},
                                                            {"gemma", read_gemma},
                                                            {"gemma2", read_gemma2},
                                                            {"gemma3_text", read_gemma3},
                                                            {"gemma3n_text", read_gemma3n},
                                                            {"gemma4_text", read_gemma4},
                                                            {"glm4_moe_lite", read_glm4_moe_lite},
                                                            {"glm_moe_dsa", read_glm_moe_dsa},
                                                            {"gpt2", read_gpt2},
                                                            {"gpt_neo", read_gpt_neo},
                                                            {"gpt_neox", read_gpt_neox},
                                                            {"gpt_oss", read_gpt_oss},
                                                            {"grok-1", read_grok},
                                                            {"gte", read_encoder_type},
                                                            {"hubert", read_hubert},
                                                            {"jina_embeddings_v3", read_encoder_type},
                                                            {"kimi_k2", read_deepseek_v3},
                                                            {"kimi_linear", read_kimi_linear},
                                                            {"lfm2", read_lfm2},
                                                            {"lfm2_moe", read_lfm2_moe},
                                                            {"m2m_100", read_m2m_100},
                                                            {"mamba", read_mamba},
                                                            {"mamba2", read_mamba2},
                                                            {"marian", read_marian},
                                                            {"mbart", read_mbart},
                                                            {"megatron-bert", read_encoder_type},
                                                            {"mimo_v2_flash", read_mimo_v2_flash},
                                                            {"minicpm3", read_minicpm3},
                                                            {"mistral4", read_mistral4},
                                                            {"modernbert", read_modernbert},
                                                            {"mpnet", read_encoder_type},
                                                            {"mpt", read_mpt},
                                                            {"mt5", read_mt5},
                                                            {"nemotron", read_nemotron},
                                                            {"nemotron_h", read_nemotron_h},
                                                            {"nomic_bert", read_encoder_type},
                                                            {"opt", read_opt},
                                                            {"pegasus", read_pegasus},
                                                            {"phi", read_phi},
                                                            {"plbart", read_plbart},
                                                            {"resnet", read_resnet},
                                                            {"roberta", read_encoder_type},
                                                            {"roberta-prelayernorm", read_encoder_type},
                                                            {"rwkv7", read_rwkv7},
                                                            {"sarvam_mla", read_sarvam_mla},
                                                            {"segformer", read_segformer},
                                                            {"siglip", read_siglip},
                                                            {"siglip_text_model", read_siglip_text},
                                                            {"siglip_vision_model", read_siglip_vision},
                                                            {"siglip2", read_siglip2},
                                                            {"siglip2_text_model", read_siglip2_text},
                                                            {"siglip2_vision_model", read_siglip2_vision},
                                                            {"step3p5", read_step3p5},
                                                            {"swin", read_swin},
                                                            {"swinv2", read_swinv2},
                                                            {"t5", read_t5},
                                                            {"transformer", read_flash_transformer},
                                                            {"umt5", read_umt5},
                                                            {"unispeech", read_unispeech},
                                                            {"unispeech-sat", read_unispeech_sat},
                                                            {"vit", read_vit},
                                                            {"vit_msn", read_vit_msn},
                                                            {"wav2vec2", read_wav2vec2},
                                                            {"wav2vec2-conformer", read_wav2vec2_conformer},
                                                            {"wavlm", read_wavlm},
                                                            {"whisper", read_whisper},
                                                            {"xlm-roberta", read_encoder_type},
                                                            {"xlm-roberta-xl", read_encoder_type},
                                                            {"youtu", read_youtu},
                                                            {"zamba", read_zamba},
                                                            {"zamba2", read_zamba2}});

/// A type that is not read, with the reason, and the bundled models of this type.
struct RefusedType {
  std::string_view model_type, reason;
  std::string_view bundled{};
};
constexpr std::string_view delta_rule = "no bundled model has these layers with a delta rule",
                           mamba_1 = "no bundled model combines Mamba layers with window attention",
                           rwkv = "the recurrence of RWKV is not among the operations of model files",
                           linear = "layers of linear attention are not among the operations of model files",
                           compressed =
                               "attention to compressed or selected tokens of this kind is not among the operations",
                           no_import = "no importer supports these layers";
constexpr auto refused_types = std::to_array<RefusedType>({
    {"axk1", "no bundled model has a norm after its experts"},
    {"bailing_hybrid", linear},
    {"deepseek_v4", compressed},
    {"delta_net", "the delta rule without gates is not among the operations of model files"},
    {"detr", no_import, "detr-resnet50"},
    {"gated_deltanet", delta_rule, "qwen3-next-80b-a3b"},
    {"gla", linear},
    {"gsa", linear},
    {"hgrn2", linear},
    {"mask2former", no_import, "mask2former-swin-b"},
    {"minimax_m3", compressed},
    {"mllama", no_import, "llama3.2-vision-11b"},
    {"nemotron-nas", "no bundled model has layers whose MLPs have different widths"},
    {"olmo_hybrid", delta_rule},
    {"recurrent_gemma", "the recurrence of Griffin is not among the operations of model files"},
    {"retnet", linear},
    {"rwkv", rwkv},
    {"rwkv5", rwkv},
    {"rwkv6", rwkv},
    {"samba", mamba_1},
    {"sam", no_import, "sam-vit-b"},
    {"sam2", no_import, "sam2-hiera-b"},
    {"step3_text", no_import, "step-3"},
    {"step3_vl", no_import, "step-3"},
    {"step3p7", no_import, "step-3.5-flash"},
});

/// Keys that contain the language model of a multimodal model.
constexpr auto language_keys =
    std::to_array<std::string_view>({"text_config", "llm_config", "language_config", "thinker_config"});

const DecoderType* decoder_of(std::string_view type) {
  for (const DecoderType& row : decoder_types()) {
    if (row.model_type == type) return &row;
  }
  return nullptr;
}
HuggingFaceReader* reader_of(std::string_view type) {
  for (const HuggingFaceFamily& family : families) {
    if (family.model_type == type) return family.read;
  }
  return nullptr;
}
bool is_known(std::string_view type) { return decoder_of(type) != nullptr || reader_of(type) != nullptr; }

void refuse_known(const HuggingFaceConfig& config, std::string_view type) {
  for (const RefusedType& refused : refused_types) {
    if (refused.model_type != type) continue;
    config.fail("model_type", fmt::format("models of the type {} are not read: {}", quote(type), refused.reason),
                refused.bundled.empty()
                    ? "use a bundled model of about the same size ('models list'), or write a model file"
                    : fmt::format("the bundled {0} is of this type: 'models show {0}'", refused.bundled));
  }
}

/// Returns the type of the model that is read, which is the whole model, or the language model inside it.
std::string entered_type(HuggingFaceConfig& config) {
  std::string type = config.text({"model_type"}, "");
  const std::string whole = type;
  refuse_known(config, type);
  for (std::size_t depth = 0; depth < 2 && !is_known(type); ++depth) {
    const auto* const key = std::find_if(language_keys.begin(), language_keys.end(),
                                         [&config](std::string_view each) { return config.has_object(each); });
    if (key == language_keys.end()) break;
    config.enter(*key);
    type = config.text({"model_type"}, fmt::format("{}_text", type));
    refuse_known(config, type);
    if (is_known(type)) {
      config.warn(fmt::format("only the language model ({}, of the type {}) of a {} was read", quote(*key), type,
                              whole.empty() ? "multimodal model" : quote(whole)));
    }
  }
  // In older files of multimodal models, the sizes of the language model are not inside an object.
  if (const std::string text = type + "_text"; !is_known(type) && is_known(text)) {
    type = text;
    for (const std::string_view media : {"vision_config", "audio_config"}) config.accept(media);
    config.warn(fmt::format("only the language model (of the type {}) of a {} was read", type, quote(whole)));
  }
  return type;
}

FamilyModel read(HuggingFaceConfig& config, std::string& type) {
  type = entered_type(config);
  if (const DecoderType* const row = decoder_of(type)) return read_decoder_type(config, *row);
  if (HuggingFaceReader* const reader = reader_of(type)) return reader(config);
  const std::vector<std::string_view> known = hugging_face_model_types();
  const std::string all = fmt::format("known: {}", fmt::join(known, ", "));
  if (type.empty()) config.fail("model_type", "the configuration has no 'model_type'", all);
  // Types with similar names may have other layers, so only a typing error is corrected.
  const std::string near = suggest(type, known);
  const std::optional<std::string> meant = nearest(type, known);
  const bool is_typo = meant && edit_distance(type, *meant) == 1;
  config.fail("model_type", fmt::format("unknown model_type {}", quote(type)),
              is_typo ? near
                      : "use a bundled model of about the same size ('models list'), or write a model file; "
                        "docs/models.md lists the types that are read");
}

/// Returns the letters, digits and separators in the last part of a path such as `meta-llama/Llama-2-7b-hf`.
std::string plain_name(std::string_view text) {
  while (!text.empty() && text.back() == '/') text.remove_suffix(1);
  text.remove_prefix(text.rfind('/') + 1);
  std::string name;
  for (const char c : text.substr(0, max_model_name_length)) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (letter || ((c == '-' || c == '_' || c == '.') && !name.empty())) {
      name += c;
    } else if (c >= 'A' && c <= 'Z') {
      name += static_cast<char>(c - 'A' + 'a');
    }
  }
  while (!name.empty() && (name.back() == '-' || name.back() == '.')) name.pop_back();
  return name == "null" ? std::string() : name;
}

/// Returns the folder's name for a `config.json`, because all models have a file of that name; otherwise the file's name.
std::string name_of_path(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const std::string_view file = path.substr(slash + 1);
  if (file == "config.json") return slash == std::string_view::npos ? std::string() : plain_name(path.substr(0, slash));
  return plain_name(file.substr(0, file.rfind('.')));
}

std::string model_text(const std::string& name, std::string_view type, const FamilyModel& model) {
  std::string text = fmt::format(
      "format: 1\nmodel: {}\ndescription: Imported from a configuration of the type {}\n"
      "source: the configuration, interpreted as in Hugging Face's transformers {}\nfamily: {}\n",
      name, type, library_version, model.family);
  if (!model.input.empty()) text += fmt::format("input: {}\n", model.input);
  if (!model.frozen.empty()) text += fmt::format("frozen: {}\n", model.frozen);
  text += "parameters:\n";
  for (const auto& [parameter, value] : model.parameters) text += fmt::format("  {}: {}\n", parameter, value);
  return text;
}

/// Throws Error if the values contradict each other in a way that is only found when shapes are inferred.
void check(const std::string& text, const std::string& name, const HuggingFaceConfig& config) {
  try {
    static_cast<void>(parse_model(text, name + ".yaml"));
  } catch (const Error& error) {
    // The message consists of the first line of the error without its position, because the
    // position refers to a file that the user has not seen.
    std::string message = error.what();
    message = message.substr(0, message.find('\n'));
    if (const std::size_t place = message.find(": "); place != std::string::npos) message.erase(0, place + 2);
    config.fail("", fmt::format("no model can have these sizes: {}", message));
  }
}

}  // namespace

std::vector<std::string_view> hugging_face_model_types() {
  std::vector<std::string_view> types;
  for (const HuggingFaceFamily& family : families) types.push_back(family.model_type);
  for (const DecoderType& row : decoder_types()) types.push_back(row.model_type);
  std::sort(types.begin(), types.end());
  return types;
}

Import import_hugging_face(std::string text, const std::string& origin, const ImportOptions& options) {
  HuggingFaceConfig config(std::move(text), origin, options);
  std::string name = options.name.empty() ? plain_name(config.text({"_name_or_path"}, "")) : options.name;
  std::string type;
  const FamilyModel model = read(config, type);
  if (name.empty()) name = name_of_path(origin);
  if (name.empty()) name = plain_name(type);
  config.warn_of_defaults();
  config.warn_of_rest();
  Import result{.model_file = model_text(name, type, model), .warnings = config.warnings()};
  check(result.model_file, name, config);
  return result;
}

}  // namespace ddl
