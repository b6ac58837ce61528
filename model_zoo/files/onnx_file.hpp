#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model_zoo/files/import.hpp"

namespace ddl {

/// Returns whether a path names an ONNX file: `net.onnx`, in upper or lower case.
[[nodiscard]] bool is_onnx_file(std::string_view path);
/// Imports an ONNX file with the loadable module that reads ONNX files. Throws Error if the file cannot be read or is not
/// supported, or if this build has no such module.
[[nodiscard]] Import import_onnx_file(const std::string& path, const ImportOptions& options);
/// Parses sizes such as `3x640x640`. Throws Error for any other text. `what`: the name of the option or key with this text,
/// for the error.
[[nodiscard]] std::vector<std::int64_t> parse_input_shape(const std::string& what, const std::string& text);

}  // namespace ddl
