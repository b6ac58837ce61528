#pragma once

#include <cstdint>

#include <driver_types.h>

// The functions configure and inspect the emulated device.
namespace ddl::emulation {

/// Simulated clocks of a device and a host, which only advance with launched work. If the clocks
/// are off, times are those of this machine's clock, and launches cost nothing.
struct Timeline {
  bool is_on = false;
  double host = 0;             ///< current time of the host, s
  double free_at = 0;          ///< time at which the device has finished all launched work, s
  double launch_cost = 5e-6;   ///< time of the host per kernel launch, s
  double kernel_time = 10e-6;  ///< time of the device for a kernel, s
  double event_time = 0;       ///< time of the device for an event, s
  std::int64_t queue = 1024;   ///< number of kernels that can be queued; the host waits if the queue is full
  std::int64_t launches = 0;   ///< number of launches so far, without graphs
  std::int64_t graph_launches = 0;
};
[[nodiscard]] Timeline& timeline();
/// Restarts with these clocks and an empty queue.
void restart(const Timeline& timeline);

/// Records the launch of a kernel with this device time in seconds.
void launched(double seconds);
/// Records the launch of a kernel with the timeline's kernel time.
void launched();

/// From this call on, every call of the runtime fails with this status, as after an illegal memory
/// access. cudaSuccess repairs the device.
void break_device(cudaError_t status);
/// The device breaks when a kernel is launched after this many other launches.
void break_device_after(std::int64_t launches, cudaError_t status);

/// The properties reported by the device.
struct Properties {
  int major = 9, minor = 0, multiprocessors = 1;
  cudaError_t count_status = cudaSuccess;
  int driver = 13000;
  std::size_t memory = std::size_t{1} << 30U;  ///< maximum size of one allocation
};
[[nodiscard]] Properties& properties();

/// The number of bits after the binary point to which products round fp32 inputs, as tensor cores do: 10 in tf32 [NVIDIA
/// A100 Tensor Core GPU Architecture, "TF32"]. With 23 bits, inputs are not rounded.
[[nodiscard]] int& product_bits();
[[nodiscard]] float rounded_for_product(float value);

}  // namespace ddl::emulation
