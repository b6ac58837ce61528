#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "core/file_descriptor.hpp"

namespace ddl {

/// Seconds without a byte after which a pipe that somebody holds open is given up. Far more than a job that starts takes.
inline constexpr int most_silent_seconds = 600;

/// An input file that is read piece by piece. What is wrong with it, or that it is longer than `max_bytes`, is an Error that
/// names it.
class FileStream {
 public:
  FileStream(std::string path, std::size_t max_bytes, double silence_s = most_silent_seconds);

  /// Fills the front of `into`, which is not empty. How many bytes it has read; 0 at the end. A pipe that nobody opens for
  /// writing is an Error after two seconds, one that is silent after `silence_s`.
  [[nodiscard]] std::size_t read(std::span<char> into);

 private:
  [[nodiscard]] bool wait(int milliseconds) const;
  [[noreturn]] void refuse_longer() const;

  std::string path_;
  std::size_t max_bytes_;
  int silence_ms_;
  FileDescriptor file_;
  std::size_t bytes_ = 0;
  bool awaits_writer_ = false;
  int patience_ms_ = 2000;  ///< a shell takes a moment to start who writes
};

}  // namespace ddl
