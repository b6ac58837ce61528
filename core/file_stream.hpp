#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "core/file_descriptor.hpp"

namespace ddl {

/// Timeout, in seconds without a byte, for a pipe that another process holds open. Far longer than a job takes to start.
inline constexpr int most_silent_seconds = 600;

/// An input file that is read in pieces. Read failures, and files longer than `max_bytes`, are an Error that names the file.
class FileStream {
 public:
  FileStream(std::string path, std::size_t max_bytes, double silence_s = most_silent_seconds);

  /// Reads into `into`, which must not be empty, and returns the number of bytes; 0 at the end. A pipe without a writer is
  /// an Error after two seconds, a silent one after `silence_s`.
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
