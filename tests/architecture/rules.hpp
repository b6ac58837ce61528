#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ddl {

/// What a source tree does against the project's architecture, as sorted lines `file:line: what`; empty when nothing.
///
/// - A module includes itself and what it is built on: core ← model_zoo ← {profiler, estimator} ← calibration ← cli; nothing
///   outside tests includes tests; a quoted path starts at the top folder.
/// - estimator computes: no files, streams, clock, YAML or randomness.
/// - estimator returns values, of which cli makes sentences: no fmt, nor units for people.
/// - Only cli/main.cpp ends the process.
/// - Preprocessor conditions stand only in a profiler back end's own folder.
/// - Every source and bundled data file is listed in the CMakeLists.txt of its folder or of one above; so is every
/// transcript.
/// - The folders inside a folder form no circle of includes. A folder and its subfolders count as one; the files at the top
///   of a module count as one more, `.`.
/// - No two types of one scope have the same name: the linker takes the functions of one for those of the other, too, as
///   `std::vector` of it has them.
[[nodiscard]] std::vector<std::string> architecture_violations(const std::filesystem::path& root);

}  // namespace ddl
