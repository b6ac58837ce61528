#pragma once

#include <cstdint>

#include "cli/options/configurations/configuration.hpp"

namespace ddl {

inline constexpr std::int64_t most_configured_gpus = std::int64_t{1} << 20U;

/// The numbers of GPUs, of replicas of the model, and of shards. `shards` is 0 if the file does not
/// give the number of shards.
struct ConfiguredDevices {
  std::int64_t gpus = 0, replicas = 1, shards = 0;
};
/// Sets the choices of a plan from a configuration, except for mesh and batch. Options on the command line take precedence.
void choose_choices(ConfiguredOptions& options, const Configuration& configuration, const ConfiguredDevices& devices);

/// Returns the degree of an axis in the configuration; 1 if the configuration does not give the degree.
[[nodiscard]] std::int64_t configured_degree(const Configuration& configuration, ConfigField axis);
/// Gives the axis whose degree is -1 the devices that the other axes leave. Copies and shards keep their degrees. Throws
/// Error if the number of devices is unknown (0), or no multiple of the other degrees.
void give_rest(Configuration& configuration, std::int64_t gpus);
/// Returns the expert degree as this program defines it. If tensor parallelism leaves experts whole, tools count the tensor
/// ranks as part of the expert degree. In this case, the tool's expert degree is divided by the tensor degree.
[[nodiscard]] std::int64_t expert_degree(const Configuration& configuration);

}  // namespace ddl
