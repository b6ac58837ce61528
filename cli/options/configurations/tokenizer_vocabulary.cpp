#include "cli/options/configurations/tokenizer_vocabulary.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/lower_case.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"

namespace ddl {
namespace {

/// Tokenizers and the models whose vocabulary they have. Sources: NVIDIA/Megatron-LM, megatron/training/tokenizer;
/// alibaba/Pai-Megatron-Patch, megatron_patch/tokenizer; huggingface.co/bigscience/tokenizer; EleutherAI/gpt-neox,
/// megatron/tokenizer. The file 20B_tokenizer.json of GPT-NeoX has 50,277 tokens.
constexpr auto tokenizers = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"gpt2*", "gpt2"},
    {"hfgpt2*", "gpt2"},
    {"megatron", "gpt2"},
    {"hftokenizer", "gpt2"},
    {"llama2tokenizer", "llama2-7b"},
    {"llamatokenizer", "llama2-7b"},
    {"llama3tokenizer", "llama3-8b"},
    {"bigscience/tokenizer", "bloom-176b"},
    {"bloomtokenizer*", "bloom-176b"},
});

}  // namespace

std::string known_value(const Configuration& read, ConfigField field) {
  const Fact* fact = read.find(field);
  return fact == nullptr || (fact->from && !fact->from->is_known) ? std::string() : fact->value;
}

namespace {

/// Returns the bundled model that has the vocabulary of a tokenizer. The name may be a path of a tokenizer's file, such as
/// `/models/llama-2-7b-hf/tokenizer.model`.
std::optional<std::string> model_of_tokenizer(const std::string& name) {
  const auto* const known =
      std::ranges::find_if(tokenizers, [&](const auto& each) { return is_named(each.first, lower_case(name)); });
  if (known != tokenizers.end()) return std::string(known->second);
  if (std::optional<std::string> model = bundled_model_named(name)) return model;
  const std::size_t file = name.rfind('/');
  if (file == std::string::npos || file == 0 || name.substr(file + 1).find("token") == std::string::npos)
    return std::nullopt;
  return bundled_model_named(std::string_view(name).substr(0, file));
}

}  // namespace

std::optional<std::int64_t> tokenizer_vocabulary(const Configuration& read) {
  for (const ConfigField field : {ConfigField::tokenizer, ConfigField::tokenizer_kind}) {
    const std::optional<std::string> name = model_of_tokenizer(known_value(read, field));
    if (!name) continue;
    if (*name == "gpt2") return gpt2_vocabulary;
    const Model model = load_model(*name);
    for (const Layer& layer : model.layers) {
      if (layer.name == "embedding" && layer.output_shape.channels > 0)
        return layer.parameters() / layer.output_shape.channels;
    }
  }
  return std::nullopt;
}

std::string warning_of_vocabulary(const Configuration& configuration) {
  const bool has_own = configuration.says(ConfigField::model) || configuration.says(ConfigField::vocabulary) ||
                       configuration.says(ConfigField::family);
  const bool names_any = configuration.writes(ConfigField::tokenizer) || configuration.writes(ConfigField::tokenizer_kind);
  if (has_own || !names_any || tokenizer_vocabulary(configuration)) return {};
  const bool has_name = configuration.writes(ConfigField::tokenizer);
  const Fact* fact = configuration.find(has_name ? ConfigField::tokenizer : ConfigField::tokenizer_kind);
  return fmt::format(
      "{}: the size of the vocabulary of tokenizer {} is unknown: GPT-2's {} tokens are assumed unless the file gives a "
      "size",
      line_text(fact->from->place()), quote(fact->value), gpt2_vocabulary);
}

}  // namespace ddl
