#pragma once

#include <span>

#include "core/embedded.hpp"

namespace ddl {

[[nodiscard]] std::span<const EmbeddedFile> launch_scripts();

}  // namespace ddl
