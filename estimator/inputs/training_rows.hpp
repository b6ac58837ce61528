#pragma once

#include <vector>

#include "estimator/inputs/settings.hpp"

namespace ddl {

/// Appends the settings that describe a whole training: failures, checkpoints and electrical power.
[[nodiscard]] std::vector<SettingRow> with_training_rows(std::vector<SettingRow> rows);

}  // namespace ddl
