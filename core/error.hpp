#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace ddl {

/// Where something stands in a file that was read.
struct Place {
  std::string file;  ///< as the user named it
  int line = 1;      ///< 1-based
  int column = 1;    ///< 1-based, in bytes

  friend bool operator==(const Place&, const Place&) = default;
};

/// What ends a command: bad input, a missing file, a contradiction the user wrote. Thrown where the fact is known, caught
/// once, in `main`, which prints `message`, then `hint`, and exits with 2. What a caller is expected to handle is a value
/// instead.
class Error : public std::runtime_error {
 public:
  /// `place`: where the mistake stands, if it stands in a file. `message` says it, too (SourceText::error makes both).
  explicit Error(const std::string& message, std::string hint = {}, std::optional<Place> place = {})
      : std::runtime_error(message), hint_(std::move(hint)), place_(std::move(place)) {}

  /// What to do about it, without the word "hint"; empty when there is nothing to say.
  [[nodiscard]] const std::string& hint() const { return hint_; }
  [[nodiscard]] const std::optional<Place>& place() const { return place_; }

 private:
  std::string hint_;
  std::optional<Place> place_;
};

}  // namespace ddl
