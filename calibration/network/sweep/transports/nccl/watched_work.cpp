#include "calibration/network/sweep/transports/nccl/watched_work.hpp"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"

namespace ddl::nccl {
namespace {

/// A thread and its result. The thread may outlive the thread that created it.
class Worker {
 public:
  explicit Worker(std::function<void()> work) {
    std::thread([state = state_, work = std::move(work)]() mutable {
      std::exception_ptr problem;
      try {
        work();
      } catch (...) {
        problem = std::current_exception();
      }
      work = nullptr;  // the resources of the work are freed before its end is signalled
      const std::lock_guard lock(state->mutex);
      state->problem = std::move(problem);  // the thread that waits frees it
      state->is_done = true;
      state->changed.notify_all();
    }).detach();
  }
  /// Returns whether the work is done within this time.
  bool wait_for(Seconds time) {
    std::unique_lock lock(state_->mutex);
    return state_->changed.wait_for(lock, std::chrono::duration<double>(time.value()), [&] { return state_->is_done; });
  }
  void rethrow() {
    std::unique_lock lock(state_->mutex);
    const std::exception_ptr problem = std::exchange(state_->problem, nullptr);
    lock.unlock();
    if (problem) std::rethrow_exception(problem);
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_done = false;
    std::exception_ptr problem;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

constexpr Seconds between_looks(5e-3);
/// How long to wait for abandoned work. It returns within milliseconds, or not at all.
constexpr Seconds to_come_back(5);

}  // namespace

void run_watched(const WatchedWork& watched) {
  Worker worker(watched.work);
  const auto start = std::chrono::steady_clock::now();
  try {
    while (!worker.wait_for(between_looks)) {
      watched.look();
      if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < watched.limit.value()) continue;
      throw Error(fmt::format("NCCL: {} is not done after {} s", watched.name, watched.limit.value()),
                  "another rank may have ended, or cannot be reached: NCCL_DEBUG=INFO shows how they connect; --patience "
                  "waits longer");
    }
  } catch (...) {
    watched.give_up();
    static_cast<void>(worker.wait_for(to_come_back));
    throw;
  }
  worker.rethrow();
}

bool is_done_within(Seconds limit, std::function<void()> work) {
  Worker worker(std::move(work));
  return worker.wait_for(limit);
}

}  // namespace ddl::nccl
