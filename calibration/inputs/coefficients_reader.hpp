#pragma once

#include <optional>
#include <string>

#include "estimator/inputs/coefficients.hpp"

namespace ddl {

/// The bundled coefficients of the machine with this name; empty if the machine has none.
[[nodiscard]] std::optional<Coefficients> bundled_coefficients(const std::string& machine_name);
/// Loads the user's own file if `name_or_path` has a '/' or ends in `.yaml` or `.yml`. Otherwise
/// loads bundled coefficients by their own name or by the name of their machine, in any spelling
/// that name_key allows. If the name is unknown, throws Error that lists the known names.
[[nodiscard]] Coefficients load_coefficients(const std::string& name_or_path);
/// The text of the coefficients file that a study uses; empty if there is no file. Commands add sections to this text.
[[nodiscard]] std::string coefficients_text(const std::string& name_or_path, const std::string& machine);
/// Reads a coefficients file (docs/coefficients.md). `origin` is printed in errors. The reader is
/// strict: every number must have a source that the file lists. If the file has measured times of
/// split layers, this function also fits the undivided fraction to these times (split_fit.hpp).
[[nodiscard]] Coefficients parse_coefficients(std::string text, std::string origin);

}  // namespace ddl
