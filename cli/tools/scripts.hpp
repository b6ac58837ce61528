#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/embedded.hpp"

namespace ddl {

[[nodiscard]] std::span<const EmbeddedFile> launch_scripts();

}  // namespace ddl
