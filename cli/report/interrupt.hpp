#pragma once

#include <atomic>

namespace ddl {

/// While an instance exists, Ctrl-C and SIGTERM request that the command ends with its partial result; the second one ends
/// it at once. Instances may be nested: a request applies to all of them.
class Interrupt {
 public:
  Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  ~Interrupt();

  /// Whether this thread is to end: because of a signal, or because of its TimeLimit.
  [[nodiscard]] static bool asked();
  /// Requests the same as Ctrl-C, for callers with their own signal handling.
  static void ask();
};

/// While an instance exists, its thread is asked to end after this many seconds or, if given, when `given_up` is set because
/// its result is no longer needed. At most one per thread.
class TimeLimit {
 public:
  explicit TimeLimit(double seconds, const std::atomic<bool>* given_up = nullptr);
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;
  ~TimeLimit();

  /// Whether this thread has one: it then has no user at a terminal.
  [[nodiscard]] static bool is_set();
};

}  // namespace ddl
