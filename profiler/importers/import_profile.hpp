#pragma once

#include <string>

#include "profiler/importers/import.hpp"

namespace ddl {

/// Makes a profile of `model` from a file of another program: a trace of PyTorch's profiler or times of whole steps by
/// step_time.py (`.json`), or a table of layer times (`.csv`). Throws Error for any other file.
[[nodiscard]] ProfileImport import_profile(const std::string& path, const Model& model, const ProfileImportOptions& options);

}  // namespace ddl
