#pragma once

#include <string>

#include "model_zoo/files/import.hpp"

namespace ddl {

/// Imports a file of another program. The format is recognized by the file's name: `.onnx`. Throws
/// Error if the name is not recognized, the file cannot be read, this build lacks the importer, or
/// the file is not supported. The result can be parsed as a model file.
[[nodiscard]] Import import_model(const std::string& path, const ImportOptions& options);

}  // namespace ddl
