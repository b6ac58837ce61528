#pragma once

#include <span>
#include <string_view>

#include "profiler/backends/backend_module.hpp"

namespace ddl {

/// A back end that is linked into the program, as selected by DDL_LINK_BACKENDS.
struct LinkedBackend {
  std::string_view name;
  const BackendModule* module;
};
/// The source of this function is generated when the build is configured.
[[nodiscard]] std::span<const LinkedBackend> linked_backends();

}  // namespace ddl
