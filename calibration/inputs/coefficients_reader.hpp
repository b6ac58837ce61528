#pragma once

#include <optional>
#include <string>

#include "estimator/inputs/coefficients.hpp"

namespace ddl {

/// The bundled coefficients of a machine of that name; empty if there are none.
[[nodiscard]] std::optional<Coefficients> bundled_coefficients(const std::string& machine_name);
/// Loads bundled coefficients by their own name or their machine's (spelled as name_key allows), or the user's own file if
/// the name has a '/' or ends in `.yaml` or `.yml`. If the name is unknown, throws Error that lists the known names.
[[nodiscard]] Coefficients load_coefficients(const std::string& name_or_path);
/// The text of the coefficients that a study uses (StudySpec), for extending it; empty if there are none.
[[nodiscard]] std::string coefficients_text(const std::string& name_or_path, const std::string& machine);
/// Reads a coefficients file (docs/coefficients.md). `origin` is printed in errors. The reader is strict: every number has a
/// source that the file lists. Times of split layers are fitted here (split_fit.hpp), so that the file contains the measured
/// times.
[[nodiscard]] Coefficients parse_coefficients(std::string text, std::string origin);

}  // namespace ddl
