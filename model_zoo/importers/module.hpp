#pragma once

#include <string>
#include <string_view>

#include "model_zoo/importers/import.hpp"

namespace ddl {

/// What an importer that is a loadable module of its own exports as `ddl_import_module`.
struct ImportModule {
  Import (*run)(std::string_view bytes, const std::string& origin, const ImportOptions& options);
};
inline constexpr const char* import_module_symbol = "ddl_import_module";

}  // namespace ddl
