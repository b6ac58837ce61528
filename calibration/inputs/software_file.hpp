#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "estimator/choices/plan_choice.hpp"
#include "estimator/inputs/settings.hpp"

namespace ddl {

/// How a framework trains, according to its file (docs/software.md).
struct SoftwareFile {
  std::string name, description;
  std::string framework{};   ///< the software of which this one is a variant, not inherited; empty: it is no variant
  Settings settings;         ///< the settings in the file
  AdmittedChoices admits{};  ///< choices that a search may use

  /// The values of the file and of the files that it extends, in the order of the keys in docs/software.md.
  struct Line {
    std::string key, value, source;
  };
  std::vector<Line> lines{};
};

/// Names of the bundled software files, sorted.
[[nodiscard]] std::vector<std::string> software_names();
/// Loads a bundled file by name, or the user's own file if `name_or_path` is a path. Throws Error, with "did you mean", for
/// an unknown name, and for an invalid file.
[[nodiscard]] SoftwareFile load_software(const std::string& name_or_path);
[[nodiscard]] SoftwareFile parse_software(std::string text, std::string origin);

/// The software that a study uses if neither the user nor the coefficients name one.
inline constexpr std::string_view usual_software = "pytorch";
/// The name of the software in coefficients that were fitted to runs of an unnamed software.
inline constexpr std::string_view unnamed_software = "that of the runs";
/// The name of an ideal software that loses no time: it needs no launches by a host, no copies and no waiting.
inline constexpr std::string_view no_software = "none";

}  // namespace ddl
