#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/options/configurations/config_entry.hpp"
#include "core/source_text.hpp"

namespace ddl {

/// Reads YAML with anchors, aliases, merge keys (`<<: *default`), tags and repeated keys, which tools accept, but YamlNode
/// refuses. `is_repeating`: the text repeats a key, or has escaped control characters. Empty if the text has none of these,
/// or is not valid. Throws Error for aliases that expand to too many values.
[[nodiscard]] std::optional<ConfigEntries> expanded_yaml_settings(const std::string& text, const std::string& origin,
                                                                  bool is_repeating);

struct YamlPart;

/// A value of a YAML text. An alias stands for its value, and a map has the keys of the maps that it merges.
class ExpandedNode {
 public:
  /// Parses a single document. Empty if it is not valid, or empty. Throws Error if it is nested too deeply.
  [[nodiscard]] static std::optional<ExpandedNode> parse(const std::string& text, const std::string& origin);

  [[nodiscard]] bool is_map() const;
  [[nodiscard]] bool is_sequence() const;
  [[nodiscard]] bool is_scalar() const;
  [[nodiscard]] bool is_null() const;
  [[nodiscard]] const std::string& text() const;  ///< text of a scalar
  // Throw Error if aliases expand to too many values.
  [[nodiscard]] std::optional<ExpandedNode> find(std::string_view key) const;
  [[nodiscard]] std::vector<std::pair<ExpandedNode, ExpandedNode>> entries() const;
  [[nodiscard]] std::vector<ExpandedNode> items() const;
  /// The place of the value's first letter, quote or sign. An included value has the place of the document.
  [[nodiscard]] Place place() const;

 private:
  using SharedPart = std::shared_ptr<const YamlPart>;
  ExpandedNode(SharedPart part, std::shared_ptr<const SourceText> source, std::shared_ptr<std::size_t> visited)
      : part_(std::move(part)), source_(std::move(source)), visited_(std::move(visited)) {}
  [[nodiscard]] ExpandedNode node(const SharedPart& part) const { return {part, source_, visited_}; }
  [[nodiscard]] const SharedPart* find_in(const YamlPart& map, std::string_view key) const;
  void add_entries(const YamlPart& map, std::vector<std::pair<ExpandedNode, ExpandedNode>>& all,
                   std::set<std::string_view>& seen) const;
  void count(std::size_t visited) const;

  SharedPart part_;
  std::shared_ptr<const SourceText> source_;
  std::shared_ptr<std::size_t> visited_;  ///< the number of values that were visited
};

/// Returns a warning for each setting that is set again to another value.
[[nodiscard]] std::vector<std::string> repeated_settings(const ConfigEntries& settings);

}  // namespace ddl
