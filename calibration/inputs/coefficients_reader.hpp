#pragma once

#include <optional>
#include <string>

#include "estimator/inputs/coefficients.hpp"

namespace ddl {

/// The coefficients that come with the program for a machine of that name; nothing if there are none.
[[nodiscard]] std::optional<Coefficients> bundled_coefficients(const std::string& machine_name);
/// Bundled coefficients by their own name or their machine's (spelled as name_key allows), or the user's own file when the
/// name has a '/' or ends in `.yaml` or `.yml`. An unknown name is an Error that lists those there are.
[[nodiscard]] Coefficients load_coefficients(const std::string& name_or_path);
/// The text of the coefficients that a study would use (StudySpec), to be extended; empty where there are none.
[[nodiscard]] std::string coefficients_text(const std::string& name_or_path, const std::string& machine);
/// Reads a coefficients file (docs/coefficients.md); `origin` is printed in errors. Strict: every number has a source that
/// the file lists. Times of split layers are fitted here (split_fit.hpp), so that the file keeps what was measured.
[[nodiscard]] Coefficients parse_coefficients(std::string text, std::string origin);

}  // namespace ddl
