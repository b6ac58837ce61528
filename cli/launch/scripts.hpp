#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/embedded.hpp"

namespace ddl {

/// The Python files of launch/scripts, compiled into the program.
[[nodiscard]] std::span<const EmbeddedFile> launch_scripts();

}  // namespace ddl
