#pragma once

#include <cctype>
#include <cstddef>
#include <string_view>

namespace ddl {

/// Whether a text has "nan", "inf" or "infinite" as a separate word, signed or not: a figure that is not finite. Without a
/// regular expression, which takes most of the time of a fuzzer that runs with sanitizers.
inline bool has_figure_not_finite(std::string_view text) {
  const auto part_of_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("_.'\"-").find(c) != std::string_view::npos;
  };
  for (std::size_t at = text.find_first_of("ni"); at != std::string_view::npos; at = text.find_first_of("ni", at + 1)) {
    const std::string_view here = text.substr(at);
    for (const std::string_view word : {"nan", "inf", "infinite"}) {
      if (!here.starts_with(word)) continue;
      if (word.size() < here.size() && part_of_word(here[word.size()])) continue;
      if (at == 0 || !part_of_word(text[at - 1])) return true;
      // A minus belongs to the figure if no word precedes it.
      if (text[at - 1] == '-' && (at == 1 || !part_of_word(text[at - 2]))) return true;
    }
  }
  return false;
}

}  // namespace ddl
