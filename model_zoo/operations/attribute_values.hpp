#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ddl {

/// A size along each spatial dimension: `3x3`.
struct AttributeSizes {
  std::array<std::int64_t, 3> size{1, 1, 1};
  int rank = 0;        ///< number of dimensions
  bool brief = false;  ///< whether a single number is printed if all sizes are equal
  friend bool operator==(const AttributeSizes&, const AttributeSizes&) = default;
};

/// The value of an attribute. A text is a view of a constant, or of a member of the operation that has the attribute.
using AttributeValue = std::variant<std::int64_t, double, bool, AttributeSizes, std::string_view>;
/// Returns the value as in model files and in the lines of problems: `64`, `0.1`, `yes`, `3x3`, `relu`.
[[nodiscard]] std::string print_attribute(const AttributeValue& value);

/// The attributes of an operation with their values, in the order in which they are printed. The values are valid as long as
/// the operation exists. Throws Error if a value has another type than requested.
class AttributeValues {
 public:
  struct Entry {
    std::string_view key;
    AttributeValue value;
    friend bool operator==(const Entry&, const Entry&) = default;
  };

  AttributeValues() = default;
  AttributeValues(std::initializer_list<Entry> entries) : entries_(entries) {}
  void add(std::string_view key, AttributeValue value) { entries_.push_back({key, value}); }
  void add(const AttributeValues& others) {
    entries_.insert(entries_.end(), others.entries_.begin(), others.entries_.end());
  }

  [[nodiscard]] auto begin() const { return entries_.begin(); }
  [[nodiscard]] auto end() const { return entries_.end(); }

  [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }
  /// Returns the whole number, or `otherwise` if the operation has no such attribute.
  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t otherwise) const;
  /// Returns a number that need not be whole, or `otherwise` if the operation has no such attribute.
  [[nodiscard]] double number(std::string_view key, double otherwise) const;
  [[nodiscard]] bool flag(std::string_view key, bool otherwise) const;
  /// Returns the sizes of the attribute, with `otherwise` for dimensions without a size. If the
  /// attribute is a whole number, all three dimensions have this size.
  [[nodiscard]] std::array<std::int64_t, 3> sizes(std::string_view key, std::int64_t otherwise) const;
  /// Returns the text, or `otherwise` if the attribute is missing or a number. The values of some
  /// attributes are texts or numbers: `padding=same`, `padding=1`.
  [[nodiscard]] std::string_view text(std::string_view key, std::string_view otherwise = {}) const;

  friend bool operator==(const AttributeValues&, const AttributeValues&) = default;

 private:
  [[nodiscard]] const AttributeValue* find(std::string_view key) const;

  std::vector<Entry> entries_;
};

/// Prints the attributes on one line: `filters=64 kernel=3x3 stride=2`.
[[nodiscard]] std::string print_attributes(const AttributeValues& values);

}  // namespace ddl
