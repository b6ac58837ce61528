#pragma once

#include <string>

namespace ddl {

/// Loads the module `name`, a part of the program that needs a large library, and returns the object that it exports as
/// `symbol`. The module stays loaded. It is searched in the folder next to the program in a build tree, or in the
/// installation folder of modules, relative to the program. If this build has no such module, throws Error that names the
/// Debian `packages`. If the module cannot be loaded, throws Error with the reason. A module of another build is refused,
/// because objects and exceptions pass between the two.
[[nodiscard]] const void* load_module(const std::string& name, const std::string& symbol, const std::string& packages);

template <class Exported>
[[nodiscard]] const Exported& load_module(const std::string& name, const std::string& symbol, const std::string& packages) {
  return *static_cast<const Exported*>(load_module(name, symbol, packages));
}

}  // namespace ddl
