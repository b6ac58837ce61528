#pragma once

#include <cstdint>

#include <driver_types.h>

// Configuration and inspection of the emulated device.
namespace ddl::emulation {

/// Simulated clocks of a device and a host, which only advance with launched work. If it is off, times are those of this
/// machine's clock, and launches cost nothing.
struct Timeline {
  bool is_on = false;
  double host = 0;             ///< s: now, on the host
  double free_at = 0;          ///< s: when the device has finished all launched work
  double launch_cost = 5e-6;   ///< s of the host per kernel launch
  double kernel_time = 10e-6;  ///< s of the device for a kernel
  double event_time = 0;       ///< s of the device for an event
  std::int64_t queue = 1024;   ///< kernels that are queued; the host waits until there is room for one more
  std::int64_t launches = 0;   ///< so far, without graphs
  std::int64_t graph_launches = 0;
};
[[nodiscard]] Timeline& timeline();
/// Restarts with these clocks, with nothing launched.
void restart(const Timeline& timeline);

/// A kernel with this device time was launched.
void launched(double seconds);
/// The same with the timeline's own time.
void launched();

/// From now on every call fails with this status, as after an illegal memory access; cudaSuccess repairs the device.
void break_device(cudaError_t status);
/// The device breaks with the kernel that is launched after this many others.
void break_device_after(std::int64_t launches, cudaError_t status);

/// The properties reported by the device.
struct Properties {
  int major = 9, minor = 0, multiprocessors = 1;
  cudaError_t count_status = cudaSuccess;
  int driver = 13000;
  std::size_t memory = std::size_t{1} << 30U;  ///< maximum size of one allocation
};
[[nodiscard]] Properties& properties();

/// Products round fp32 inputs to this many bits after the binary point, as tensor cores do: 10 in tf32 [NVIDIA A100 Tensor
/// Core GPU Architecture, "TF32"]; 23 rounds nothing.
[[nodiscard]] int& product_bits();
[[nodiscard]] float rounded_for_product(float value);

}  // namespace ddl::emulation
