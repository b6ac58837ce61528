#pragma once

#include <string>
#include <string_view>

#include "core/file_stream.hpp"
#include "model_zoo/files/import.hpp"

namespace ddl {

/// Returns a model file for the network in an ONNX file. `origin`: the name of the ONNX file in
/// messages. Throws Error if the file is not an ONNX file, or has an unsupported node.
[[nodiscard]] Import import_onnx(FileStream& file, const std::string& origin, const ImportOptions& options);
/// Imports the bytes of an ONNX file.
[[nodiscard]] Import import_onnx(std::string_view bytes, const std::string& origin, const ImportOptions& options);

}  // namespace ddl
