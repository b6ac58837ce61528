#include "model_zoo/importers/hugging_face/hugging_face.hpp"

#include <algorithm>
#include <array>

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
HuggingFaceReader read_bert, read_bloom, read_camembert, read_dbrx, read_deepseek_v2, read_deepseek_v3, read_distilbert,
    read_falcon, read_glm4_moe_lite, read_gemma, read_gemma2, read_gemma3, read_gpt2, read_gpt_neox, read_gpt_oss, read_grok,
    read_mamba2, read_minicpm3, read_mpt, read_nemotron, read_nemotron_h, read_opt, read_phi, read_roberta, read_sarvam_mla,
    read_t5, read_vit, read_xlm_roberta, read_youtu;

namespace {

constexpr std::string_view library_version = "5.24";

/// Types with a reader of their own. All other types are rows of decoder_types().
constexpr auto families = std::to_array<HuggingFaceFamily>({{"bert", read_bert},
                                                            {"bloom", read_bloom},
                                                            {"camembert", read_camembert},
                                                            {"dbrx", read_dbrx},
                                                            {"deepseek_v2", read_deepseek_v2},
                                                            {"deepseek_v3", read_deepseek_v3},
                                                            {"distilbert", read_distilbert},
                                                            {"falcon", read_falcon},
                                                            {"gemma", read_gemma},
                                                            {"gemma2", read_gemma2},
                                                            {"gemma3_text", read_gemma3},
                                                            {"glm4_moe_lite", read_glm4_moe_lite},
                                                            {"gpt2", read_gpt2},
                                                            {"gpt_neox", read_gpt_neox},
                                                            {"gpt_oss", read_gpt_oss},
                                                            {"grok-1", read_grok},
                                                            {"kimi_k2", read_deepseek_v3},
                                                            {"mamba2", read_mamba2},
                                                            {"minicpm3", read_minicpm3},
                                                            {"mpt", read_mpt},
                                                            {"nemotron", read_nemotron},
                                                            {"nemotron_h", read_nemotron_h},
                                                            {"opt", read_opt},
                                                            {"phi", read_phi},
                                                            {"roberta", read_roberta},
                                                            {"sarvam_mla", read_sarvam_mla},
                                                            {"t5", read_t5},
                                                            {"vit", read_vit},
                                                            {"xlm-roberta", read_xlm_roberta},
                                                            {"youtu", read_youtu}});

/// A type that no family can express, with the reason.
struct RefusedType {
  std::string_view model_type, reason;
};
constexpr std::string_view delta_rule = "the delta rule of these models is not among the operations of model files",
                           mamba_1 = "layers with the recurrence of Mamba-1 are not among the operations of model files",
                           rwkv = "the recurrence of RWKV is not among the operations of model files",
                           layer_embeddings = "no bundled family has layers with their own embedding tables",
                           disentangled = "attention with separate keys of relative positions is not among the operations",
                           contrast = "a loss that compares all images and texts of a batch is not among the operations",
                           indexed =
                               "attention to tokens that an indexer chooses is not among the operations of model files";
constexpr auto refused_types = std::to_array<RefusedType>({
    {"albert", "no bundled family has layers that share the weights of a single layer"},
    {"bailing_hybrid", "layers of linear attention are not among the operations of model files"},
    {"clip", contrast},
    {"deberta", disentangled},
    {"deberta-v2", disentangled},
    {"deepseek_v32", indexed},
    {"deepseek_v4", indexed},
    {"dinov2", "a trained token in the place of hidden patches is not among the operations of model files"},
    {"falcon_mamba", mamba_1},
    {"gemma3n", layer_embeddings},
    {"gemma3n_text", layer_embeddings},
    {"gemma4", layer_embeddings},
    {"gemma4_text", layer_embeddings},
    {"glm_moe_dsa", indexed},
    {"jamba", mamba_1},
    {"kimi_linear", delta_rule},
    {"mamba", mamba_1},
    {"minimax", "layers of lightning attention are not among the operations of model files"},
    {"minimax_m3", indexed},
    {"mllama", "no bundled family has layers that read the tokens of an image"},
    {"modernbert", "no import builds its layers; the bundled modernbert-base takes other sizes after an '@'"},
    {"olmo_hybrid", delta_rule},
    {"recurrent_gemma", "the recurrence of Griffin is not among the operations of model files"},
    {"rwkv", rwkv},
    {"rwkv5", rwkv},
    {"rwkv6", rwkv},
    {"rwkv7", rwkv},
    {"siglip", contrast},
    {"siglip2", contrast},
    {"whisper",
     "attention in which keys have no bias, but queries and values have one, is not among the bundled "
     "families"},
    {"zamba", "no bundled family has blocks that share weights"},
    {"zamba2", "no bundled family has blocks that share weights and have adapters of their own"},
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
                "use a bundled model of about the same size ('models list'), or write a model file");
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
    type = config.text({"model_type"}, type + "_text");
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
  const std::string near = suggest(type, known);
  config.fail("model_type", fmt::format("unknown model_type {}", quote(type)),
              near.starts_with("did you mean") ? near : all);
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

Import import_hugging_face(std::string text, std::string origin, const ImportOptions& options) {
  const std::string path = origin;
  HuggingFaceConfig config(std::move(text), std::move(origin), options);
  std::string name = options.name.empty() ? plain_name(config.text({"_name_or_path"}, "")) : options.name;
  std::string type;
  const FamilyModel model = read(config, type);
  if (name.empty()) name = name_of_path(path);
  if (name.empty()) name = plain_name(type);
  config.warn_of_defaults();
  config.warn_of_rest();
  Import result{.model_file = model_text(name, type, model), .warnings = config.warnings()};
  check(result.model_file, name, config);
  return result;
}

}  // namespace ddl
