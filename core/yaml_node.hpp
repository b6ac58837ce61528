#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/plausible.hpp"
#include "core/quantity.hpp"

namespace ddl {

/// One node of a strict YAML file. Each node knows its position, so every error has the form `origin:line:col: message`,
/// followed by the line, a caret, and a hint. A node is cheap to copy, and keeps the whole document alive.
///
/// Every accessor throws ddl::Error, which points to the node, if the node is not of the requested type.
class YamlNode {
 public:
  /// Parses `text`. `origin`: the file name in errors. Refuses syntax errors, an empty document, more than one document,
  /// duplicate keys, keys that are not text or have no `:`, anchors, aliases and tags, bytes that are not UTF-8 text,
  /// control characters and text-direction marks (including escaped ones), nesting deeper than `max_depth`, and text longer
  /// than `max_bytes`.
  [[nodiscard]] static YamlNode parse(std::string text, std::string origin);
  /// Reads and parses a file. Throws Error with the path for an unreadable path, a directory, or a file that is too long.
  [[nodiscard]] static YamlNode load(const std::string& path);

  static constexpr int max_depth = 64;
  static constexpr std::size_t max_bytes = std::size_t{16} << 20U;
  static constexpr std::size_t max_text = 10'000;  ///< maximum length of a text, in bytes
  static constexpr std::size_t max_name = 200;     ///< maximum length of a name, in bytes

  [[nodiscard]] bool is_map() const;
  [[nodiscard]] bool is_sequence() const;
  [[nodiscard]] bool is_scalar() const;
  /// Whether the node is `null`, `~`, or the missing value of a key.
  [[nodiscard]] bool is_null() const;
  /// The type of the node for messages: "map", "list", "text", "nothing".
  [[nodiscard]] std::string_view kind() const;

  /// The value of `key` in this map. Throws Error that points to this map if the key is missing.
  [[nodiscard]] YamlNode at(std::string_view key) const;
  [[nodiscard]] std::optional<YamlNode> find(std::string_view key) const;
  /// Throws Error if this map has a key that is not in `keys`. The error points to the key, and suggests a known key.
  void only_keys(std::span<const std::string_view> keys) const;
  void only_keys(std::initializer_list<std::string_view> keys) const { only_keys(std::span(keys.begin(), keys.size())); }
  void only_keys(const std::vector<std::string_view>& keys) const { only_keys(std::span(keys)); }
  /// A renamed key: its name in files of older versions, and its current name.
  struct FormerKey {
    std::string_view former, now;
  };
  /// Like only_keys(keys), but each former key is also accepted if the current key is missing.
  void only_keys(const std::vector<std::string_view>& keys, std::span<const FormerKey> former) const;
  /// The value of `key`, or of its former name.
  [[nodiscard]] std::optional<YamlNode> find(std::string_view key, std::string_view former) const;
  /// The keys and values of a map, in file order. Each key is a node, so that an error can point at the key.
  [[nodiscard]] std::vector<std::pair<YamlNode, YamlNode>> entries() const;
  [[nodiscard]] std::vector<YamlNode> items() const;

  [[nodiscard]] std::string text() const;  ///< any scalar, with quotes and escapes resolved; Error if it is empty
  [[nodiscard]] std::string name() const;  ///< a text on one line with at most max_name bytes, as tables need
  // The following accessors refuse a number, yes or no in quotes, because a value in quotes is text.
  [[nodiscard]] bool boolean() const;  ///< yes/no/true/false
  /// A whole number in [low, high]; no unit, no fraction, no overflow.
  [[nodiscard]] std::int64_t integer(std::int64_t low = std::numeric_limits<std::int64_t>::min(),
                                     std::int64_t high = std::numeric_limits<std::int64_t>::max()) const;
  /// A finite number in [low, high]; no unit.
  [[nodiscard]] double number(double low = std::numeric_limits<double>::lowest(),
                              double high = std::numeric_limits<double>::max()) const;
  // Quantities need a unit in the file (`900 GB/s`, `5 us`, `80 GiB`, `15.7 TFLOP/s`). Values without a unit, and negative,
  // non-finite or implausible values, are refused. Zero is allowed only with `allow_zero`.
  [[nodiscard]] Bytes bytes(bool allow_zero = false, const Plausible<Bytes>& range = plausible_size) const;
  [[nodiscard]] Seconds seconds(bool allow_zero = false, const Plausible<Seconds>& range = plausible_time) const;
  [[nodiscard]] Bandwidth bandwidth(const Plausible<Bandwidth>& range = plausible_bandwidth) const;
  [[nodiscard]] FlopRate flop_rate(const Plausible<FlopRate>& range = plausible_flop_rate) const;

  // The position of a value is the position of its first letter, quote or bracket. A missing value
  // has the position of its key or dash.
  [[nodiscard]] int line() const;    ///< 1-based
  [[nodiscard]] int column() const;  ///< 1-based, in bytes
  [[nodiscard]] const std::string& origin() const;
  /// Throws Error that points to this node.
  [[noreturn]] void fail(const std::string& message, const std::string& hint = {}) const;

 private:
  struct Document;
  struct Element;
  class Builder;
  YamlNode(std::shared_ptr<const Document> document, const Element* element)
      : document_(std::move(document)), element_(element) {}
  [[nodiscard]] YamlNode at_element(const Element& element) const { return {document_, &element}; }
  void require(bool met, std::string_view expected) const;
  [[nodiscard]] const Element* find_value(std::string_view key) const;
  [[nodiscard]] const std::string& unquoted(std::string_view expected) const;
  template <class Q>
  [[nodiscard]] Q quantity(const Plausible<Q>& range, bool allow_zero) const;

  std::shared_ptr<const Document> document_;
  const Element* element_;
};

}  // namespace ddl
