#pragma once

#include <string>
#include <vector>

#include "cli/options/configurations/configuration.hpp"

namespace ddl {

/// Returns the names of the matrices to which a configuration adds adapters, as the name of a model has them:
/// `@lora_layers=q_proj+v_proj`. Empty if all matrices of blocks get adapters. If a name is unknown, all get adapters, and
/// `warnings` receives a warning.
[[nodiscard]] std::string adapted_layers(const Configuration& read, std::vector<std::string>& warnings);

}  // namespace ddl
