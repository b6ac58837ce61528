#pragma once

#include <functional>

#include <cuda_runtime_api.h>

#include "core/quantity.hpp"
#include "profiler/backends/kernel_backend.hpp"

namespace ddl::cuda {

/// Seconds of a monotonic host clock. It is a separate function so that tests can replace the clock.
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

/// Times work that is launched in one stream, by events. A kernel that does nothing (`device::hold`) keeps the device busy
/// while the host launches the work, so that the time between the events is the device's and not the host's. The event
/// floor, which is the time between two events with no work between them, is subtracted.
class Stopwatch {
 public:
  /// Measures the event floor. `clock_hz`: the highest clock of the device's multiprocessors. At a lower clock, the device
  /// is held longer.
  Stopwatch(cudaStream_t stream, double clock_hz);

  /// Returns the sum over the pieces of the work. For each piece, the device is held for twice the host time of its last
  /// launch, or for `first_hold` if the piece is new. Sets `host_bound` if the host took longer to launch a piece than the
  /// device was held.
  [[nodiscard]] Seconds time(TimedWork& work);
  /// The time that is subtracted for each piece.
  [[nodiscard]] Seconds floor() const { return floor_; }

  static constexpr Seconds shortest_hold{20e-6};  ///< a kernel launch takes a few µs
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
