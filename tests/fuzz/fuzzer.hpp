#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "core/error.hpp"

namespace ddl {

/// Returns the input of a fuzzer as the text of a file.
inline std::string text_of(const std::uint8_t* data, std::size_t size) { return {data, data + size}; }

/// Returns whether `action` ends without an Error. Any other exception is a bug, which stops the fuzzer.
template <class F>
bool succeeds(F&& action) {
  try {
    action();
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Returns the result of `action`; empty if it throws an Error.
template <class F>
std::optional<std::invoke_result_t<F>> result_of(F&& action) {
  try {
    return action();
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Stops the fuzzer if a property does not hold for an input.
inline void require(bool holds, const char* what) {
  if (!holds) throw std::logic_error(what);
}

}  // namespace ddl
