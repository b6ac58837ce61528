#pragma once

#include <string>
#include <string_view>

namespace ddl {

/// Returns whether a name refers to a user's file, and not to a bundled file. The name of a user's
/// file contains a '/', or ends in `.yaml`, `.yml`, `.onnx` or `.json`. Changes of the model's parameters
/// may follow the ending, as in `net.onnx@input=3x640x640`.
[[nodiscard]] bool is_path(std::string_view name);
/// Returns a key that is equal for all spellings of a name: the letters and digits of the name, in lower case.
[[nodiscard]] std::string name_key(std::string_view name);

}  // namespace ddl
