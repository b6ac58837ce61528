#pragma once

#include <string>

namespace ddl {

/// Loads the module `name`, a part of the program that needs a large library, and returns the object that it exports as
/// `symbol`. The module stays loaded. It is searched in the folder next to the program in a build tree, or where modules are
/// installed, relative to the program. Throws an Error that names the Debian `packages` if this build has no such module, or
/// the reason why it cannot be loaded. A module of another build is refused, because objects and exceptions pass between the
/// two.
[[nodiscard]] const void* load_module(const std::string& name, const std::string& symbol, const std::string& packages);

template <class Exported>
[[nodiscard]] const Exported& load_module(const std::string& name, const std::string& symbol, const std::string& packages) {
  return *static_cast<const Exported*>(load_module(name, symbol, packages));
}

}  // namespace ddl
