#pragma once

#include <string>
#include <string_view>

namespace ddl {

/// Whether a name refers to a user's file rather than a bundled file. It does if it contains a '/', or if it ends in
/// `.yaml`, `.yml` or `.onnx`; changes of a model may follow this ending, as in `net.onnx@input=3x640x640`.
[[nodiscard]] bool is_path(std::string_view name);
/// A key that all spellings of a name share: its letters and digits, in lower case.
[[nodiscard]] std::string name_key(std::string_view name);

}  // namespace ddl
