#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "estimator/choices/plan_choice.hpp"
#include "estimator/inputs/settings.hpp"

namespace ddl {

/// How a framework trains, as its file says it (docs/software.md).
struct SoftwareFile {
  std::string name, description;
  Settings settings;         ///< what it says of the settings that software may say
  AdmittedChoices admits{};  ///< what a search may choose

  /// What the file says, or the file that it extends, in the order of the keys in docs/software.md.
  struct Line {
    std::string key, value, source;
  };
  std::vector<Line> lines{};
};

/// Names of the bundled software files, sorted.
[[nodiscard]] std::vector<std::string> software_names();
/// A bundled file by name, or the user's own where `name_or_path` is a path. Throws Error, with "did you mean", on a name
/// that is none, and on a file that cannot be understood.
[[nodiscard]] SoftwareFile load_software(const std::string& name_or_path);
[[nodiscard]] SoftwareFile parse_software(std::string text, std::string origin);

/// The software that a study takes where neither it nor the coefficients name one.
inline constexpr std::string_view usual_software = "pytorch";
/// What coefficients call the software of runs that do not name it.
inline constexpr std::string_view unnamed_software = "that of the runs";
/// The name that stands for a software that loses no time: nothing is started by a host, copied or waited for.
inline constexpr std::string_view no_software = "none";

}  // namespace ddl
