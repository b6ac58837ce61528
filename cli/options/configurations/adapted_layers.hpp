#pragma once

#include <string>
#include <vector>

#include "cli/options/configurations/configuration.hpp"

namespace ddl {

/// Returns the last parts of the names of modules in a list: `lm_head` of `model.lm_head`. Tools write lists with spaces or
/// commas, and some in brackets and quotes.
[[nodiscard]] std::vector<std::string> modules_in(const std::string& list);

/// Returns the layers of `model` that the configuration adapts, and the dropout of their adapters, as part of a model's
/// name, such as `@lora_layers=q_proj+v_proj@lora_dropout=0.05`. Names no layers if the configuration adapts all matrices of
/// blocks, or if a module is unknown, which gives a warning.
[[nodiscard]] std::string adapter_parts(const Configuration& read, const std::string& model,
                                        std::vector<std::string>& warnings);

}  // namespace ddl
