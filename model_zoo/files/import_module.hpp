#pragma once

#include <string>

#include "core/file_stream.hpp"
#include "model_zoo/files/import.hpp"

namespace ddl {

/// The interface that the loadable module of an importer exports as `ddl_import_module`.
struct ImportModule {
  Import (*run)(FileStream& file, const std::string& origin, const ImportOptions& options);
};
inline constexpr const char* import_module_symbol = "ddl_import_module";

}  // namespace ddl
