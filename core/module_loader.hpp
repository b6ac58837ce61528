#pragma once

#include <string>

namespace ddl {

/// Loads the module `name` and returns the object that it exports as `symbol`. A module is a part of the program that needs
/// a large library. A loaded module is never unloaded. A program in a build tree first looks for the module in the build's
/// module folder. Every program looks in the installation folder of modules, relative to the program. If the module is
/// missing, throws Error that names the Debian `packages`. If the module cannot be loaded, throws Error with the reason. A
/// module of another build is refused, because objects and exceptions pass between program and module.
[[nodiscard]] const void* load_module(const std::string& name, const std::string& symbol, const std::string& packages);

template <class Exported>
[[nodiscard]] const Exported& load_module(const std::string& name, const std::string& symbol, const std::string& packages) {
  return *static_cast<const Exported*>(load_module(name, symbol, packages));
}

}  // namespace ddl
