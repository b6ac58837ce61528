#pragma once

#include "cli/options/configurations/configuration_format.hpp"

namespace ddl {

// Each in the file of its tool.
extern const ConfigurationFormat megatron_arguments, megatron_yaml, torchtitan_toml, deepspeed_json, accelerate_yaml,
    transformers_arguments;

}  // namespace ddl
