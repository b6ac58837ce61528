#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ddl {

/// The edit distance of two words (Damerau–Levenshtein): the least number of single letters to
/// insert, remove, replace, or swap with a neighbor that turns one word into the other. The
/// distance is a metric, because it lacks the restriction of "optimal string alignment".
[[nodiscard]] int edit_distance(std::string_view a, std::string_view b);

/// Returns the name in `known` with the least edit distance from the word; empty if no name is near enough. A name is near
/// enough if the distance is at most a third of the word's letters (at least one letter), and less than all of its letters.
/// Case is ignored, except to break ties. No name is near enough for a word of more than 64 letters.
[[nodiscard]] std::optional<std::string> nearest(std::string_view word, std::span<const std::string_view> known);
[[nodiscard]] std::optional<std::string> nearest(std::string_view word, std::span<const std::string> known);

/// Returns the hint for an unknown name. The first of these that exists is returned:
/// - "did you mean 'x'?", the nearest name, if it is at most one edit away;
/// - if more than a dozen names are known: "did you mean 'x', 'y' or 'z'?", the names that contain
/// the word;
/// - "did you mean 'x'?", the nearest name;
/// - if more than a dozen names are known: the names that share a substring with two thirds of the
/// word's letters;
/// - "known: a, b, c", at most a dozen names; empty if `known` is empty.
[[nodiscard]] std::string suggest(std::string_view word, std::span<const std::string_view> known);
[[nodiscard]] std::string suggest(std::string_view word, std::span<const std::string> known);

}  // namespace ddl
