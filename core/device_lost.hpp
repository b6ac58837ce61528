#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace ddl {

/// The error after which this process cannot use a device any more, because every later call to the
/// device would fail. The error ends the process. DeviceLost is not derived from Error. Code that
/// catches an Error and continues with the next algorithm or problem must not catch DeviceLost.
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
