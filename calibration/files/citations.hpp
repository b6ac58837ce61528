#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/yaml_node.hpp"

namespace ddl {

/// A value of a file, with its source.
struct SourcedNode {
  YamlNode value;
  std::string source;  ///< the citation
  std::string key;     ///< the key of the citation in the file
};

/// The `sources:` map of a data file: short keys, and their citations.
class Citations {
 public:
  /// Each value must be a citation in words. Throws Error that points to any other value.
  explicit Citations(const YamlNode& sources);
  Citations() = default;

  /// Adds the citations of a file that this file extends, except for keys that this file has.
  void add_missing(const Citations& more);

  /// The citation of a key. If the map lacks the key, throws Error that points to the key, with "did you mean".
  [[nodiscard]] const std::string& of(const YamlNode& key) const;
  /// Reads `{value: 900 GB/s, source: v100}`: the value and its citation. For any other form, throws Error that points to
  /// `entry`.
  [[nodiscard]] SourcedNode read(const YamlNode& entry) const;

 private:
  std::vector<std::pair<std::string, std::string>> citations_;
};

}  // namespace ddl
