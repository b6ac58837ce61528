#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ddl {

/// A word that people type for a concept of this program, as an option of another tool or in everyday language.
struct Synonym {
  std::string_view word;    ///< without dashes, with `-` between words: `world-size`
  std::string_view option;  ///< the option of this program that has the concept, without dashes: `gpus`
  std::string_view hint;    ///< what to write: `write --gpus, the total over all nodes`
};
[[nodiscard]] std::span<const Synonym> synonyms();

/// Returns a word as it is in the table: `--World_Size` is `world-size`.
[[nodiscard]] std::string plain_word(std::string_view typed);

}  // namespace ddl
