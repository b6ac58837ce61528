#pragma once

#include <cctype>
#include <cstddef>
#include <string_view>

namespace ddl {

/// Returns whether a text has a figure that is not finite: "nan", "inf" or "infinite" as a separate word, with or without a
/// sign. No regular expression is used, because it would take most of the time of a fuzzer with sanitizers.
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
      // A minus belongs to the figure if there is no word before the minus.
      if (text[at - 1] == '-' && (at == 1 || !part_of_word(text[at - 2]))) return true;
    }
  }
  return false;
}

}  // namespace ddl
