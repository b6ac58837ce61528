#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ddl {

/// Returns whether a name has the form of a Hugging Face repository (owner/name), and is not the name of a YAML file.
[[nodiscard]] bool is_hub_name(std::string_view name);

/// Returns spellings under which a model with a published name may be bundled, the most exact one first: without the owner,
/// without endings that do not change the model's sizes, and, for names of timm, without the library from which the weights
/// come and without the form of training.
[[nodiscard]] std::vector<std::string> plainer_spellings(std::string_view name);

}  // namespace ddl
