#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "estimator/inputs/settings.hpp"

namespace ddl {

/// The keys of the settings that describe failures and checkpoints, and have options.
inline constexpr std::array<std::string_view, 8> recovery_keys{
    "mtbf",        "restart", "checkpoint_every", "checkpoint_time", "checkpoint_bandwidth", "checkpoint_writing",
    "spare_nodes", "repair"};

/// Returns whether ranks exchange gradients in a plan, so that settings of this exchange may have an effect.
[[nodiscard]] bool exchanges_gradients(const ModelFacts& facts, const Plan& plan);

/// Appends the settings that describe a whole training: failures, checkpoints and electrical power.
[[nodiscard]] std::vector<SettingRow> with_training_rows(std::vector<SettingRow> rows);

}  // namespace ddl
