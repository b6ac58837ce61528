#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/quantity.hpp"
#include "profiler/backends/kernel_backend.hpp"

namespace ddl {

/// A device that does not exist, of which everything is known: kernels take latency + max(flops / peak, bytes / bandwidth),
/// times a log-normal factor of median one. No clock is read and nothing computed, so that a whole profile is the same each
/// time.
struct SimulatedDevice {
  FlopRate peak = FlopRate(10e12);
  Bandwidth bandwidth = Bandwidth(500e9);
  Seconds latency = Seconds(5e-6);  ///< of each kernel
  double noise = 0.01;              ///< standard deviation of the factor's logarithm
  std::uint64_t seed = 1;
  /// At which memory is first touched; none where it is not mapped page by page.
  std::optional<Bandwidth> fresh_memory{};
  bool operator==(const SimulatedDevice&) const = default;
};
[[nodiscard]] std::unique_ptr<KernelBackend> make_simulated_backend(const SimulatedDevice& device);

}  // namespace ddl
