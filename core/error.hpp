#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace ddl {

/// What ends a command: bad input, a missing file, a contradiction the user wrote. Thrown where the fact is known, caught
/// once, in `main`, which prints `message`, then `hint`, and exits with 2. What a caller is expected to handle is a value
/// instead.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, std::string hint = {}) : std::runtime_error(message), hint_(std::move(hint)) {}

  /// What to do about it, without the word "hint"; empty when there is nothing to say.
  [[nodiscard]] const std::string& hint() const { return hint_; }

 private:
  std::string hint_;
};

}  // namespace ddl
