#include "cli/commands/serve/turns.hpp"

#include <chrono>

namespace ddl {
namespace {

constexpr double first_level_seconds = 0.25;
/// How often a waiting question checks whether it was given up.
constexpr std::chrono::milliseconds given_up_interval{50};

}  // namespace

Turns::Turns(std::size_t at_once) : free_(static_cast<std::int64_t>(at_once)) {}

int Turns::level_of(double computed_seconds) {
  int level = 0;
  for (double end = first_level_seconds; computed_seconds >= end && level < 32; end *= 2) ++level;
  return level;
}

void Turns::wait(std::unique_lock<std::mutex>& lock, const Key& key, const std::atomic<bool>& given_up) {
  waiting_.insert(key);
  while (!given_up && (free_ <= 0 || *waiting_.begin() != key)) changed_.wait_for(lock, given_up_interval);
  waiting_.erase(key);
  --free_;
  changed_.notify_all();
}

Turns::Turn::Turn(Turns& turns, const std::atomic<bool>& given_up) : turns_(turns), given_up_(given_up) {
  std::unique_lock lock(turns_.mutex_);
  number_ = turns_.arrived_++;
  turns_.wait(lock, {0, number_}, given_up_);
}

Turns::Turn::~Turn() {
  const std::lock_guard lock(turns_.mutex_);
  ++turns_.free_;
  turns_.changed_.notify_all();
}

void Turns::Turn::give_way(double computed_seconds) {
  const int level = level_of(computed_seconds);
  std::unique_lock lock(turns_.mutex_);
  if (turns_.waiting_.empty() || turns_.waiting_.begin()->first >= level) return;
  ++turns_.free_;
  turns_.changed_.notify_all();
  turns_.wait(lock, {level, number_}, given_up_);
}

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace ddl
