#pragma once

#include <functional>

#include <cuda_runtime_api.h>

#include "core/quantity.hpp"
#include "profiler/backends/kernel_backend.hpp"

namespace ddl::cuda {

/// The time of a monotonic host clock, in seconds. Tests replace this function by their own clock.
[[nodiscard]] double host_seconds();

/// A CUDA event, destroyed with its owner.
class Event {
 public:
  Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event();
  [[nodiscard]] cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Times work that is launched in one stream, by events. While the host launches the work, an idle
/// kernel (`device::hold`) keeps the device busy, so that the time between the events contains no
/// launches. The event floor is subtracted: the time between two events without work.
class Stopwatch {
 public:
  /// Measures the event floor. `clock_hz`: the highest clock of the device's multiprocessors, from which the length of the
  /// idle kernel is computed. At a lower clock, the idle kernel takes longer.
  Stopwatch(cudaStream_t stream, double clock_hz);

  /// Returns the sum of the times of the work's pieces. For each piece, the device is held for
  /// twice the host time of the piece's last launch, or for `first_hold` if the piece is new. Sets
  /// `host_bound` if the host took longer to launch a piece than the device was held.
  [[nodiscard]] Seconds time(TimedWork& work);
  /// The event floor in seconds, which is subtracted for each piece of the work.
  [[nodiscard]] Seconds floor() const { return floor_; }

  static constexpr Seconds shortest_hold{20e-6};  ///< longer than a kernel launch (a few µs)
  static constexpr Seconds first_hold{1e-3};
  static constexpr Seconds longest_hold{20e-3};

 private:
  struct Reading {
    Seconds time, starting;
  };
  [[nodiscard]] Reading read(const std::function<void()>& start, Seconds hold);

  cudaStream_t stream_;
  double clock_hz_;
  Event start_, end_;
  Seconds floor_{};
};

}  // namespace ddl::cuda
