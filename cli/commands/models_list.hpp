#pragma once

#include "cli/commands/commands.hpp"

namespace ddl {

/// Adds `models list`, which lists the bundled models by kind, with filters.
void add_models_list(const Command& models, Request& request);

}  // namespace ddl
