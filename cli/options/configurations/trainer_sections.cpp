#include "cli/options/configurations/trainer_sections.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/options/configurations/argument_meaning.hpp"
#include "cli/options/configurations/recognition.hpp"
#include "cli/tools/configuration_format.hpp"

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
constexpr std::array<SectionKey, 6> model_keys{{{"name_or_path", "model_name_or_path"},
                                                {"pretrained_model_name_or_path", "model_name_or_path"},
                                                {"base_model", "model_name_or_path"},
                                                {"name", "model_name_or_path"},
                                                {"id", "model_name_or_path"},
                                                {"path", "model_name_or_path"}}};

bool contains_word(std::string_view section, const auto& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return section.find(word) != std::string_view::npos; });
}

/// Whether a section describes something other than the training.
bool is_of_another_program(std::string_view section) {
  constexpr std::array<std::string_view, 12> words{"eval", "gen",    "infer", "test",   "ref",   "teacher",
                                                   "vllm", "reward", "draft", "export", "merge", "rollout"};
  return contains_word(section, words);
}

/// Whether a section changes neither time nor memory.
bool is_harmless_section(std::string_view section) {
  constexpr std::array<std::string_view, 10> words{"wandb",   "mlflow", "track",   "tags", "container",
                                                   "logging", "output", "dataset", "data", "experiment"};
  return contains_word(section, words);
}

/// Whether a key shows a program that does more than the Trainer: it divides layers, or quantizes the model in its own way.
bool extends_trainer(const ConfigEntry& setting) {
  constexpr std::array<std::string_view, 8> degrees{"tp_size",         "pp_size",         "ep_size",
                                                    "cp_size",         "tensor_parallel", "pipeline_parallel",
                                                    "expert_parallel", "context_parallel"};
  const std::string_view key = setting.key;
  if (key.substr(0, key.find('.')).find("qlora") != std::string_view::npos) return true;
  return contains_word(key.substr(key.rfind('.') + 1), degrees) && !is_neutral(setting.value);
}

/// Whether an argument names the trained model.
bool names_model(const std::string& argument) {
  const ArgumentRow* row = row_named(transformers_arguments.rows, argument_key(argument));
  return row != nullptr && row->field == ConfigField::model;
}

/// Returns the Trainer's argument that a key of a section means; empty if it means none.
std::string argument_of(std::string_view section, const std::string& key) {
  constexpr std::array<std::string_view, 2> adapters{"lora", "peft"};
  const auto meaning = [&](const auto& keys) -> std::string_view {
    const auto found = std::find_if(keys.begin(), keys.end(), [&](const SectionKey& each) { return each.key == key; });
    return found == keys.end() ? std::string_view() : found->argument;
  };
  if (contains_word(section, adapters)) {
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
  bool has_model = false;
  for (const ConfigEntry& each : settings) {
    taken.insert(each.key);
    has_model = has_model || names_model(each.key);
  }
  const auto rename = [&](ConfigEntry& setting, std::string key) {
    // A section may have a name of the model and its path.
    if (key.empty() || (has_model && names_model(key)) || !taken.insert(key).second) return;
    has_model = has_model || names_model(key);
    setting.written = std::exchange(setting.key, std::move(key));
  };
  for (ConfigEntry& setting : settings) {
    if (setting.key.starts_with(trainer + ".")) rename(setting, setting.key.substr(trainer.size() + 1));
  }
  for (ConfigEntry& setting : settings) {
    const std::size_t dot = setting.key.find('.');
    if (dot == std::string::npos || !setting.written.empty()) continue;
    const std::string section = setting.key.substr(0, dot);
    if (!is_of_another_program(section)) rename(setting, argument_of(section, setting.key.substr(dot + 1)));
  }
  std::erase_if(settings, [](const ConfigEntry& each) {
    return each.written.empty() && is_harmless_section(std::string_view(each.key).substr(0, each.key.find('.')));
  });
}

}  // namespace ddl
