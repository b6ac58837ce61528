#include "model_zoo/operations/attributes.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "model_zoo/operations/sample_shape.hpp"

namespace ddl {

Value evaluate_at(const YamlNode& node, const Parameters& parameters, std::optional<std::int64_t> channels) {
  const std::string text = node.text();
  if (!is_expression(text)) return value_of(text);
  try {
    return evaluate(text, parameters, channels);
  } catch (const Error& error) {
    node.fail(error.what(), error.hint());
  }
}

std::int64_t integer_at(const YamlNode& node, const Parameters& parameters, std::optional<std::int64_t> channels,
                        std::int64_t low, std::int64_t high) {
  if (!node.is_scalar() || !is_expression(node.text())) return node.integer(low, high);
  const Value value = evaluate_at(node, parameters, channels);
  if (!value.number) node.fail(fmt::format("{} is {}, which is not a whole number", quote(node.text()), quote(value.text)));
  if (*value.number < low) node.fail(fmt::format("{} is {}: at least {}", quote(node.text()), *value.number, low));
  if (*value.number > high) node.fail(fmt::format("{} is {}: at most {}", quote(node.text()), *value.number, high));
  return *value.number;
}

std::optional<YamlNode> Attributes::find(std::string_view key) const {
  if (!node_ || node_->is_null()) return std::nullopt;
  if (node_->is_map()) return node_->find(key);
  return key == main_ ? node_ : std::nullopt;
}

Value Attributes::value(const YamlNode& node) const { return evaluate_at(node, parameters_, input().channels); }

std::int64_t Attributes::integer(std::string_view key, std::int64_t low, std::int64_t high) const {
  const std::optional<std::int64_t> found = find_integer(key, low, high);
  if (!found) fail_missing(key);
  return *found;
}

std::optional<std::int64_t> Attributes::find_integer(std::string_view key, std::int64_t low, std::int64_t high) const {
  const std::optional<YamlNode> node = find(key);
  if (!node) return std::nullopt;
  return integer_at(*node, parameters_, input().channels, low, high);
}

std::optional<double> Attributes::find_number(std::string_view key, double low, double high) const {
  const std::optional<YamlNode> node = find(key);
  if (!node) return std::nullopt;
  if (!node->is_scalar() || !is_expression(node->text())) return node->number(low, high);
  const std::string text = value(*node).text;
  double number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size() || !(number >= low && number <= high)) {
    node->fail(fmt::format("{} is {}, which is not a number from {} to {}", quote(node->text()), quote(text), low, high));
  }
  return number;
}

std::optional<bool> Attributes::find_boolean(std::string_view key) const {
  const std::optional<YamlNode> node = find(key);
  if (!node) return std::nullopt;
  if (!node->is_scalar() || !is_expression(node->text())) return node->boolean();
  const std::string text = value(*node).text;
  if (text == "yes" || text == "true") return true;
  if (text == "no" || text == "false") return false;
  node->fail(fmt::format("{} is {}, which is neither yes nor no", quote(node->text()), quote(text)));
}

std::optional<std::string> Attributes::find_text(std::string_view key) const {
  const std::optional<YamlNode> node = find(key);
  if (!node) return std::nullopt;
  return value(*node).text;
}

std::size_t Attributes::choice(std::string_view key, std::span<const std::string_view> choices) const {
  const std::optional<std::string> text = find_text(key);
  if (!text) fail_missing(key);
  const auto found = std::find(choices.begin(), choices.end(), *text);
  if (found == choices.end()) fail(key, fmt::format("unknown {} {}", key, quote(*text)), suggest(*text, choices));
  return static_cast<std::size_t>(found - choices.begin());
}

std::optional<Extents> Attributes::find_extents(std::string_view key, int rank, std::int64_t low) const {
  std::optional<Extents> extents = find_size(key);
  if (!extents) return std::nullopt;
  if (extents->rank == 1) {
    std::fill_n(extents->size.begin(), rank, extents->size.front());
    extents->rank = rank;
  }
  if (extents->rank != rank) {
    fail(key, fmt::format("the {} {} has {} sizes, but the input {} has {}", key,
                          quote(print_extents(extents->size, extents->rank)), extents->rank, to_string(input()), rank));
  }
  for (int dimension = 0; dimension < rank; ++dimension) {
    const std::int64_t size = extents->size[static_cast<std::size_t>(dimension)];
    if (size < low) fail(key, fmt::format("the {} {} is too small: at least {}", key, size, low));
    if (size > max_attribute) fail(key, fmt::format("the {} {} is too large: at most {}", key, size, max_attribute));
  }
  return extents;
}

std::optional<Extents> Attributes::find_size(std::string_view key) const {
  const std::optional<std::string> text = find_text(key);
  if (!text) return std::nullopt;
  const std::optional<Extents> extents = parse_extents(*text);
  if (!extents) fail(key, fmt::format("{} is not a size", quote(*text)), "write one number, or one for each dimension: 3x3");
  return extents;
}

TensorShape Attributes::sample_shape() const {
  if (!node_) fail_missing("tokens");
  return read_sample_shape(*node_, parameters_);
}

std::string Attributes::in_part(const std::string& message) const {
  return part_.empty() ? message : fmt::format("{} (in '{}')", message, part_.substr(0, part_.size() - 1));
}

void Attributes::fail(std::string_view key, const std::string& message, const std::string& hint) const {
  const std::optional<YamlNode> node = find(key);
  (node ? *node : place_).fail(in_part(message), hint);
}

void Attributes::fail_missing(std::string_view key) const {
  place_.fail(in_part(fmt::format("{} needs {}", place_.text(), quote(key))));
}

}  // namespace ddl
