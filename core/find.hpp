#pragma once

#include <algorithm>
#include <iterator>
#include <memory>
#include <ranges>
#include <type_traits>

namespace ddl {

/// Whether a range has an element that equals `value`.
template <class Range, class Value>
[[nodiscard]] constexpr bool contains(const Range& range, const Value& value) {
  return std::find(std::begin(range), std::end(range), value) != std::end(range);
}

/// Returns the first element for which `matches` is true; null if there is none. The element belongs to the range.
template <class Range, class Matches>
[[nodiscard]] constexpr auto* find_where(Range&& range, const Matches& matches) {
  static_assert(std::is_lvalue_reference_v<Range> || std::ranges::borrowed_range<Range>,
                "the element must outlive the call");
  const auto found = std::find_if(std::begin(range), std::end(range), matches);
  return found == std::end(range) ? nullptr : std::addressof(*found);
}

}  // namespace ddl
