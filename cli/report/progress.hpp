#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ddl {

/// A progress bar with the remaining time on the standard error if that is a terminal; otherwise no output.
class Progress {
 public:
  explicit Progress(std::size_t items);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  /// Called before the next item, after `done` items; `skipped` of those took no time.
  void show(std::size_t done, std::size_t skipped, std::string_view what);

 private:
  std::size_t items_;
  bool on_terminal_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// The same for a task that usually ends quickly: no output in its first second, then ten updates per second.
class LateProgress {
 public:
  explicit LateProgress(std::string_view what) : what_(what) {}

  /// `done` of `items` are done. `items` may change: the remaining time is then estimated anew.
  void show(std::size_t done, std::size_t items);

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  Clock::time_point start_ = Clock::now(), shown_ = start_;
  std::optional<Progress> progress_;
  std::size_t items_ = 0, done_before_ = 0;  ///< total of the bar, and the number done when it appeared
};

/// One line of it, at most `columns` wide: `[#####-----]  50 %  120/240  1 min 5 s left  convolution filters=…`.
[[nodiscard]] std::string progress_line(std::size_t done, std::size_t skipped, std::size_t items, double elapsed_seconds,
                                        std::string_view what, std::size_t columns);

}  // namespace ddl
