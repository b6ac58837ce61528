#pragma once

#include <cstdint>

#include "cli/options/configurations/configuration.hpp"

namespace ddl {

inline constexpr std::int64_t most_configured_gpus = std::int64_t{1} << 20U;

/// GPUs, replicas of the model, and shards of each; 0: they are not counted.
struct ConfiguredDevices {
  std::int64_t gpus = 0, replicas = 1, shards = 0;
};
/// Chooses what a configuration says of a plan in addition to its mesh and batch, unless an option says it.
void choose_choices(ConfiguredOptions& options, const Configuration& configuration, const ConfiguredDevices& devices);

/// A degree; 1 if it is not given.
[[nodiscard]] std::int64_t configured_degree(const Configuration& configuration, ConfigField axis);
/// The ranks among which experts are divided, in addition to those of tensor. Where a tensor split leaves experts whole,
/// tools count its ranks among those of expert.
[[nodiscard]] std::int64_t expert_degree(const Configuration& configuration);

}  // namespace ddl
