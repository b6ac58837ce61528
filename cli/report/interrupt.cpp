#include "cli/report/interrupt.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <utility>

namespace ddl {
namespace {

std::atomic<int> signals = 0;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler uses atomic integers");
std::atomic<int> living = 0;

using Clock = std::chrono::steady_clock;
struct OwnDeadline {
  bool set = false;
  Clock::time_point end;
  const std::atomic<bool>* given_up = nullptr;
  std::function<void()> give_way;
};
thread_local OwnDeadline limit;

extern "C" void note_signal(int signal) {
  signals = signals + 1;
  // The next signal ends the program immediately, because the current kernel may run for minutes.
  std::signal(signal, SIG_DFL);
}

}  // namespace

Interrupt::Interrupt() {
  if (living++ > 0) return;
  signals = 0;
  std::signal(SIGINT, note_signal);
  std::signal(SIGTERM, note_signal);
}

Interrupt::~Interrupt() {
  if (--living > 0) return;
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool Interrupt::asked() {
  if (signals > 0) return true;
  if (!limit.set) return false;
  if (limit.give_way) {
    const Clock::time_point begin = Clock::now();
    limit.give_way();
    limit.end += Clock::now() - begin;
  }
  return (limit.given_up != nullptr && *limit.given_up) || Clock::now() >= limit.end;
}

void Interrupt::ask() { signals = signals + 1; }

TimeLimit::TimeLimit(double seconds, const std::atomic<bool>* given_up, std::function<void()> give_way) {
  limit = {true, Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds)),
           given_up, std::move(give_way)};
}

TimeLimit::~TimeLimit() { limit = {}; }

bool TimeLimit::is_set() { return limit.set; }

}  // namespace ddl
