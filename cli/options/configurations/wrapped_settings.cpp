#include "cli/options/configurations/wrapped_settings.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cli/options/configurations/argument_meaning.hpp"
#include "cli/options/configurations/named_files.hpp"
#include "cli/options/configurations/recognition.hpp"
#include "cli/options/configurations/trainer_sections.hpp"
#include "cli/tools/configuration_format.hpp"
#include "core/find.hpp"
#include "core/lower_case.hpp"
#include "core/words.hpp"

namespace ddl {
namespace {

ConfigEntry* entry_named(ConfigEntries& settings, const std::string& key) {
  return find_where(settings, [&](const ConfigEntry& one) { return one.key == key; });
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
         std::ranges::any_of(names, [&](std::string_view name) { return argument.starts_with(name); });
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

/// Whether a key ends in an argument of Megatron-LM: `model.--seq-length`.
bool is_argument(const ConfigEntry& setting, std::string_view argument) {
  const std::size_t group = setting.key.rfind(".--");
  return argument_key(group == std::string::npos ? setting.key : setting.key.substr(group + 1)) == argument;
}

ConfigEntry* entry_of_argument(ConfigEntries& settings, std::string_view argument) {
  return find_where(settings, [&](const ConfigEntry& each) { return is_argument(each, argument); });
}

/// Returns a positive number; 0 if the entry has none.
double number_of(const ConfigEntry* entry) {
  constexpr double most = 1e6;
  const double value = entry == nullptr ? 0 : number_in<double>(entry->value).value_or(0);
  return value > 0 && value < most ? value : 0;
}

/// In FlagScale, the width of a gated MLP follows from a multiple, if the file does not give it: replaces the multiple by
/// the width [FlagOpen/FlagScale, flagscale/runner/auto_tuner/utils.py].
void add_width(ConfigEntries& settings) {
  ConfigEntry* const multiple = entry_of_argument(settings, "multiple-of");
  const ConfigEntry* const factor = entry_of_argument(settings, "hidden-dim-multiplier");
  const ConfigEntry* const gated = entry_of_argument(settings, "swiglu");
  const double hidden = number_of(entry_of_argument(settings, "hidden-size")), step = number_of(multiple);
  const bool has_share = factor != nullptr && !says_nothing(factor->value) && !is_neutral(factor->value);
  const double share = has_share ? number_of(factor) : 1;
  const bool is_gated = gated != nullptr && lower_case(gated->value) == "true";
  const std::size_t name = multiple == nullptr ? std::string::npos : multiple->key.rfind("--");
  if (name == std::string::npos || entry_of_argument(settings, "ffn-hidden-size") != nullptr) return;
  if (hidden < 1 || step < 1 || share <= 0 || !is_gated) return;
  const double width = std::floor(std::floor(hidden * 8 / 3) * share);
  multiple->value = fmt::format("{:.0f}", std::ceil(width / step) * step);
  multiple->key.replace(name, std::string::npos, "--ffn-hidden-size");
  std::erase_if(settings, [](const ConfigEntry& each) { return is_argument(each, "hidden-dim-multiplier"); });
}

/// FlagScale groups the arguments of Megatron-LM under `system`, `model` and `data` [FlagOpen/FlagScale,
/// examples/aquila/conf]. Marks these arguments as Megatron-LM's.
void unwrap_flagscale(ConfigEntries& settings) {
  constexpr std::array<std::string_view, 3> groups{"system.", "model.", "data."};
  for (ConfigEntry& setting : settings) {
    const bool is_grouped =
        std::ranges::any_of(groups, [&](std::string_view group) { return setting.key.starts_with(group); });
    if (!is_grouped) continue;
    const std::size_t last = setting.key.rfind('.') + 1;
    std::string argument = setting.key.substr(last);
    std::ranges::replace(argument, '_', '-');
    setting.key = setting.key.substr(0, last) + "--" + argument;
  }
  add_width(settings);
}

/// A key of Megatron-LM's YAML files that is not a command-line argument. With `value`, the key means `argument`. With
/// `usual`, the key means Megatron-LM's default. If a row has no value, the key means the argument with the key's value
/// [NVIDIA/Megatron-LM, megatron/training/yaml_arguments.py].
struct YamlKey {
  std::string_view key, value, argument, usual{};
};
constexpr std::array<YamlKey, 5> megatron_yaml_keys{{{"activation_func", "swiglu", "--swiglu", "gelu"},
                                                     {"activation_func", "squaredrelu", "--squared-relu", "gelu"},
                                                     {"add_bias_linear", "false", "--disable-bias-linear", "true"},
                                                     {"num_moe_experts", "", "--num-experts"},
                                                     {"fp8", "", "--fp8-format"}}};

/// Keys of these files that Megatron-LM does not read, or sets itself. Only `activation_func` decides on SwiGLU.
constexpr std::array<std::string_view, 3> unread_yaml_keys{"virtual_pipeline_model_parallel_size", "swiglu", "squared_relu"};

/// Whether the activation of a file for `--yaml-cfg` is gated. `gated_linear_unit` does not matter.
bool is_swiglu(const ConfigEntries& settings) {
  return std::ranges::any_of(settings, [](const ConfigEntry& each) {
    return each.key == "language_model.activation_func" && lower_case(each.value) == "swiglu";
  });
}

/// Returns the argument of Megatron-LM that a key and its value mean; empty if they mean none, which is the key's usual
/// value; unset if no argument expresses the value.
std::optional<std::string> megatron_argument(std::string_view name, const std::string& value, bool is_gated) {
  if (contains(unread_yaml_keys, name)) return "";
  if (name == "gated_linear_unit" && is_gated) return "";
  bool is_own = false;
  for (const YamlKey& each : megatron_yaml_keys) {
    if (each.key != name) continue;
    if (each.value.empty() || lower_case(value) == each.value) return std::string(each.argument);
    if (lower_case(value) == each.usual || lower_case(value) == "null") return "";
    is_own = true;
  }
  if (is_own) return std::nullopt;
  std::string argument = "--" + std::string(name);
  std::ranges::replace(argument, '_', '-');
  return argument;
}

/// Marks the keys of a file for `--yaml-cfg` as arguments of Megatron-LM. Keys with values that no argument expresses keep
/// their names, so they are listed as not modeled.
void unwrap_megatron_yaml(ConfigEntries& settings) {
  const bool is_gated = is_swiglu(settings);
  ConfigEntries unwrapped;
  for (ConfigEntry& setting : settings) {
    const std::string_view name = std::string_view(setting.key).substr(setting.key.rfind('.') + 1);
    const std::optional<std::string> argument = megatron_argument(name, setting.value, is_gated);
    if (argument && argument->empty()) continue;
    if (argument) {
      const std::string key = "yaml." + *argument;
      if (entry_named(unwrapped, key) != nullptr) continue;
      const bool is_flag = std::ranges::any_of(megatron_yaml_keys,
                                               [&](const YamlKey& each) { return each.key == name && !each.value.empty(); });
      if (is_flag) setting.value = "true";
      setting.written = std::exchange(setting.key, key);
    }
    unwrapped.push_back(std::move(setting));
  }
  settings = std::move(unwrapped);
}

/// Whether an argument changes the sizes or the kinds of layers of a model, by its row in the table of the tool.
bool is_of_model(const ConfigurationFormat& format, std::string_view argument) {
  const std::string key = argument_key(argument);
  const auto is_size = [&](const ArgumentRow& row) {
    return argument_key(row.key) == key && row.field.number() >= RunField(ConfigField::layers).number() &&
           row.field.number() <= RunField(ConfigField::latent).number() && row.field != ConfigField::sequence &&
           row.field != ConfigField::positions && row.field != ConfigField::attention &&
           row.field != ConfigField::implementation && row.field != ConfigField::vocabulary_multiple &&
           row.field != ConfigField::hidden_dropout && row.field != ConfigField::attention_dropout &&
           row.field != ConfigField::latent;  // models with latent attention are known by their names
  };
  return std::ranges::any_of(format.rows, is_size) || key == "model.n-layers";
}

bool leaves_model(const std::string& value) { return value == "null" || value == "false" || value == "0" || value.empty(); }

/// An axis of MaxText's mesh within a slice (`ici_`) or among slices (`dcn_`), and the axis of this program that it is a
/// part of [AI-Hypercomputer/maxtext, configs/base.yml].
struct MeshAxis {
  std::string_view name, of;
};
constexpr std::array<MeshAxis, 13> mesh_axes{{{"data", "data"},
                                              {"fsdp", "fsdp"},
                                              {"fsdp_transpose", "fsdp"},
                                              {"tensor", "tensor"},
                                              {"tensor_transpose", "tensor"},
                                              {"tensor_sequence", "tensor"},
                                              {"sequence", "context"},
                                              {"context", "context"},
                                              {"context_usp_ulysses", "context"},
                                              {"expert", "expert"},
                                              {"pipeline", "pipeline"},
                                              {"diloco", "diloco"},
                                              {"autoregressive", "autoregressive"}}};

/// Returns the axis that an argument sets: `tensor` of `dcn_tensor_sequence_parallelism`; empty if it sets none.
std::string_view mesh_axis_of(std::string_view key) {
  constexpr std::string_view ending = "_parallelism";
  if ((!key.starts_with("ici_") && !key.starts_with("dcn_")) || !key.ends_with(ending)) return {};
  const std::string_view name = key.substr(4, key.size() - 4 - ending.size());
  const auto found = std::ranges::find_if(mesh_axes, [&](const MeshAxis& each) { return each.name == name; });
  return found == mesh_axes.end() ? std::string_view() : found->of;
}

/// Multiplies two degrees. -1 stands for the remaining devices. Returns an empty text if the product is not a degree.
std::string product_of(const std::string& a, const std::string& b) {
  if (a == "1") return b;
  if (b == "1") return a;
  const std::int64_t first = number_in(a).value_or(0), second = number_in(b).value_or(0);
  std::int64_t product = 0;
  if (first <= 0 || second <= 0) return a == "-1" || b == "-1" ? "-1" : "";
  return __builtin_mul_overflow(first, second, &product) ? "" : std::to_string(product);
}

}  // namespace

namespace {

/// The tools that Primus starts, by their names in its files.
const ConfigurationFormat* wrapped_format(std::string_view framework) {
  if (framework == "megatron") return &megatron_arguments;
  if (framework == "torchtitan") return &torchtitan_toml;
  return framework == "maxtext" ? &maxtext_overrides : nullptr;
}

constexpr std::string_view adapter_section = "lora.";

bool has_variable(const std::string& value) { return value.find("${") != std::string::npos; }

/// Whether a value of a switch is true in Python.
bool is_on(const std::string& value) { return value == "1" || !(is_neutral(value) || says_nothing(value)); }

/// Returns the name of an argument of Primus's `overrides` among those of Megatron-LM; empty for an argument without effect.
/// Primus uses the names of Megatron-LM's variables, which differ from its options in few cases [NVIDIA/Megatron-LM,
/// megatron/training/arguments.py, dest=]. It has its own section of adapters [AMD-AGI/Primus,
/// primus/backends/megatron/megatron_sft_trainer.py].
std::string unwrapped_argument(std::string argument, const ConfigEntry& setting, bool has_adapters) {
  if (argument.starts_with(adapter_section)) {
    argument.erase(0, adapter_section.size());
    if (argument == "enabled") return has_variable(setting.value) ? "--lora-enabled" : "";
    if (!has_adapters || (argument == "dim" && says_nothing(setting.value))) return {};
    return "--" + (argument == "dim" ? "lora-r" : "lora-" + argument);
  }
  if (argument == "fp8") return is_on(setting.value) ? "--fp8-format" : "";
  return "--" + argument;
}

/// Adds Primus's default of the rank of adapters, unless the file sets a rank [AMD-AGI/Primus,
/// primus/backends/megatron/peft/lora.py].
void add_default_rank(ConfigEntries& settings, const std::string& prefix, ConfigEntry origin) {
  origin.key = prefix + "--lora-r";
  if (entry_named(settings, origin.key) != nullptr) return;
  origin.value = "32";
  settings.push_back(std::move(origin));
}

/// Moves the arguments under `prefix` to the names of their own tool.
void unwrap_overrides(ConfigEntries& settings, const std::string& prefix, const ConfigurationFormat& format,
                      WrappedModel& wrapped) {
  for (ConfigEntry& setting : settings) {
    if (setting.key.starts_with(prefix)) take_defaults(setting);
  }
  std::optional<ConfigEntry> adapters;
  if (const ConfigEntry* const found = entry_named(settings, prefix + "lora.enabled")) adapters = *found;
  const bool has_adapters = adapters && is_on(adapters->value) && !has_variable(adapters->value);
  const bool has_none = adapters && !is_on(adapters->value);
  ConfigEntries unwrapped;
  for (ConfigEntry& setting : settings) {
    if (!setting.key.starts_with(prefix)) continue;
    std::string argument = setting.key.substr(prefix.size());
    if (is_harmless(argument) || (has_none && argument.starts_with(adapter_section))) continue;
    if (!wrapped.resized && is_of_model(format, argument) && !leaves_model(setting.value)) wrapped.resized = setting;
    if (&format == &megatron_arguments) {
      argument = unwrapped_argument(std::move(argument), setting, has_adapters);
      if (argument.empty()) continue;
      if (argument == "--lora-enabled") setting.written = setting.key;  // it is listed as not modeled
      std::ranges::replace(argument, '_', '-');
      argument.insert(0, prefix);
    }
    setting.key = std::move(argument);
    unwrapped.push_back(std::move(setting));
  }
  settings = std::move(unwrapped);
  if (has_adapters && &format == &megatron_arguments) add_default_rank(settings, prefix, *adapters);
}

}  // namespace

std::optional<WrappedModel> unwrap_settings(ConfigEntries& settings) {
  if (entry_named(settings, "system.tensor_model_parallel_size") != nullptr &&
      entry_named(settings, "model.num_layers") != nullptr) {
    unwrap_flagscale(settings);
    return std::nullopt;
  }
  if (entry_named(settings, "language_model.num_layers") != nullptr &&
      entry_named(settings, "model_parallel.tensor_model_parallel_size") != nullptr) {
    unwrap_megatron_yaml(settings);
    return std::nullopt;
  }
  for (const std::string module : {"modules.pre_trainer.", "modules.post_trainer."}) {
    ConfigEntry* const model = entry_named(settings, module + "model");
    const ConfigEntry* const framework = entry_named(settings, module + "framework");
    if (model == nullptr || framework == nullptr) continue;
    const ConfigurationFormat* const format = wrapped_format(framework->value);
    if (format == nullptr) return std::nullopt;
    take_defaults(*model);
    WrappedModel wrapped{.name = *model};
    name_model(wrapped);
    const ConfigEntry origin = *framework;
    const std::string prefix = module + "overrides.";
    unwrap_overrides(settings, prefix, *format, wrapped);
    if (format == &megatron_arguments) add_defaults(settings, prefix, origin);
    return wrapped;
  }
  return std::nullopt;
}

void join_meshes(ConfigEntries& settings) {
  // The axes with a default of -1, which means all remaining devices.
  const bool has_copies = entry_named(settings, "dcn_data_parallelism") != nullptr;
  const bool has_shards = entry_named(settings, "ici_fsdp_parallelism") != nullptr;
  ConfigEntries joined;
  for (ConfigEntry& setting : settings) {
    const std::string_view axis = mesh_axis_of(setting.key);
    if ((axis == "data" && !has_copies) || (axis == "fsdp" && !has_shards)) continue;
    if (axis.empty()) {
      joined.push_back(std::move(setting));
      continue;
    }
    setting.key = "ici_" + std::string(axis) + "_parallelism";
    ConfigEntry* const other = entry_named(joined, setting.key);
    if (other == nullptr) {
      joined.push_back(std::move(setting));
    } else if (other->is_known && setting.is_known) {
      const std::string product = product_of(other->value, setting.value);
      if (!product.empty() && product != other->value) {
        ConfigEntry entry = std::move(setting);
        entry.value = product;
        *other = std::move(entry);
      }
    }
  }
  settings = std::move(joined);
}

void drop_image_length(ConfigEntries& settings) {
  ConfigEntry* length = entry_of_argument(settings, "dataloader-seq-length");
  if (length == nullptr && entry_of_argument(settings, "language-model-type") != nullptr) {
    length = entry_of_argument(settings, "decoder-seq-length");
    if (length != nullptr) length->key.replace(length->key.rfind("decoder"), 7, "dataloader");
  }
  if (length != nullptr) std::erase_if(settings, [](const ConfigEntry& each) { return is_argument(each, "seq-length"); });
}

namespace {

/// Hydra names a file by its folder and its name: `--config-path=conf --config-name=gpt`. Adds the file, if it is found, as
/// the configuration of the training. The name stays for tools that read it.
void join_hydra_name(ConfigEntries& settings, const std::string& path) {
  ConfigEntry* const folder = entry_of_argument(settings, "config-path");
  const ConfigEntry* const name = entry_of_argument(settings, "config-name");
  if (folder == nullptr || name == nullptr || !folder->is_known || !name->is_known || name->value.empty()) return;
  const bool has_ending = name->value.ends_with(".yaml") || name->value.ends_with(".yml");
  const std::string file = folder->value + "/" + name->value + (has_ending ? "" : ".yaml");
  if (!named_configuration(path, file)) return;
  const bool is_read = std::any_of(settings.begin(), settings.end(), [&](const ConfigEntry& each) {
    return is_part_of_mark(verl_overrides.marks, argument_key(each.key));
  });
  folder->key = "--config_file";
  folder->value = file;
  if (!is_read) std::erase_if(settings, [](const ConfigEntry& each) { return is_argument(each, "config-name"); });
}

/// Adds the arguments of a section that is written as JSON, such as `--fsdp_config '{"fsdp_version": 2}'`. Returns false if
/// the text is not JSON.
bool add_written_section(ConfigEntries& all, const ConfigEntry& section) {
  ConfigEntries parts;
  try {
    parts = json_settings(section.value, section.key);
  } catch (const Error&) {
    return false;
  }
  for (ConfigEntry& each : parts) {
    ConfigEntry part = section;
    part.key = section.key + "." + each.key;
    part.value = std::move(each.value);
    add_setting(all, std::move(part));
  }
  return true;
}

}  // namespace

void include_named_sections(ConfigEntries& settings, const std::string& path) {
  join_hydra_name(settings, path);
  unwrap_trainer_sections(settings);
  ConfigEntries all;
  for (ConfigEntry& setting : settings) {
    // [huggingface/transformers, src/transformers/training_args.py, fsdp_config, accelerator_config]
    const std::string key = argument_key(setting.key);
    const bool is_section = (key == "fsdp-config" || key == "accelerator-config") && setting.is_known;
    const bool names_file = is_section && setting.value.ends_with(".json");
    const std::optional<std::string> file = names_file ? named_configuration(path, setting.value) : std::nullopt;
    if (is_section && setting.value.starts_with('{') && add_written_section(all, setting)) continue;
    if (!file) {
      add_setting(all, std::move(setting));
      continue;
    }
    for (ConfigEntry& each : json_settings(read_file(*file, max_configuration_file_bytes), *file)) {
      each.key = setting.key + "." + each.key;
      add_setting(all, std::move(each));
    }
  }
  settings = std::move(all);
}

}  // namespace ddl
