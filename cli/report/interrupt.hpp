#pragma once

#include <atomic>

namespace ddl {

/// While an instance exists, Ctrl-C and SIGTERM request that the command ends with its partial result; a second signal ends
/// it at once. Instances may be nested: a request applies to all of them.
class Interrupt {
 public:
  Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  ~Interrupt();

  /// Returns whether this thread should end, because of a signal or of its TimeLimit.
  [[nodiscard]] static bool asked();
  /// Has the effect of Ctrl-C, for callers that handle signals themselves.
  static void ask();
};

/// A time limit for the thread that creates an instance. The thread is asked to end after this many seconds, or when
/// `given_up` is set because the result is no longer needed. A thread has at most one instance.
class TimeLimit {
 public:
  explicit TimeLimit(double seconds, const std::atomic<bool>* given_up = nullptr);
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;
  ~TimeLimit();

  /// Returns whether this thread has a TimeLimit. If so, there is no user at a terminal.
  [[nodiscard]] static bool is_set();
};

}  // namespace ddl
