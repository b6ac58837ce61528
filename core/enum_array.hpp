#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace ddl {

namespace detail {

/// The number of values of `Enum` from `first` on that have a name, at most as many as there are `offsets`. GCC and Clang
/// print `ddl::Fusing::half` for a value with a name, and `(ddl::Fusing)7` for one without. One list of values is printed,
/// because a template for each value makes each source take seconds longer to compile.
template <auto... values>
consteval std::size_t named_values() {
  constexpr std::string_view function = __PRETTY_FUNCTION__;
  std::size_t named = 0;
  for (std::size_t at = function.rfind("values = ") + std::string_view("values = {").size(); function[at] != '(';) {
    if (++named == sizeof...(values)) break;
    at = function.find(", ", at) + 2;
  }
  return named;
}

template <class Enum, std::size_t first, std::size_t... offsets>
consteval std::size_t named_from(std::index_sequence<offsets...> block) {
  constexpr std::size_t named = named_values<static_cast<Enum>(first + offsets)...>();
  if constexpr (named == sizeof...(offsets)) {
    return named + named_from<Enum, first + named>(block);
  } else {
    return named;
  }
}

}  // namespace detail

/// The number of enumerators of `Enum`. The enumerators must have the values 0, 1, 2 and so on.
template <class Enum>
consteval std::size_t enum_count() {
  return detail::named_from<Enum, 0>(std::make_index_sequence<16>());
}

/// An array with one value for each enumerator of `Enum`, in the order of the enumerators. The constructor takes one value
/// per enumerator, or no values. Any other number of values does not compile.
template <class Enum, class T>
class EnumArray {
 public:
  static constexpr std::size_t count = enum_count<Enum>();

  constexpr EnumArray() = default;
  template <class... Values>
  requires(sizeof...(Values) == count && count > 1)
      // NOLINTNEXTLINE(google-explicit-constructor): converts a list of values, like an array
      constexpr EnumArray(Values&&... values)
      : values_{T(std::forward<Values>(values))...} {}

  [[nodiscard]] constexpr T& operator[](Enum at) { return values_[static_cast<std::size_t>(at)]; }
  [[nodiscard]] constexpr const T& operator[](Enum at) const { return values_[static_cast<std::size_t>(at)]; }

  /// Access by index, for loops over all values.
  [[nodiscard]] constexpr T& operator[](std::size_t place) { return values_[place]; }
  [[nodiscard]] constexpr const T& operator[](std::size_t place) const { return values_[place]; }

  [[nodiscard]] static constexpr std::size_t size() { return count; }
  [[nodiscard]] constexpr auto begin() { return values_.begin(); }
  [[nodiscard]] constexpr auto end() { return values_.end(); }
  [[nodiscard]] constexpr auto begin() const { return values_.begin(); }
  [[nodiscard]] constexpr auto end() const { return values_.end(); }
  [[nodiscard]] constexpr T* data() { return values_.data(); }
  [[nodiscard]] constexpr const T* data() const { return values_.data(); }

  friend constexpr bool operator==(const EnumArray&, const EnumArray&) = default;
  friend constexpr auto operator<=>(const EnumArray&, const EnumArray&) = default;

 private:
  std::array<T, count> values_{};
};

/// The names of the enumerators of `Enum` in files and options.
template <class Enum>
using EnumNames = EnumArray<Enum, std::string_view>;

/// Returns the enumerator with the name `name`; empty if there is none.
template <class Enum>
[[nodiscard]] constexpr std::optional<Enum> enum_named(const EnumNames<Enum>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

/// The names of the enumerators of `Enum`. Each enumeration with values in reports, files or
/// options specializes this variable, next to its own definition.
template <class Enum>
inline constexpr std::nullptr_t enum_names = nullptr;

template <class Enum>
concept NamedEnum = std::is_enum_v<Enum> && !std::is_null_pointer_v<std::remove_cv_t<decltype(enum_names<Enum>)>>;

template <NamedEnum Enum>
[[nodiscard]] constexpr std::string_view to_string(Enum value) {
  return enum_names<Enum>[value];
}
template <NamedEnum Enum>
[[nodiscard]] constexpr std::optional<Enum> parse_enum(std::string_view name) {
  return enum_named(enum_names<Enum>, name);
}

/// All enumerators of `Enum`, in the order of their values.
template <class Enum>
inline constexpr auto enum_values = [] {
  std::array<Enum, enum_count<Enum>()> values{};
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<Enum>(i);
  return values;
}();

}  // namespace ddl
