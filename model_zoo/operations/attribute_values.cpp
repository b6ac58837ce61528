#include "model_zoo/operations/attribute_values.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/shape_rules.hpp"

namespace ddl {
namespace {

struct ValuePrinter {
  std::string& text;
  void operator()(std::int64_t value) const { fmt::format_to(std::back_inserter(text), "{}", value); }
  void operator()(double value) const { fmt::format_to(std::back_inserter(text), "{}", value); }
  void operator()(bool value) const { text += value ? "yes" : "no"; }
  void operator()(const AttributeSizes& value) const { text += print_extents(value.size, value.rank, value.brief); }
  void operator()(std::string_view value) const { text += value; }
};

[[noreturn]] void fail_type(std::string_view key, const AttributeValue& value, std::string_view asked) {
  throw Error(fmt::format("the attribute {}={} is {}", key, print_attribute(value), asked));
}

}  // namespace

std::string print_attribute(const AttributeValue& value) {
  std::string text;
  std::visit(ValuePrinter{text}, value);
  return text;
}

std::string print_attributes(const AttributeValues& values) {
  std::string text;
  for (const auto& [key, value] : values) {
    if (!text.empty()) text += ' ';
    text += key;
    text += '=';
    std::visit(ValuePrinter{text}, value);
  }
  return text;
}

const AttributeValue* AttributeValues::find(std::string_view key) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [key](const Entry& entry) { return entry.key == key; });
  return found == entries_.end() ? nullptr : &found->value;
}

std::int64_t AttributeValues::integer(std::string_view key, std::int64_t otherwise) const {
  const AttributeValue* const value = find(key);
  if (value == nullptr) return otherwise;
  if (const auto* const whole = std::get_if<std::int64_t>(value)) return *whole;
  fail_type(key, *value, "not a whole number");
}

double AttributeValues::number(std::string_view key, double otherwise) const {
  const AttributeValue* const value = find(key);
  if (value == nullptr) return otherwise;
  if (const auto* const number = std::get_if<double>(value)) return *number;
  if (const auto* const whole = std::get_if<std::int64_t>(value)) return static_cast<double>(*whole);
  fail_type(key, *value, "not a number");
}

bool AttributeValues::flag(std::string_view key, bool otherwise) const {
  const AttributeValue* const value = find(key);
  if (value == nullptr) return otherwise;
  if (const bool* const flag = std::get_if<bool>(value)) return *flag;
  fail_type(key, *value, "neither yes nor no");
}

std::array<std::int64_t, 3> AttributeValues::sizes(std::string_view key, std::int64_t otherwise) const {
  std::array<std::int64_t, 3> sizes{otherwise, otherwise, otherwise};
  const AttributeValue* const value = find(key);
  if (value == nullptr) return sizes;
  if (const auto* const each = std::get_if<AttributeSizes>(value)) {
    std::copy_n(each->size.begin(), each->rank, sizes.begin());
  } else if (const auto* const all = std::get_if<std::int64_t>(value)) {
    sizes.fill(*all);
  } else {
    fail_type(key, *value, "not a size");
  }
  return sizes;
}

std::string_view AttributeValues::text(std::string_view key, std::string_view otherwise) const {
  const AttributeValue* const value = find(key);
  if (value == nullptr) return otherwise;
  const auto* const text = std::get_if<std::string_view>(value);
  return text == nullptr ? otherwise : *text;
}

}  // namespace ddl
