#pragma once

#include <cstdint>

#include "cli/options/configurations/configuration.hpp"

namespace ddl {

inline constexpr std::int64_t most_configured_gpus = std::int64_t{1} << 20U;

/// Numbers of GPUs, of replicas of the model, and of shards. `shards`: 0 if the file does not give their number.
struct ConfiguredDevices {
  std::int64_t gpus = 0, replicas = 1, shards = 0;
};
/// Sets the choices of a plan other than its mesh and batch from a configuration. Options take precedence.
void choose_choices(ConfiguredOptions& options, const Configuration& configuration, const ConfiguredDevices& devices);

/// The degree of an axis in the configuration; 1 if the configuration does not give it.
[[nodiscard]] std::int64_t configured_degree(const Configuration& configuration, ConfigField axis);
/// The expert degree in the terms of this program. If a tensor split leaves experts whole, tools count the tensor ranks as
/// part of the expert degree. In this case, the function divides that degree by the tensor degree.
[[nodiscard]] std::int64_t expert_degree(const Configuration& configuration);

}  // namespace ddl
