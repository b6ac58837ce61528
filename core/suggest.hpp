#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ddl {

/// The number of single letters that must be inserted, removed, replaced, or swapped with their neighbour to turn one word
/// into the other (Damerau–Levenshtein without the restriction of "optimal string alignment", hence a metric).
[[nodiscard]] int edit_distance(std::string_view a, std::string_view b);

/// The nearest name in `known`, if it is near enough: at most a third of the word's letters are edited, or one letter, but
/// never all letters. Case is ignored, except to break ties. For a word of more than 64 letters, no name is near enough.
[[nodiscard]] std::optional<std::string> nearest(std::string_view word, std::span<const std::string_view> known);
[[nodiscard]] std::optional<std::string> nearest(std::string_view word, std::span<const std::string> known);

/// The hint for an unknown name: "did you mean 'x'?" for the nearest name in `known`, else "known: a, b, c" (at most a
/// dozen; empty if `known` is empty). If there are more than a dozen, known names that contain the word are preferred to a
/// name that is more than one edit away: "did you mean 'x', 'y' or 'z'?". Known names that share a substring with two thirds
/// of the word's letters are preferred to the list.
[[nodiscard]] std::string suggest(std::string_view word, std::span<const std::string_view> known);
[[nodiscard]] std::string suggest(std::string_view word, std::span<const std::string> known);

}  // namespace ddl
