#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ddl {

/// How many single letters must be inserted, removed, replaced, or exchanged with their neighbour to turn one word into the
/// other (Damerau–Levenshtein without the restriction of "optimal string alignment", hence a metric).
[[nodiscard]] int edit_distance(std::string_view a, std::string_view b);

/// The nearest of `known` when it is near enough: at most a third of the word's letters edited, or one, but never all of
/// them. Case does not count, except between two that are equally near. Nothing is near a word of more than 64 letters.
[[nodiscard]] std::optional<std::string> nearest(std::string_view word, std::span<const std::string_view> known);
[[nodiscard]] std::optional<std::string> nearest(std::string_view word, std::span<const std::string> known);

/// The hint of every unknown name: "did you mean 'x'?" for the nearest of `known`, else "known: a, b, c" (cut after a dozen;
/// nothing where nothing is known). Of more than a dozen, those that the word is a part of come before one that is more than
/// an edit away: "did you mean 'x', 'y' or 'z'?". So do those that have two thirds of its letters in a row in common with it
/// before the list.
[[nodiscard]] std::string suggest(std::string_view word, std::span<const std::string_view> known);
[[nodiscard]] std::string suggest(std::string_view word, std::span<const std::string> known);

}  // namespace ddl
