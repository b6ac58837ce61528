#pragma once

#include <string>

namespace ddl {

/// Returns the text of the coefficients file that a command extends. If the file `path` exists, this is its content.
/// Otherwise it is the file that the user chose with `begin_with` (a path, a bundled name or `none`), else the coefficients
/// bundled with the machine, else a file header without coefficients. `machine` is as the user typed it. Throws Error if
/// writing `path` would destroy data: the file belongs to another machine, was read as another type of input, or exists
/// although `begin_with` is given.
[[nodiscard]] std::string coefficients_to_extend(const std::string& path, const std::string& machine,
                                                 const std::string& begin_with = {});

/// Returns today's date in UTC: `2026-01-31`.
[[nodiscard]] std::string today();

}  // namespace ddl
