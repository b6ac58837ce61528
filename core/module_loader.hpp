#pragma once

#include <string>

namespace ddl {

/// Loads the module `name`, a part of the program that needs a large library, and gives the object that it exports as
/// `symbol`. It stays loaded. Looked for in the folder beside the program in a build tree, or where modules are installed,
/// seen from the program. An Error naming the Debian `packages` where this build has none, or saying why it does not load; a
/// module of another build is refused, since objects and exceptions pass between the two.
[[nodiscard]] const void* load_module(const std::string& name, const std::string& symbol, const std::string& packages);

template <class Exported>
[[nodiscard]] const Exported& load_module(const std::string& name, const std::string& symbol, const std::string& packages) {
  return *static_cast<const Exported*>(load_module(name, symbol, packages));
}

}  // namespace ddl
