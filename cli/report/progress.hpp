#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ddl {

/// A progress bar with the remaining time, on the standard error. Prints nothing if the standard error is not a terminal.
class Progress {
 public:
  explicit Progress(std::size_t items);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  /// Updates the bar. Called before the next item, after `done` items. `skipped`: the number of
  /// done items that took no time.
  void show(std::size_t done, std::size_t skipped, std::string_view what);

 private:
  std::size_t items_;
  bool on_terminal_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// A progress bar for a task that usually ends quickly. It prints nothing in the first 0.2 seconds, and is then updated ten
/// times per second.
class LateProgress {
 public:
  explicit LateProgress(std::string_view what) : what_(what) {}

  /// Updates the bar: `done` of `items` are done. If `items` changes, the remaining time is estimated anew.
  void show(std::size_t done, std::size_t items);
  /// Changes the text after the bar.
  void say(std::string what) { what_ = std::move(what); }

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  Clock::time_point start_ = Clock::now(), shown_ = start_, told_ = start_;
  std::optional<Progress> progress_;
  std::size_t items_ = 0, done_before_ = 0;  ///< total number of items, and the number done when the bar appeared
};

/// While an instance exists, every LateProgress of this thread also reports its progress to `told`, at most ten times per
/// second. For servers, which have no terminal. A thread has at most one instance.
class ProgressListener {
 public:
  using Told = std::function<void(std::size_t done, std::size_t items, const std::string& what)>;
  explicit ProgressListener(Told told);
  ProgressListener(const ProgressListener&) = delete;
  ProgressListener& operator=(const ProgressListener&) = delete;
  ~ProgressListener();
  /// Passes progress to the instance of this thread, if there is one.
  static void tell(std::size_t done, std::size_t items, const std::string& what);

 private:
  Told told_;
};

/// Returns one line of the progress bar, at most `columns` wide: `[#####-----]  50 %  120/240  1
/// min 5 s left  convolution filters=…`.
[[nodiscard]] std::string progress_line(std::size_t done, std::size_t skipped, std::size_t items, double elapsed_seconds,
                                        std::string_view what, std::size_t columns);

}  // namespace ddl
