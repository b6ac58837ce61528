#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ddl {

/// Violations of the project's architecture in a source tree, as sorted lines `file:line: what`.
///
/// - A module only includes itself and the modules it is built on: core ← model_zoo ← {profiler, estimator} ← calibration ←
/// cli; nothing
///   outside tests includes tests; a quoted path starts at the top folder.
/// - estimator computes: no files, streams, clock, YAML or randomness.
/// - estimator returns values, which cli turns into sentences: no fmt, and no units for display.
/// - Only cli/main.cpp ends the process.
/// - Preprocessor conditions are only allowed in a profiler back end's own folder.
/// - Every source and bundled data file is listed in the CMakeLists.txt of its folder or of one above; so is every
/// transcript.
/// - The folders inside a folder form no cycle of includes. A folder and its subfolders count as one; the files at the top
///   of a module count as one more, `.`.
/// - No two types of one scope have the same name: the linker would use the functions of one for the other, too, including
///   those of `std::vector`.
[[nodiscard]] std::vector<std::string> architecture_violations(const std::filesystem::path& root);

}  // namespace ddl
