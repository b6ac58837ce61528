#pragma once

#include <string>
#include <string_view>

namespace ddl {

/// Whether a name refers to a user's file rather than a bundled file. The name of a user's file contains a '/', or ends in
/// `.yaml`, `.yml` or `.onnx`. Changes of the model's parameters may follow the ending, as in `net.onnx@input=3x640x640`.
[[nodiscard]] bool is_path(std::string_view name);
/// A key that all spellings of a name share: its letters and digits, in lower case.
[[nodiscard]] std::string name_key(std::string_view name);

}  // namespace ddl
