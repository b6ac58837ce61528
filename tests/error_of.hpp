#pragma once

#include <string>

#include "core/error.hpp"

namespace ddl {

/// Returns the output of `main` for the ddl::Error that `action` throws: the message, and the hint
/// on a separate line. Returns "no error" if `action` throws no Error.
template <class F>
std::string error_of(F&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.hint().empty() ? error.what() : error.what() + ("\nhint: " + error.hint());
  }
  return "no error";
}

}  // namespace ddl
