#pragma once

#include <atomic>
#include <functional>

namespace ddl {

/// While an Interrupt exists, the first Ctrl-C or SIGTERM asks the command to end with a partial result. A second signal
/// ends the command immediately. Instances may be nested: a signal applies to all of them.
class Interrupt {
 public:
  Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  ~Interrupt();

  /// Returns whether this thread should end, because of a signal or because of its TimeLimit.
  [[nodiscard]] static bool asked();
  /// Asks the command to end, as Ctrl-C does. For callers that handle signals themselves.
  static void ask();
};

/// A time limit for the thread that creates an instance. The thread is asked to end after this many seconds, or when
/// `given_up` is set because the result is no longer needed. `give_way` is called whenever the thread checks whether it
/// should end; it may wait, and this time does not count. A thread has at most one instance.
class TimeLimit {
 public:
  explicit TimeLimit(double seconds, const std::atomic<bool>* given_up = nullptr, std::function<void()> give_way = {});
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;
  ~TimeLimit();

  /// Returns whether this thread has a TimeLimit. A thread with a TimeLimit works for a server, so
  /// no user waits at a terminal.
  [[nodiscard]] static bool is_set();
};

}  // namespace ddl
