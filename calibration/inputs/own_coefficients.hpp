#pragma once

#include <optional>
#include <string>

#include "core/yaml_node.hpp"

namespace ddl {

/// Coefficients that come with a machine file of the user's.
struct OwnCoefficients {
  std::string path;
  bool is_named = false;  ///< by `coefficients:` in the machine file; else they are next to it
};
/// In words: `named in the machine file`, or `next to the machine file`.
[[nodiscard]] inline const char* place_of(const OwnCoefficients& own) {
  return own.is_named ? "named in the machine file" : "next to the machine file";
}

/// Those of the machine file at `machine`: named in it, or `cluster.coefficients.yaml` next to `cluster.yaml`. Nothing for a
/// bundled machine, for what is no regular file, and where the file says `coefficients: none`. An Error placed at
/// `coefficients:` when that file is missing.
[[nodiscard]] std::optional<OwnCoefficients> own_coefficients(const std::string& machine);

/// Whether the machine file at `machine` says `coefficients: none`.
[[nodiscard]] bool wants_no_coefficients(const std::string& machine);

/// Refuses, placed, a `coefficients:` that is neither a path nor `none`, and one of a machine that is read from no file.
void check_own_coefficients(const YamlNode& machine_root);

}  // namespace ddl
