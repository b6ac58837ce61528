#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/embedded.hpp"

namespace ddl {

/// A name that stands for a bundled machine.
struct MachineName {
  std::string name;          ///< the machine's own name, or an alias
  const EmbeddedFile* file;  ///< the file of the machine
  bool is_alias = false;
};

/// All names of bundled machines, in the order of the files; the aliases of a machine follow its own name.
[[nodiscard]] const std::vector<MachineName>& all_machine_names();
/// The bundled file of a machine with this name or alias, in any spelling that name_key allows, or with words that do not
/// identify the machine: `8xH100`, `NVIDIA A100-SXM4-80GB`; null if there is none.
[[nodiscard]] const EmbeddedFile* find_machine(std::string_view name);
/// The bundled file of a machine with this name or alias. Throws Error if there is none. The hint has the nearest names, and
/// the command that writes a file for the machine.
[[nodiscard]] const EmbeddedFile& bundled_machine(const std::string& name);

}  // namespace ddl
