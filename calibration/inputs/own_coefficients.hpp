#pragma once

#include <optional>
#include <string>

#include "core/yaml_node.hpp"

namespace ddl {

/// Coefficients of a user's machine file.
struct OwnCoefficients {
  std::string path;
  bool is_named = false;  ///< whether the machine file names this file; otherwise this file is next to the machine file
};
/// Returns `named in the machine file`, or `next to the machine file`.
[[nodiscard]] inline const char* place_of(const OwnCoefficients& own) {
  return own.is_named ? "named in the machine file" : "next to the machine file";
}

/// The coefficients of the machine file at `machine`: the file that its key `coefficients` names, or
/// `cluster.coefficients.yaml` next to `cluster.yaml`. Empty for a bundled machine, for a path that is not a regular file,
/// and if the machine file has `coefficients: none`. Throws Error that points to `coefficients:` if the named file is
/// missing.
[[nodiscard]] std::optional<OwnCoefficients> own_coefficients(const std::string& machine);

/// Whether the machine file at `machine` has `coefficients: none`.
[[nodiscard]] bool wants_no_coefficients(const std::string& machine);

/// Throws Error that points to `coefficients:` if the value is neither a path nor `none`, or if the value is a path but the
/// machine is not read from a file.
void check_own_coefficients(const YamlNode& machine_root);

}  // namespace ddl
