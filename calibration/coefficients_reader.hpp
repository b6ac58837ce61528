#pragma once

#include <optional>
#include <string>

#include "estimator/coefficients.hpp"

namespace ddl {

/// The coefficients that come with the program for a machine of that name; nothing where there are none.
[[nodiscard]] std::optional<Coefficients> bundled_coefficients(const std::string& machine_name);
/// The user's own file, as written by `calibrate`.
[[nodiscard]] Coefficients load_coefficients(const std::string& path);
/// Reads a coefficients file (docs/coefficients.md); `origin` is printed in errors. Strict: every number has a source that
/// the file lists. Times of split layers are fitted here (split_fit.hpp), so that the file keeps what was measured.
[[nodiscard]] Coefficients parse_coefficients(std::string text, std::string origin);

}  // namespace ddl
