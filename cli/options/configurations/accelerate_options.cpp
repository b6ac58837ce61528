#include "cli/options/configurations/accelerate_options.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cli/options/configurations/recognition.hpp"
#include "cli/tools/configuration_format.hpp"
#include "core/find.hpp"

namespace ddl {
namespace {

constexpr std::string_view launcher = "accelerate:--", kind_key = "distributed_type";

std::string_view last_part(std::string_view key) { return key.substr(key.rfind('.') + 1); }

/// Returns the key of accelerate's file with the meaning of an option; empty if there is none. The numbers of processes and
/// machines are read for all launchers.
std::string_view key_of(std::string_view option) {
  const auto means = [&](std::string_view key) { return argument_key(last_part(key)) == option; };
  for (const ArgumentRow& row : accelerate_yaml.rows) {
    if (means(row.key) && row.field != ConfigField::gpus && row.field != ConfigField::nodes) return row.key;
  }
  const std::string_view* const listed = find_where(accelerate_yaml.not_modeled, means);
  return listed == nullptr ? std::string_view() : *listed;
}

/// Returns the value of `distributed_type` that an option stands for.
std::string_view kind_of(std::string_view option) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kinds{{{"use-deepspeed", "DEEPSPEED"},
                                                                                {"use-fsdp", "FSDP"},
                                                                                {"use-megatron-lm", "MEGATRON_LM"},
                                                                                {"multi-gpu", "MULTI_GPU"}}};
  const auto* const found = find_where(kinds, [&](const auto& each) { return each.first == option; });
  return found == nullptr ? std::string_view() : found->second;
}

/// Throws Error for options that imply different values of `distributed_type`, which accelerate refuses
/// [src/accelerate/commands/launch.py, _validate_launch_command].
void refuse_two_kinds(const ConfigEntry& before, const ConfigEntry& option) {
  const auto excludes = [](const ConfigEntry& each) { return each.value != "MEGATRON_LM" && each.value != "false"; };
  const bool is_settled = before.is_known && option.is_known && !before.is_of_branches && !option.is_of_branches;
  const bool is_same = argument_key(before.written) == argument_key(option.written);
  if (is_same || !is_settled || !excludes(before) || !excludes(option)) return;
  throw option.error(fmt::format("accelerate does not accept {} together with {}", before.written, option.written),
                     "leave one of them out");
}

bool has_key(const ConfigEntries& entries, std::string_view key) {
  return std::ranges::any_of(entries, [&](const ConfigEntry& each) { return each.key == key; });
}

}  // namespace

ConfigEntries accelerate_options(const ConfigEntries& settings) {
  ConfigEntries options;
  for (const ConfigEntry& setting : settings) {
    const std::string option = argument_key(setting.key);
    if (!option.starts_with(launcher)) continue;
    const std::string_view name = std::string_view(option).substr(launcher.size());
    const std::string_view kind = kind_of(name), key = kind.empty() ? key_of(name) : kind_key;
    if (key.empty()) continue;
    ConfigEntry one = setting;
    one.written = setting.key.substr(setting.key.find(':') + 1);
    one.key = key;
    if (one.value.empty()) one.value = kind.empty() ? std::string_view("true") : kind;
    const auto same = std::ranges::find(options, one.key, &ConfigEntry::key);
    if (same != options.end() && !kind.empty()) refuse_two_kinds(*same, one);
    if (same != options.end()) options.erase(same);
    options.push_back(std::move(one));
  }
  return options;
}

Configuration& without_ignored(Configuration& configuration) {
  for (const RunField field : {RunField(PlanChoice::zero), RunField(PlanChoice::offload),
                               RunField(ConfigField::offload_weights), RunField(ConfigField::accumulation)}) {
    const Fact* const fact = configuration.find(field);
    if (fact == nullptr || !fact->from || !fact->from->key.starts_with("deepspeed_config.")) continue;
    const Place place = fact->from->place();
    configuration.warnings.push_back(fmt::format("{}:{}: '{}' is ignored: DeepSpeed's file sets this value", place.file,
                                                 place.line, argument_text(*fact->from)));
    configuration.clear(field);
  }
  return configuration;
}

bool start_training(const ConfigEntries& options) { return has_key(options, kind_key); }

void override_settings(ConfigEntries& settings, const ConfigEntries& options) {
  std::erase_if(settings, [&](const ConfigEntry& each) { return has_key(options, each.key); });
  settings.insert(settings.end(), options.begin(), options.end());
}

}  // namespace ddl
