#include "cli/options/configurations/trainer_sections.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/options/configurations/argument_meaning.hpp"
#include "cli/options/configurations/recognition.hpp"
#include "cli/tools/configuration_format.hpp"
#include "core/find.hpp"

namespace ddl {
namespace {

/// An argument that only Hugging Face's Trainer has [huggingface/transformers, src/transformers/training_args.py].
constexpr std::string_view batch_argument = "per_device_train_batch_size";

/// A key in a section about adapters or the model, and the Trainer's argument with the same meaning. The keys of adapters
/// are those of PEFT [huggingface/peft, src/peft/tuners/lora/config.py].
struct SectionKey {
  std::string_view key, argument;
};
constexpr std::array<SectionKey, 8> adapter_keys{{{"r", "lora_r"},
                                                  {"rank", "lora_r"},
                                                  {"alpha", "lora_alpha"},
                                                  {"dropout", "lora_dropout"},
                                                  {"bias", "lora_bias"},
                                                  {"task_type", "lora_task_type"},
                                                  {"enabled", "use_lora"},
                                                  {"enable", "use_lora"}}};
/// If a file has several of these keys, the first in this order names the model: the others may name the run.
constexpr std::array<SectionKey, 6> model_keys{{{"name_or_path", "model_name_or_path"},
                                                {"pretrained_model_name_or_path", "model_name_or_path"},
                                                {"base_model", "model_name_or_path"},
                                                {"path", "model_name_or_path"},
                                                {"id", "model_name_or_path"},
                                                {"name", "model_name_or_path"}}};

/// Whether a name, such as `lora_config` or `loraConfig`, has a word: no letter is before it, and no small letter after it.
/// A word that ends in `*` may go on: `eval*` is in `evaluation`.
bool has_word(std::string_view name, std::string_view word) {
  const bool goes_on = word.ends_with('*');
  if (goes_on) word.remove_suffix(1);
  const auto is_small = [](char c) { return c >= 'a' && c <= 'z'; };
  for (std::size_t at = name.find(word); at != std::string_view::npos; at = name.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || !(is_small(name[at - 1]) || (name[at - 1] >= 'A' && name[at - 1] <= 'Z'));
    if (begins && (goes_on || end == name.size() || !is_small(name[end]))) return true;
  }
  return false;
}

bool has_one_of(std::string_view name, const auto& words) {
  return find_where(words, [&](std::string_view word) { return has_word(name, word); }) != nullptr;
}

/// Whether a section describes something other than the training.
bool is_of_another_program(std::string_view section) {
  constexpr std::array<std::string_view, 14> words{"eval*",  "gen",        "generat*", "infer*",  "test*",
                                                   "ref",    "reference*", "teacher*", "vllm*",   "reward*",
                                                   "draft*", "export*",    "merge*",   "rollout*"};
  return has_one_of(section, words);
}

/// Whether a section changes neither time nor memory.
bool is_harmless_section(std::string_view section) {
  constexpr std::array<std::string_view, 10> words{"wandb*",   "mlflow*", "track*", "tags",     "container*",
                                                   "logging*", "output*", "data*",  "metadata", "experiment*"};
  return has_one_of(section, words);
}

/// Whether a key shows a program that does more than the Trainer: it divides layers, or quantizes the model in its own way.
bool extends_trainer(const ConfigEntry& setting) {
  constexpr std::array<std::string_view, 8> degrees{"tp_size",          "pp_size",          "ep_size",
                                                    "cp_size",          "tensor_parallel*", "pipeline_parallel*",
                                                    "expert_parallel*", "context_parallel*"};
  const std::string_view key = setting.key;
  if (has_word(key.substr(0, key.find('.')), "qlora*")) return true;
  return has_one_of(key.substr(key.rfind('.') + 1), degrees) && !is_neutral(setting.value);
}

/// Whether an argument names the trained model.
bool names_model(const std::string& argument) {
  const ArgumentRow* row = row_named(transformers_arguments.rows, argument_key(argument));
  return row != nullptr && row->field == ConfigField::model;
}

/// Returns the position in `model_keys` of a key that names the model. `name` has the position of `model_name`.
std::size_t model_rank(std::string_view key) {
  key.remove_prefix(key.rfind('.') + 1);
  if (key.starts_with("model_")) key.remove_prefix(std::string_view("model_").size());
  const SectionKey* const found = find_where(model_keys, [&](const SectionKey& each) { return each.key == key; });
  return found == nullptr ? model_keys.size() : static_cast<std::size_t>(found - model_keys.data());
}

/// Returns the Trainer's argument that a key of a section means; empty if it means none.
std::string argument_of(std::string_view section, const std::string& key) {
  constexpr std::array<std::string_view, 2> adapters{"lora*", "peft*"};
  const auto meaning = [&](const auto& keys) -> std::string_view {
    const SectionKey* const found = find_where(keys, [&](const SectionKey& each) { return each.key == key; });
    return found == nullptr ? std::string_view() : found->argument;
  };
  if (has_one_of(section, adapters)) {
    if (const std::string_view argument = meaning(adapter_keys); !argument.empty()) return std::string(argument);
  } else if (section.starts_with("model")) {
    if (const std::string_view argument = meaning(model_keys); !argument.empty()) return std::string(argument);
  }
  const auto& rows = transformers_arguments.rows;
  const auto is_of_row = [&](const ArgumentRow& row) {
    return row.field == ConfigField::deepspeed_file && key.starts_with(argument_key(row.key) + ".");
  };
  const auto is_refused = [&](const RefusedArgument& each) { return is_named(argument_key(each.key), argument_key(key)); };
  const bool is_argument =
      row_named(rows, argument_key(key)) != nullptr || is_among(transformers_arguments.harmless, argument_key(key)) ||
      is_among(transformers_arguments.not_modeled, argument_key(key)) || std::any_of(rows.begin(), rows.end(), is_of_row) ||
      std::any_of(transformers_arguments.refused.begin(), transformers_arguments.refused.end(), is_refused);
  return is_argument ? key : std::string();
}

/// Returns the only section with the Trainer's batch; empty if there is none, or if there are several.
std::string trainer_section(const ConfigEntries& settings) {
  std::string section;
  for (const ConfigEntry& each : settings) {
    const std::size_t dot = each.key.rfind('.');
    if (each.key.substr(dot == std::string::npos ? 0 : dot + 1) != batch_argument) continue;
    if (dot == std::string::npos || !section.empty()) return {};
    section = each.key.substr(0, dot);
  }
  return section;
}

/// Returns the Trainer's argument that a key of the file means; empty if it means none.
std::string renamed_key(const std::string& key, const std::string& trainer) {
  if (key.starts_with(trainer + ".")) return key.substr(trainer.size() + 1);
  const std::size_t dot = key.find('.');
  if (dot == std::string::npos || is_of_another_program(key.substr(0, dot))) return {};
  return argument_of(key.substr(0, dot), key.substr(dot + 1));
}

bool is_of_known_tool(const ConfigEntries& settings) {
  std::vector<std::string> keys;
  for (const ConfigEntry& each : settings) keys.push_back(argument_key(each.key));
  const ConfiguredText text{ConfigurationLanguage::yaml, keys, {}, false, settings, true};
  return format_of(text) != nullptr || foreign_tool_of(text) != nullptr;
}

}  // namespace

void unwrap_trainer_sections(ConfigEntries& settings) {
  const bool has_arguments = std::any_of(settings.begin(), settings.end(), [](const ConfigEntry& each) {
    return each.key.find("--") != std::string::npos || each.key.find(":-") != std::string::npos;
  });
  const std::string trainer = has_arguments ? std::string() : trainer_section(settings);
  if (trainer.empty() || std::any_of(settings.begin(), settings.end(), extends_trainer) || is_of_known_tool(settings))
    return;
  std::set<std::string> taken;
  std::vector<std::string> keys;
  bool has_model = false;
  for (const ConfigEntry& each : settings) {
    taken.insert(each.key);
    keys.push_back(renamed_key(each.key, trainer));
    has_model = has_model || names_model(each.key);
  }
  const auto is_trainers = [&](std::size_t i) { return settings[i].shown_key().starts_with(trainer + "."); };
  const auto rank = [&](std::size_t i) { return std::pair(model_rank(settings[i].key), !is_trainers(i)); };
  std::optional<std::size_t> model;
  for (std::size_t i = 0; i < keys.size() && !has_model; ++i) {
    if (names_model(keys[i]) && (!model || rank(i) < rank(*model))) model = i;
  }
  // If two sections have a key, the key of the trainer's section is used.
  for (const bool of_trainer : {true, false}) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (is_trainers(i) != of_trainer) continue;
      if (keys[i].empty() || (names_model(keys[i]) && i != model) || !taken.insert(keys[i]).second) continue;
      settings[i].written = std::exchange(settings[i].key, std::move(keys[i]));
    }
  }
  std::erase_if(settings, [](const ConfigEntry& each) {
    return each.written.empty() && is_harmless_section(std::string_view(each.key).substr(0, each.key.find('.')));
  });
}

}  // namespace ddl
