#pragma once

#include <string>
#include <string_view>

#include "model_zoo/importers/import.hpp"

namespace ddl {

/// What a module hands back: an import, or why there is none.
struct ImportOutcome {
  Import import{};
  std::string problem{}, hint{};
  bool failed = false;
};

/// What an importer that is a loadable module of its own exports as `ddl_import_module`. Program and module are built
/// together; the version says so.
struct ImportModule {
  int version;
  ImportOutcome (*run)(std::string_view bytes, const std::string& origin, const ImportOptions& options);
};
inline constexpr int import_module_version = 1;

}  // namespace ddl
