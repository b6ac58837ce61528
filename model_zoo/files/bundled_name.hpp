#pragma once

#include <string>
#include <string_view>

namespace ddl {

/// Whether a name refers to a user's file rather than a bundled one: it contains a '/', or ends in `.yaml`, `.yml` or
/// `.onnx`, also before the changes of a model, as in `net.onnx@input=3x640x640`.
[[nodiscard]] bool is_path(std::string_view name);
/// A key that all spellings of a name share: its letters and digits, in lower case.
[[nodiscard]] std::string name_key(std::string_view name);

}  // namespace ddl
