#pragma once

#include <span>
#include <string_view>

namespace ddl {

/// A term of the field for which this program has no single option, and what the program has instead.
struct Concept {
  std::string_view words;   ///< spellings of the term, with `-` between words and blanks between spellings: `mfu hfu`
  std::string_view answer;  ///< one or two sentences; commands are in 'quotes'
};
[[nodiscard]] std::span<const Concept> concepts();

}  // namespace ddl
