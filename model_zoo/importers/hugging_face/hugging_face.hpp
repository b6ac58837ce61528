#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "model_zoo/files/import.hpp"

namespace ddl {

/// Maximum size of a configuration in bytes. Most configurations have one page, but a configuration
/// with ten thousand labels has hundreds of pages.
inline constexpr std::size_t max_configuration_bytes = std::size_t{4} << 20U;

/// Converts the `config.json` that Hugging Face's transformers store with a model to a model file of a bundled family.
/// Missing settings have the library's defaults. `origin` is printed in errors. If the file contains no name, the model is
/// named after `origin`: after the folder of a `config.json`, or after the file.
///
/// Throws Error that points to a value that is invalid, or that the families do not support. With `options.allow_unknown`,
/// an unsupported value only causes a warning. For an unknown `model_type`, the Error lists the known types.
[[nodiscard]] Import import_hugging_face(std::string text, const std::string& origin, const ImportOptions& options = {});

/// Returns the supported values of `model_type`, sorted.
[[nodiscard]] std::vector<std::string_view> hugging_face_model_types();

}  // namespace ddl
