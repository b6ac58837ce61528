#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "core/file_descriptor.hpp"

namespace ddl {

/// Timeout in seconds for a pipe that another process holds open without writing a byte. Starting
/// the writer, even as a batch job, takes far less time.
inline constexpr int most_silent_seconds = 600;

/// An input file that is read in pieces. Throws Error that names the file if reading fails, or if it is longer than
/// `max_bytes`.
class FileStream {
 public:
  FileStream(std::string path, std::size_t max_bytes, double silence_s = most_silent_seconds);

  /// Reads bytes into `into`, which must not be empty. Returns the number of bytes; 0 at the end of the file. Throws Error
  /// if a pipe has no writer for two seconds, or if no byte arrives for `silence_s` seconds.
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
  int patience_ms_ = 2000;  ///< remaining time to wait for a pipe's writer, which a shell may start late
};

}  // namespace ddl
