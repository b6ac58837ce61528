#pragma once

#include "cli/options/configurations/config_entry.hpp"

namespace ddl {

/// Programs with their own configurations often have the arguments of Hugging Face's Trainer in a section, such as
/// `training`, next to sections about the model and its adapters. If no known tool has such a file, renames the keys of
/// these sections to the Trainer's arguments. Messages show the keys as the file has them.
void unwrap_trainer_sections(ConfigEntries& settings);

}  // namespace ddl
