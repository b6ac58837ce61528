#pragma once

#include <span>
#include <string_view>

namespace ddl {

/// A data file that is compiled into the program.
struct EmbeddedFile {
  std::string_view name;     ///< file name without folder or `.yaml`: `resnet50`
  std::string_view path;     ///< path in the source tree, for messages: `model_zoo/models/resnet50.yaml`
  std::string_view content;  ///< the content of the file
};

// A module embeds a folder with ddl_embed(TARGET target FUNCTION name FOLDER folder FILES …) in its CMakeLists.txt
// (cmake/EmbedFiles.cmake); the generated source defines `std::span<const EmbeddedFile> ddl::name()`, sorted by name.

}  // namespace ddl
