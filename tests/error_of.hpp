#pragma once

#include <string>

#include "core/error.hpp"

namespace ddl {

/// The output of `main` for the ddl::Error that `action` throws: the message, and the hint on a separate line. "no error" if
/// it throws none.
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
