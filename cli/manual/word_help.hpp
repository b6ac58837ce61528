#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/manual/command_description.hpp"
#include "core/error.hpp"

namespace ddl {

/// A page of help about a concept, not about a command.
struct HelpTopic {
  std::string_view name, summary;
  std::string_view text;  ///< lines of at most 80 columns
};
[[nodiscard]] std::span<const HelpTopic> help_topics();

/// A term of the field for which this program has no single option, and what the program has instead.
struct Concept {
  std::string_view words;   ///< spellings of the term, with `-` between words and spaces between spellings: `mfu hfu`
  std::string_view answer;  ///< one or two sentences; commands are in 'quotes'
};
[[nodiscard]] std::span<const Concept> concepts();
/// Whether one of the spellings of a concept is the term.
[[nodiscard]] bool is_spelling(const Concept& each, std::string_view plain);
/// Returns the answer of the concept with this spelling; empty if there is none.
[[nodiscard]] std::string_view answer_about(std::string_view plain);

/// A word that people type for a concept of this program, as an option of another tool or in everyday language.
struct Synonym {
  std::string_view word;    ///< without dashes, with `-` between words: `world-size`
  std::string_view option;  ///< the option of this program that has the concept, without dashes: `gpus`
  std::string_view hint;    ///< what to use instead: `use --gpus, the total over all nodes`
};
[[nodiscard]] std::span<const Synonym> synonyms();
/// Returns a word as it is in the table: `--World_Size` is `world-size`.
[[nodiscard]] std::string plain_word(std::string_view typed);

/// Returns the help about a term that people type, such as `notation`, `lora`, `batch size` or `h100`: the topic of this
/// name; else what this program has for the term (concepts, synonyms, bundled names), and the options that mention it; else
/// the topic whose page explains it. Empty if nothing is known of the term. `width`: columns of the terminal.
[[nodiscard]] std::optional<std::string> help_about(const CommandDescription& program, std::string_view term,
                                                    std::size_t width);

/// Returns the error for a term that help_about does not know. The hint names the nearest command or term.
[[nodiscard]] Error unknown_term(const CommandDescription& program, const std::string& term);

}  // namespace ddl
