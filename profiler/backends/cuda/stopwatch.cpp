#include "profiler/backends/cuda/stopwatch.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/statistics.hpp"
#include "profiler/backends/cuda/kernels.hpp"
#include "profiler/backends/cuda/status.hpp"

namespace ddl::cuda {

Event::Event() { check(cudaEventCreate(&event_), "an event"); }
Event::~Event() { static_cast<void>(cudaEventDestroy(event_)); }

Stopwatch::Stopwatch(cudaStream_t stream, double clock_hz) : stream_(stream), clock_hz_(clock_hz) {
  // Raises the clocks first, because the event floor is larger on an idle device than on a busy one.
  constexpr int holds = 5;
  for (int i = 0; i < holds; ++i) static_cast<void>(read([] {}, longest_hold));
  constexpr int samples = 31;
  std::vector<double> floors;
  for (int i = 0; i < samples; ++i) floors.push_back(read([] {}, shortest_hold).time.value());
  floor_ = Seconds(median(floors));
}

Stopwatch::Reading Stopwatch::read(const std::function<void()>& start, Seconds hold) {
  started(device::hold(stream_, static_cast<std::int64_t>(hold.value() * clock_hz_)));
  check(cudaEventRecord(start_.get(), stream_), "an event");
  const double before = host_seconds();
  start();
  const Seconds starting(host_seconds() - before);
  check(cudaEventRecord(end_.get(), stream_), "an event");
  check(cudaEventSynchronize(end_.get()), "running a kernel");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, start_.get(), end_.get()), "an event");
  return {Seconds(static_cast<double>(milliseconds) / 1e3), starting};
}

Seconds Stopwatch::time(TimedWork& work) {
  Seconds sum{};
  work.host_bound = false;
  for (TimedWork::Piece& piece : work.pieces) {
    const bool is_known = piece.starting.value() > 0;
    const Seconds hold = is_known ? std::clamp(2.0 * piece.starting, shortest_hold, longest_hold) : first_hold;
    const Reading reading = read(piece.start, hold);
    work.host_bound = work.host_bound || reading.starting > hold;
    // The host clock may be the same before and after a short launch, but 0 would mean that the piece never ran.
    piece.starting = std::max(reading.starting, Seconds(1e-9));
    sum += std::max(reading.time - floor_, Seconds());
  }
  return sum;
}

}  // namespace ddl::cuda
