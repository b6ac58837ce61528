#include "cli/options/configurations/wrapped_settings.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace ddl {
namespace {

ConfigEntry* entry_named(ConfigEntries& settings, const std::string& key) {
  const auto found = std::find_if(settings.begin(), settings.end(), [&](const ConfigEntry& one) { return one.key == key; });
  return found == settings.end() ? nullptr : &*found;
}

/// Replaces `${NAME:default}` by the default, as Primus does if the environment does not set the variable.
void take_defaults(ConfigEntry& setting) {
  std::string& text = setting.value;
  for (std::size_t at = text.find("${"); at != std::string::npos; at = text.find("${", at)) {
    const std::size_t colon = text.find(':', at), end = text.find('}', at);
    if (end == std::string::npos || colon > end) return;
    text = text.substr(0, at) + text.substr(colon + 1, end - colon - 1) + text.substr(end + 1);
    setting.is_known = text.find("${") == std::string::npos;
  }
}

/// Takes the model and its size from `llama3.1_70B.yaml`.
void name_model(WrappedModel& wrapped) {
  std::string& file = wrapped.name.value;
  for (const std::string_view ending : {".yaml", ".yml"}) {
    if (file.ends_with(ending)) file.erase(file.size() - ending.size());
  }
  const std::size_t last = file.rfind('_');
  if (last == std::string::npos) return;
  wrapped.flavor = file.substr(last + 1);
  file.erase(last);
}

/// Arguments of Primus itself that change neither time nor memory.
bool is_harmless(std::string_view argument) {
  constexpr std::array<std::string_view, 6> names{"log_avg_",      "disable_last_saving",          "use_rocm_mem_info",
                                                  "disable_wandb", "disable_compile_dependencies", "disable_tensorboard"};
  return argument.ends_with("sink_level") ||
         std::any_of(names.begin(), names.end(), [&](std::string_view name) { return argument.starts_with(name); });
}

/// Adds arguments that Primus sets for Megatron-LM unless the file sets them [AMD-AGI/Primus,
/// primus/configs/modules/megatron/trainer_base.yaml and pre_trainer.yaml].
void add_defaults(ConfigEntries& settings, const std::string& prefix, const ConfigEntry& origin) {
  const auto has = [&](const char* argument) { return entry_named(settings, prefix + argument) != nullptr; };
  const auto add = [&](const char* argument) {
    ConfigEntry entry = origin;
    entry.key = prefix + argument;
    entry.value = "true";
    settings.push_back(std::move(entry));
  };
  const bool has_precision = has("--bf16") || has("--fp16"), shards = has("--use-distributed-optimizer");
  if (!has_precision) add("--bf16");
  if (!shards) add("--use-distributed-optimizer");
}

/// FlagScale groups the arguments of Megatron-LM under `system`, `model` and `data` [FlagOpen/FlagScale,
/// examples/aquila/conf]. Marks these arguments as Megatron-LM's.
void unwrap_flagscale(ConfigEntries& settings) {
  constexpr std::array<std::string_view, 3> groups{"system.", "model.", "data."};
  for (ConfigEntry& setting : settings) {
    const bool is_grouped =
        std::any_of(groups.begin(), groups.end(), [&](std::string_view group) { return setting.key.starts_with(group); });
    if (!is_grouped) continue;
    const std::size_t last = setting.key.rfind('.') + 1;
    std::string argument = setting.key.substr(last);
    std::replace(argument.begin(), argument.end(), '_', '-');
    setting.key = setting.key.substr(0, last) + "--" + argument;
  }
}

/// Whether an argument of Megatron-LM or torchtitan changes the model's sizes.
bool is_size(std::string_view argument) {
  constexpr std::array<std::string_view, 6> sizes{"num_layers",          "hidden_size", "ffn_hidden_size",
                                                  "num_attention_heads", "num_experts", "model.n_layers"};
  return std::find(sizes.begin(), sizes.end(), argument) != sizes.end();
}

}  // namespace

std::optional<WrappedModel> unwrap_settings(ConfigEntries& settings) {
  if (entry_named(settings, "system.tensor_model_parallel_size") != nullptr &&
      entry_named(settings, "model.num_layers") != nullptr) {
    unwrap_flagscale(settings);
    return std::nullopt;
  }
  for (const std::string module : {"modules.pre_trainer.", "modules.post_trainer."}) {
    ConfigEntry* const model = entry_named(settings, module + "model");
    const ConfigEntry* const framework = entry_named(settings, module + "framework");
    if (model == nullptr || framework == nullptr) continue;
    const bool is_megatron = framework->value == "megatron";
    if (!is_megatron && framework->value != "torchtitan") return std::nullopt;
    take_defaults(*model);
    WrappedModel wrapped{.name = *model};
    name_model(wrapped);
    const std::string prefix = module + "overrides.";
    ConfigEntries unwrapped;
    for (ConfigEntry& setting : settings) {
      if (!setting.key.starts_with(prefix)) continue;
      take_defaults(setting);
      std::string argument = setting.key.substr(prefix.size());
      if (is_harmless(argument)) continue;
      wrapped.is_resized = wrapped.is_resized || is_size(argument);
      if (is_megatron) {
        std::replace(argument.begin(), argument.end(), '_', '-');
        setting.key = prefix + "--" + argument;
      } else {
        setting.key = argument;
      }
      unwrapped.push_back(std::move(setting));
    }
    if (is_megatron) add_defaults(unwrapped, prefix, *framework);
    settings = std::move(unwrapped);
    return wrapped;
  }
  return std::nullopt;
}

}  // namespace ddl
