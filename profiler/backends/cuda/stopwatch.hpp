#pragma once

#include <functional>

#include <cuda_runtime_api.h>

#include "core/quantity.hpp"
#include "profiler/backends/kernel_backend.hpp"

namespace ddl::cuda {

/// Seconds of a clock of the host that never goes back. A function of its own, so that tests can put another clock there.
[[nodiscard]] double host_seconds();

/// An event of CUDA's, destroyed with its owner.
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

/// Times what is started in one stream, by events. A kernel that does nothing (`device::hold`) keeps the device busy while
/// the host starts the work, so that the time between the events is the device's and not the host's; and what two events
/// with nothing between them show, the event floor, is subtracted.
class Stopwatch {
 public:
  /// `clock_hz`: cycles of the device's multiprocessors in a second, at their highest clock: at a lower one it is held
  /// longer. Measures the event floor.
  Stopwatch(cudaStream_t stream, double clock_hz);

  /// Sum over the pieces of the work. Each is held for twice as long as the host took to start it the last time; one that
  /// was never run is held for `first_hold`. Sets `host_bound` where the host took longer to start a piece than the device
  /// was held.
  [[nodiscard]] Seconds time(TimedWork& work);
  /// What is subtracted from the time of each piece.
  [[nodiscard]] Seconds floor() const { return floor_; }

  static constexpr Seconds shortest_hold{20e-6};  ///< the start of one kernel takes a few µs
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
