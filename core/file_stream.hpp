#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "core/file_descriptor.hpp"

namespace ddl {

/// Timeout for a pipe that another process holds open, in seconds without a byte. A job takes far less time to start.
inline constexpr int most_silent_seconds = 600;

/// An input file that is read in pieces. Throws Error that names the file if reading fails, or if it is longer than
/// `max_bytes`.
class FileStream {
 public:
  FileStream(std::string path, std::size_t max_bytes, double silence_s = most_silent_seconds);

  /// Reads into `into`, which must not be empty, and returns the number of bytes; 0 at the end. Throws Error for a pipe
  /// without a writer after two seconds, and for a silent pipe after `silence_s`.
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
  int patience_ms_ = 2000;  ///< a shell takes a moment to start the writer
};

}  // namespace ddl
