#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "model_zoo/files/import.hpp"

namespace ddl {

/// Maximum size of a configuration. Most take a page, but a configuration with ten thousand labels takes hundreds of pages.
inline constexpr std::size_t max_configuration_bytes = std::size_t{4} << 20U;

/// A model file of a bundled family from the `config.json` that Hugging Face's transformers store with a model. Missing
/// settings have the library's defaults. `origin` is printed in errors, and is the fallback for the model's name: the folder
/// of a `config.json`, or the file.
///
/// Throws Error that points to a value that is invalid, or that the families do not support. With `options.allow_unknown`,
/// an unsupported value is only a warning. For an unknown `model_type`, the Error lists the known ones.
[[nodiscard]] Import import_hugging_face(std::string text, std::string origin, const ImportOptions& options = {});

/// The supported values of `model_type`, sorted.
[[nodiscard]] std::vector<std::string_view> hugging_face_model_types();

}  // namespace ddl
