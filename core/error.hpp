#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace ddl {

/// A position in an input file.
struct Place {
  std::string file;  ///< the file, as the user named it
  int line = 1;      ///< 1-based
  int column = 1;    ///< 1-based, in bytes

  friend bool operator==(const Place&, const Place&) = default;
};

/// An error that ends a command: bad input, a missing file, a contradiction in the user's input. It is thrown where the
/// problem is found. `main` catches it, prints `message`, then `hint`, and exits with 2. Failures that a caller is expected
/// to handle are return values instead.
class Error : public std::runtime_error {
 public:
  /// `place`: the position of the mistake, if it is in a file. `message` contains the position, too (SourceText::error sets
  /// both).
  explicit Error(const std::string& message, std::string hint = {}, std::optional<Place> place = {})
      : std::runtime_error(message), hint_(std::move(hint)), place_(std::move(place)) {}

  /// What the user can do about the error, without the word "hint"; may be empty.
  [[nodiscard]] const std::string& hint() const { return hint_; }
  [[nodiscard]] const std::optional<Place>& place() const { return place_; }

 private:
  std::string hint_;
  std::optional<Place> place_;
};

}  // namespace ddl
