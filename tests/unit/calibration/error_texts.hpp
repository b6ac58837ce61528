#pragma once

#include <string>

#include "tests/catch.hpp"

namespace ddl {

/// Returns `text` with the first `from`, which must exist, replaced by `to`.
inline std::string edited(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  INFO(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

/// Returns position and message of an error, without the line and the caret.
inline std::string first_line(const std::string& error) { return error.substr(0, error.find('\n')); }

}  // namespace ddl
