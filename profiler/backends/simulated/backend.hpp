#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/quantity.hpp"
#include "profiler/backends/kernel_backend.hpp"

namespace ddl {

/// A simulated device with known behavior: a kernel takes latency + max(flops / peak, bytes / bandwidth), multiplied by a
/// log-normal factor of median one. Nothing is computed and no clock is read, so a whole profile is reproducible.
struct SimulatedDevice {
  FlopRate peak = FlopRate(10e12);
  Bandwidth bandwidth = Bandwidth(500e9);
  Seconds latency = Seconds(5e-6);  ///< latency of each kernel
  double noise = 0.01;              ///< standard deviation of the factor's logarithm
  std::uint64_t seed = 1;
  /// Bandwidth of first touches of memory; unset if memory is not mapped page by page.
  std::optional<Bandwidth> fresh_memory{};
  bool operator==(const SimulatedDevice&) const = default;
};
[[nodiscard]] std::unique_ptr<KernelBackend> make_simulated_backend(const SimulatedDevice& device);

}  // namespace ddl
