#pragma once

#include <string>
#include <string_view>

namespace ddl {

/// Returns what a user can do after an unknown model's name: use a bundled model with a similar name, a model of the same
/// family, or the architecture of timm in the name; or import the model's configuration.
[[nodiscard]] std::string unknown_model_hint(std::string_view name);

}  // namespace ddl
