#pragma once

#include <string>

namespace ddl {

/// The text of the coefficients into which a command writes what it found: of the file `path` where there is one, else of
/// those bundled with the machine, else a head without numbers. `begin_with`: what the user names instead (a path, a bundled
/// name, `none`; empty: nothing), for a file that is not there yet. `machine` is as the user typed it. Throws Error where
/// writing `path` would lose anything: it is of another machine, was read as something else, or exists in addition to
/// `begin_with`.
[[nodiscard]] std::string coefficients_to_extend(const std::string& path, const std::string& machine,
                                                 const std::string& begin_with = {});

/// Of coordinated universal time: 2026-01-31.
[[nodiscard]] std::string today();

}  // namespace ddl
