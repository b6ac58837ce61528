#pragma once

#include <string>

#include "model_zoo/importers/module.hpp"

namespace ddl {

/// Loads the module `name`, which stays loaded: from the folder beside the program in a build tree, or where it is
/// installed, seen from the program. An Error naming the Debian `packages` where this build has none, or saying why it does
/// not load.
[[nodiscard]] const ImportModule& load_import_module(const std::string& name, const std::string& packages);

}  // namespace ddl
