#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace ddl {

/// The error that this process can no longer use a device, because every later call would fail. The error ends the process.
/// It is not derived from Error, so that code that continues after an Error (with the next algorithm or problem) does not
/// catch it.
class DeviceLost : public std::runtime_error {
 public:
  explicit DeviceLost(const std::string& message, std::string hint = {})
      : std::runtime_error(message), hint_(std::move(hint)) {}

  /// What the user can do about the lost device, without the word "hint".
  [[nodiscard]] const std::string& hint() const { return hint_; }

 private:
  std::string hint_;
};

}  // namespace ddl
