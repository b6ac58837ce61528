#pragma once

#include "cli/options/configurations/config_entry.hpp"
#include "cli/options/configurations/configuration.hpp"

namespace ddl {

/// Returns the options of `accelerate launch` as keys of accelerate's file, which they override: `--zero_stage 3` is
/// `deepspeed_config.zero_stage: 3`, and `--use_fsdp` is `distributed_type: FSDP` [huggingface/accelerate,
/// src/accelerate/commands/launch.py]. `settings`: the arguments of a script.
[[nodiscard]] ConfigEntries accelerate_options(const ConfigEntries& settings);
/// Whether these options start a distributed training by themselves, without a file.
[[nodiscard]] bool start_training(const ConfigEntries& options);
/// Replaces the settings of a file by options with the same keys.
void override_settings(ConfigEntries& settings, const ConfigEntries& options);
/// Drops what accelerate ignores if it gets a file of DeepSpeed: its own ZeRO stage, offloading and accumulation
/// [src/accelerate/utils/dataclasses.py, DeepSpeedPlugin], and warns of each. Returns the configuration.
Configuration& without_ignored(Configuration& configuration);

}  // namespace ddl
