#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "tests/cli/transcript.hpp"

namespace ddl {

/// A fresh temporary folder in which the commands of one transcript run, with `ddl-oracle` on PATH, no standard input, no
/// colors, and 100 columns. The folder is removed with the object.
class Sandbox {
 public:
  /// `program`: the executable in the folder that is put on PATH. A command that runs longer than `limit` is killed.
  explicit Sandbox(const std::filesystem::path& program, std::chrono::milliseconds limit = std::chrono::seconds(60));
  ~Sandbox();
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  void write(const TranscriptFile& file) const;
  /// Runs a command. With `one_output`, standard error is written to standard output, in the order of writing.
  [[nodiscard]] CommandOutcome run(const std::string& shell_command, bool one_output) const;

 private:
  std::filesystem::path folder_;  ///< holds work/ and the captured outputs
  std::filesystem::path program_;
  std::chrono::milliseconds limit_;
};

}  // namespace ddl
