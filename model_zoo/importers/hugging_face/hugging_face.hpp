#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "model_zoo/importers/import.hpp"

namespace ddl {

/// Longest configuration: it is a page; ten thousand labels are some hundred pages.
inline constexpr std::size_t max_configuration_bytes = std::size_t{4} << 20U;

/// A model file of a bundled family from the `config.json` that Hugging Face's transformers keep beside a model. What the
/// configuration leaves out has the library's default. `origin` is printed in errors, and names a model that nothing else
/// names: by the folder of a `config.json`, or by the file.
///
/// Throws an Error: placed at the value for one that cannot be, or that the families do not know (for the latter a warning,
/// with `options.allow_unknown`); with the list of known ones for a `model_type` without a family.
[[nodiscard]] Import import_hugging_face(std::string text, std::string origin, const ImportOptions& options = {});

/// The values of `model_type` that can be read, sorted.
[[nodiscard]] std::vector<std::string_view> hugging_face_model_types();

}  // namespace ddl
