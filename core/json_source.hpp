#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/source_text.hpp"

namespace ddl {

/// The numbers that a text may contain. `of_json`: the numbers of JSON. `of_python`: also `NaN`,
/// `Infinity` and `-Infinity`, which Python's module json reads and writes.
enum class JsonNumbers { of_json, of_python };

/// The text of a JSON file whose values have known positions. Errors are reported as `origin:line:col: message`, the line,
/// and a caret.
class JsonSource {
 public:
  /// Maximum nesting of objects and lists.
  static constexpr std::size_t max_depth = 64;
  /// Maximum number of keys of one object.
  static constexpr std::size_t max_keys = 100'000;

  /// Throws Error with a position for invalid text, invalid JSON, a number that a double cannot represent, a repeated key of
  /// one object, nesting deeper than `max_depth`, and an object with more than `max_keys` keys. `hint` is added to errors
  /// about invalid JSON.
  JsonSource(std::string text, std::string origin, const std::string& hint, JsonNumbers numbers = JsonNumbers::of_json);

  [[nodiscard]] const nlohmann::ordered_json& root() const { return root_; }

  /// Creates an error that points to a value, or to its key. `path`: the keys from the root, joined by '/'; the root is "".
  /// A value inside a list, or deeper than three keys, has the position of its container.
  [[nodiscard]] Error error(std::string_view path, std::string_view message, std::string hint = {}) const;
  [[nodiscard]] Error error_at_key(std::string_view path, std::string_view message, std::string hint = {}) const;

 private:
  struct Offsets {
    std::size_t key = 0, value = 0;  ///< byte offsets
  };
  class Reader;
  [[nodiscard]] Offsets place_of(std::string_view path) const;

  SourceText source_;
  nlohmann::ordered_json root_;
  std::map<std::string, Offsets, std::less<>> places_;
};

}  // namespace ddl
