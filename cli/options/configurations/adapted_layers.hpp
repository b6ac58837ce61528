#pragma once

#include <string>
#include <vector>

#include "cli/options/configurations/configuration.hpp"

namespace ddl {

/// Returns the last parts of the names of modules in a list: `lm_head` of `model.lm_head`. Tools write lists with spaces or
/// commas, and some in brackets and quotes.
[[nodiscard]] std::vector<std::string> modules_in(const std::string& list);

/// Returns the layers of `model` that the configuration adapts as part of a model's name, such as
/// `@lora_layers=q_proj+v_proj`. Returns an empty text if it adapts all matrices of blocks, or if a module is unknown, which
/// gives a warning.
[[nodiscard]] std::string adapted_layers(const Configuration& read, const std::string& model,
                                         std::vector<std::string>& warnings);

}  // namespace ddl
