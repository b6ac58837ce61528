#pragma once

#include <string>
#include <string_view>

namespace ddl {

/// Returns the bundled name for a published spelling (`ResNet50`, `VGG16`, `MegatronLM-2.5B`); any
/// other name is returned unchanged.
[[nodiscard]] std::string canonical_model_name(std::string_view name);
/// Returns whether a name is exactly a published spelling. Some published spellings look like a path, such as ViT-B/16.
[[nodiscard]] bool is_published_spelling(std::string_view name);

}  // namespace ddl
