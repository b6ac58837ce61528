#pragma once

#include <cstdint>

#include "cli/options/configurations/configuration.hpp"

namespace ddl {

inline constexpr std::int64_t most_configured_gpus = std::int64_t{1} << 20U;

/// Numbers of GPUs, of replicas of the model, and of shards of each replica; 0: shards are not counted.
struct ConfiguredDevices {
  std::int64_t gpus = 0, replicas = 1, shards = 0;
};
/// Sets the choices of a plan other than its mesh and batch from a configuration. Options take precedence.
void choose_choices(ConfiguredOptions& options, const Configuration& configuration, const ConfiguredDevices& devices);

/// A degree; 1 if it is not given.
[[nodiscard]] std::int64_t configured_degree(const Configuration& configuration, ConfigField axis);
/// The expert degree, without the tensor degree. If a tensor split leaves experts whole, tools count its ranks as part of
/// the expert degree.
[[nodiscard]] std::int64_t expert_degree(const Configuration& configuration);

}  // namespace ddl
