#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ddl {

/// Returns the violations of the project's architecture in a source tree, as sorted lines
/// `file:line: what`.
///
/// - A module only includes itself and the modules it is built on: core ← model_zoo ← {profiler,
/// estimator} ← calibration ← cli. Only tests include files of tests. A quoted path starts at the
/// top folder.
/// - The estimator computes: it uses no files, streams, clock, YAML or randomness.
/// - The estimator returns values, which cli turns into sentences. The estimator uses no fmt, and
/// no units for display.
/// - Only cli/main.cpp ends the process.
/// - Preprocessor conditions are only allowed in the folder of a profiler back end.
/// - Every source file, bundled data file and transcript is listed in the CMakeLists.txt of its
/// folder or of a folder above.
/// - The folders inside a folder form no cycle of includes. A folder and its subfolders count as
/// one. The files at the top of a module count as one more, `.`.
/// - No two types of one scope have the same name. Otherwise the linker would use the functions of
/// one type for the other, including those of `std::vector`.
[[nodiscard]] std::vector<std::string> architecture_violations(const std::filesystem::path& root);

}  // namespace ddl
