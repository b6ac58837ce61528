#pragma once

#include "cli/options/configurations/configuration.hpp"

namespace ddl {

/// Returns the first argument that is not modeled and can only lower memory; null if there is none. With such an argument, a
/// job may fit although the prediction does not.
[[nodiscard]] const ConfigEntry* unmodeled_saver(const Configuration& configuration);

/// Returns the first argument that is not modeled and raises memory; null if there is none. With such an argument, a job may
/// not fit although the prediction does. `model`: the predicted model.
[[nodiscard]] const ConfigEntry* unmodeled_raiser(const Configuration& configuration, const Model& model);

}  // namespace ddl
