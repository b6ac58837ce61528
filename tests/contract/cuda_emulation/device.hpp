#pragma once

#include <cstdint>

#include <driver_types.h>

// What tests may say of the emulated device, and ask it.
namespace ddl::emulation {

/// A device and a host with clocks of their own that stand still but for what is started. Where it is not on, times are
/// those of this machine's clock, and starting costs nothing.
struct Timeline {
  bool is_on = false;
  double host = 0;             ///< s: now, on the host
  double free_at = 0;          ///< s: when the device has done all that was started
  double launch_cost = 5e-6;   ///< s of the host to start a kernel
  double kernel_time = 10e-6;  ///< s of the device for a kernel
  double event_time = 0;       ///< s of the device for an event
  std::int64_t queue = 1024;   ///< kernels that are taken in ahead of time; the host waits until there is room for one more
  std::int64_t launches = 0;   ///< so far, without graphs
  std::int64_t graph_launches = 0;
};
[[nodiscard]] Timeline& timeline();
/// Begins with these clocks, with nothing started.
void restart(const Timeline& timeline);

/// A kernel was started that takes the device so long.
void launched(double seconds);
/// The same with the timeline's own time.
void launched();

/// From now on every call fails with this status, as after a kernel that read where it may not; cudaSuccess mends the
/// device.
void break_device(cudaError_t status);
/// The device breaks with the kernel that is started after so many others.
void break_device_after(std::int64_t launches, cudaError_t status);

/// What the device says of itself.
struct Properties {
  int major = 9, minor = 0, multiprocessors = 1;
  cudaError_t count_status = cudaSuccess;
  int driver = 13000;
  std::size_t memory = std::size_t{1} << 30U;  ///< that one allocation may have
};
[[nodiscard]] Properties& properties();

/// Products read fp32 rounded to so many bits behind the point, as tensor cores do: 10 in tf32 [NVIDIA A100 Tensor Core GPU
/// Architecture, "TF32"]; 23 rounds nothing.
[[nodiscard]] int& product_bits();
[[nodiscard]] float rounded_for_product(float value);

}  // namespace ddl::emulation
