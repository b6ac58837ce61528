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

/// Whether a value of an enumeration has a name. GCC and Clang print `ddl::Fusing::half` for a value with a name, and
/// `(ddl::Fusing)7` for one without.
template <auto value>
consteval bool is_enumerator() {
  constexpr std::string_view function = __PRETTY_FUNCTION__;
  return function[function.rfind("value = ") + std::string_view("value = ").size()] != '(';
}

}  // namespace detail

/// The number of enumerators of `Enum`. The enumerators must have the values 0, 1, 2 and so on.
template <class Enum, std::size_t counted = 0>
consteval std::size_t enum_count() {
  if constexpr (detail::is_enumerator<static_cast<Enum>(counted)>()) {
    return enum_count<Enum, counted + 1>();
  } else {
    return counted;
  }
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
