#include "core/suggest.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/lower_case.hpp"

namespace ddl {
namespace {

constexpr std::size_t longest_list = 12;
/// Words with more letters are not compared, because time and memory of a comparison are
/// proportional to the product of both lengths.
constexpr std::size_t longest_word = 64;
/// Minimum lengths of a common substring that identifies a name: at the beginning of a word of the name, and anywhere.
constexpr std::size_t shortest_part = 3, shortest_inner_part = 5;
constexpr std::size_t close_names_shown = 6;

template <class Name>
std::optional<std::string> nearest_of(std::string_view word, std::span<const Name> known) {
  if (word.size() > longest_word) return std::nullopt;
  const std::size_t limit = std::min(std::max<std::size_t>(word.size() / 3, 1), std::max<std::size_t>(word.size(), 1) - 1);
  const std::string lowered = lower_case(word);
  std::optional<std::string> best;
  std::pair<int, int> best_distance;
  for (const std::string_view candidate : known) {
    // The distance of two words is at least their difference in length, so much longer words need not be compared.
    if (std::max(word.size(), candidate.size()) - std::min(word.size(), candidate.size()) > limit) continue;
    const int distance = edit_distance(lowered, lower_case(candidate));
    if (distance > static_cast<int>(limit)) continue;
    const std::pair with_case(distance, edit_distance(word, candidate));
    if (!best || with_case < best_distance) {
      best = candidate;
      best_distance = with_case;
    }
  }
  return best;
}

bool is_alphanumeric(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// The length of the longest common substring of two words that identifies `b`: a short one begins a word of `b`.
std::size_t longest_common(std::string_view a, std::string_view b) {
  // For each letter of `b`: the length of the common substring that ends at this letter and at the present letter of `a`.
  std::vector<std::size_t> ending(b.size() + 1);
  std::size_t longest = 0;
  for (const char letter : a) {
    for (std::size_t j = b.size(); j > 0; --j) {
      ending[j] = letter == b[j - 1] ? ending[j - 1] + 1 : 0;
      if (ending[j] == 0) continue;
      const std::size_t start = j - ending[j];
      const bool begins_word = start == 0 || !is_alphanumeric(b[start - 1]) || !is_alphanumeric(b[start]);
      if (begins_word || ending[j] >= shortest_inner_part) longest = std::max(longest, ending[j]);
    }
  }
  return longest;
}

/// The names in `known` that share a substring of at least `letters` letters with a word. Names that begin with the
/// substring come first, and short names come before long ones.
template <class Name>
std::vector<std::string> sharing(std::string_view word, std::span<const Name> known, std::size_t letters) {
  if (word.size() > longest_word || letters < shortest_part) return {};
  const std::string lowered = lower_case(word);
  std::vector<std::string> close;
  for (const std::string_view candidate : known) {
    if (candidate.size() <= longest_word && longest_common(lowered, lower_case(candidate)) >= letters)
      close.emplace_back(candidate);
  }
  const auto distance = [&](const std::string& name) {
    return std::pair(!lower_case(name).starts_with(lowered), name.size());
  };
  std::stable_sort(close.begin(), close.end(),
                   [&](const std::string& a, const std::string& b) { return distance(a) < distance(b); });
  return close;
}

/// Returns a question for the user: `did you mean 'a', 'b' or 'c'?`
std::string question(const std::vector<std::string>& close) {
  const std::size_t shown = std::min(close.size(), close_names_shown);
  std::string text = "did you mean ";
  for (std::size_t i = 0; i < shown; ++i) {
    const bool is_last = i + 1 == close.size();
    text += fmt::format("{}'{}'", i == 0 ? "" : is_last ? " or " : ", ", close[i]);
  }
  return text + (shown < close.size() ? ", ...?" : "?");
}

template <class Name>
std::string suggest_among(std::string_view word, std::span<const Name> known) {
  const auto meant = nearest_of(word, known);
  if (meant && edit_distance(lower_case(word), lower_case(*meant)) <= 1) return question({*meant});
  const bool is_long = known.size() > longest_list;  // a list of at most a dozen names is shown completely
  // A word that is contained in a longer name is not a typing error. For example, the names of two machines contain `vela`.
  const auto whole = is_long ? sharing(word, known, word.size()) : std::vector<std::string>{};
  if (!whole.empty()) return question(whole);
  if (meant) return question({*meant});
  const auto close = is_long ? sharing(word, known, word.size() - word.size() / 3) : std::vector<std::string>{};
  if (!close.empty()) return question(close);
  if (known.empty()) return {};
  const auto listed = known.first(std::min(known.size(), longest_list));
  return fmt::format("known: {}{}", fmt::join(listed, ", "), known.size() > listed.size() ? ", ..." : "");
}

}  // namespace

// Lowrance and Wagner, "An Extension of the String-to-String Correction Problem", J. ACM 22 (1975), with all costs 1.
int edit_distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 2;
  const int infinite = static_cast<int>(a.size() + b.size());
  // cost[(i + 1) * width + j + 1] is the distance between the first i letters of `a` and the first j letters of `b`. Row 0
  // and column 0 have infinite cost, for letters that have not occurred before.
  std::vector<int> cost((a.size() + 2) * width, infinite);
  for (std::size_t i = 0; i <= a.size(); ++i) cost[(i + 1) * width + 1] = static_cast<int>(i);
  for (std::size_t j = 0; j <= b.size(); ++j) cost[width + j + 1] = static_cast<int>(j);

  std::array<std::size_t, 256> last_row_of{};  // for each letter: its last position in `a` so far, 1-based; 0 for none
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t last_match = 0;  // last position of the letter a[i] in `b`, 1-based
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t row = last_row_of[static_cast<unsigned char>(b[j - 1])];
      const std::size_t column = last_match;
      const bool same = a[i - 1] == b[j - 1];
      if (same) last_match = j;
      const int replaced = cost[i * width + j] + (same ? 0 : 1);
      const int inserted = cost[(i + 1) * width + j] + 1;
      const int removed = cost[i * width + j + 1] + 1;
      const int exchanged = cost[row * width + column] + static_cast<int>((i - row - 1) + 1 + (j - column - 1));
      cost[(i + 1) * width + j + 1] = std::min({replaced, inserted, removed, exchanged});
    }
    last_row_of[static_cast<unsigned char>(a[i - 1])] = i;
  }
  return cost.back();
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string_view> known) {
  return nearest_of(word, known);
}
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> known) {
  return nearest_of(word, known);
}

std::string suggest(std::string_view word, std::span<const std::string_view> known) { return suggest_among(word, known); }
std::string suggest(std::string_view word, std::span<const std::string> known) { return suggest_among(word, known); }

}  // namespace ddl
