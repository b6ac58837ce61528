#pragma once

#include <atomic>

namespace ddl {

/// While one of these lives, Ctrl-C and SIGTERM ask the command to end with what it has; the second ends it at once. One may
/// live within another: what is asked of either is asked of both.
class Interrupt {
 public:
  Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  ~Interrupt();

  /// Whether this thread is to end: by a signal, or by a TimeLimit of its own.
  [[nodiscard]] static bool asked();
  /// As Ctrl-C does, where something else handles it.
  static void ask();
};

/// While one lives, its thread is asked to end once so many seconds are over or, where that is given, `given_up` is set:
/// then nobody waits for what it finds. One at a time in a thread.
class TimeLimit {
 public:
  explicit TimeLimit(double seconds, const std::atomic<bool>* given_up = nullptr);
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;
  ~TimeLimit();

  /// Whether one lives in this thread: nobody watches a terminal then.
  [[nodiscard]] static bool is_set();
};

}  // namespace ddl
