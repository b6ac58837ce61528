#pragma once

#include <string>

#include "model_zoo/importers/import.hpp"

namespace ddl {

/// Imports another program's file by what it is named: `.onnx`. An Error where the name says nothing, the file cannot be
/// read, the importer is not in this build, or the file is not understood. What comes back reads as a model file.
[[nodiscard]] Import import_model(const std::string& path, const ImportOptions& options);

}  // namespace ddl
