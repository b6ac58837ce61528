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
/// Whether one of the spellings of a concept is the term.
[[nodiscard]] bool is_spelling(const Concept& each, std::string_view plain);
/// Returns the answer of the concept with this spelling; empty if there is none.
[[nodiscard]] std::string_view answer_about(std::string_view plain);

}  // namespace ddl
