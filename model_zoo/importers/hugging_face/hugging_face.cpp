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
#include "model_zoo/importers/hugging_face/families.hpp"
#include "model_zoo/network/model.hpp"

namespace ddl {

// Each is defined in the file of its family.
HuggingFaceReader read_bert, read_bloom, read_deepseek_v2, read_deepseek_v3, read_falcon, read_gemma, read_gemma2,
    read_gemma3, read_gpt2, read_gpt_neox, read_gpt_oss, read_grok, read_llama, read_mistral, read_mixtral, read_mpt,
    read_nemotron, read_nemotron_h, read_opt, read_phi, read_phi3, read_qwen2, read_qwen3, read_qwen3_moe, read_t5, read_vit;

std::span<const HuggingFaceFamily> hugging_face_families() {
  static constexpr std::array<HuggingFaceFamily, 27> families{{
      {"bert", read_bert},
      {"bloom", read_bloom},
      {"deepseek_v2", read_deepseek_v2, "4.56"},
      {"deepseek_v3", read_deepseek_v3, "4.56"},
      {"falcon", read_falcon},
      {"gemma", read_gemma},
      {"gemma2", read_gemma2, "4.56"},
      {"gemma3_text", read_gemma3, "4.56"},
      {"gpt2", read_gpt2},
      {"gpt_neox", read_gpt_neox},
      {"gpt_oss", read_gpt_oss, "4.56"},
      {"grok-1", read_grok},
      {"kimi_k2", read_deepseek_v3, "4.56"},
      {"llama", read_llama},
      {"mistral", read_mistral},
      {"mixtral", read_mixtral},
      {"mpt", read_mpt},
      {"nemotron", read_nemotron},
      {"nemotron_h", read_nemotron_h, "5.0"},
      {"opt", read_opt},
      {"phi", read_phi},
      {"phi3", read_phi3},
      {"qwen2", read_qwen2},
      {"qwen3", read_qwen3, "4.56"},
      {"qwen3_moe", read_qwen3_moe, "4.56"},
      {"t5", read_t5},
      {"vit", read_vit},
  }};
  return families;
}

namespace {

const HuggingFaceFamily& family_of(HuggingFaceConfig& config) {
  const std::string type = config.text({"model_type"}, "");
  const std::vector<std::string_view> known = hugging_face_model_types();
  if (type.empty()) {
    config.fail("model_type", "the configuration has no 'model_type'", fmt::format("known: {}", fmt::join(known, ", ")));
  }
  for (const HuggingFaceFamily& family : hugging_face_families()) {
    if (family.model_type == type) return family;
  }
  config.fail("model_type", fmt::format("unknown model_type {}", quote(type)),
              fmt::format("known: {}", fmt::join(known, ", ")));
}

/// Letters, digits and separators; the last part of a path such as `meta-llama/Llama-2-7b-hf`.
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

/// From the folder of a `config.json`, since all have this name; else from the file itself.
std::string name_of_path(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const std::string_view file = path.substr(slash + 1);
  if (file == "config.json") return slash == std::string_view::npos ? std::string() : plain_name(path.substr(0, slash));
  return plain_name(file.substr(0, file.rfind('.')));
}

std::string model_text(const std::string& name, const HuggingFaceFamily& family, const FamilyModel& model) {
  std::string text = fmt::format(
      "format: 1\nmodel: {}\ndescription: Imported from a configuration of the type {}\n"
      "source: the configuration, read as Hugging Face's transformers {} read it\nfamily: {}\n",
      name, family.model_type, family.version, model.family);
  if (!model.input.empty()) text += fmt::format("input: {}\n", model.input);
  text += "parameters:\n";
  for (const auto& [parameter, value] : model.parameters) text += fmt::format("  {}: {}\n", parameter, value);
  return text;
}

/// Throws Error if the values are inconsistent in a way that only shapes reveal.
void check(const std::string& text, const std::string& name, const HuggingFaceConfig& config) {
  try {
    static_cast<void>(parse_model(text, name + ".yaml"));
  } catch (const Error& error) {
    // Its first line without the position, which refers to a file that the user has not seen.
    std::string message = error.what();
    message = message.substr(0, message.find('\n'));
    if (const std::size_t place = message.find(": "); place != std::string::npos) message.erase(0, place + 2);
    config.fail("", fmt::format("no model can have these sizes: {}", message));
  }
}

}  // namespace

std::vector<std::string_view> hugging_face_model_types() {
  std::vector<std::string_view> types;
  for (const HuggingFaceFamily& family : hugging_face_families()) types.push_back(family.model_type);
  return types;
}

Import import_hugging_face(std::string text, std::string origin, const ImportOptions& options) {
  const std::string path = origin;
  HuggingFaceConfig config(std::move(text), std::move(origin), options);
  const HuggingFaceFamily& family = family_of(config);
  std::string name = options.name.empty() ? plain_name(config.text({"_name_or_path"}, "")) : options.name;
  if (name.empty()) name = name_of_path(path);
  if (name.empty()) name = family.model_type;
  const FamilyModel model = family.read(config);
  config.warn_of_defaults();
  config.warn_of_rest();
  Import result{.model_file = model_text(name, family, model), .warnings = config.warnings()};
  check(result.model_file, name, config);
  return result;
}

}  // namespace ddl
