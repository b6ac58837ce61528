#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/yaml_node.hpp"

namespace ddl {

/// A value of a file and where it comes from.
struct SourcedNode {
  YamlNode value;
  std::string source;  ///< the citation
  std::string key;     ///< by which the file calls it
};

/// The `sources:` map of a data file: short keys, and the citations they stand for.
class Citations {
 public:
  /// Each value is one citation in words; an Error placed at whatever is not.
  explicit Citations(const YamlNode& sources);
  Citations() = default;

  /// Those of a file that this one builds on, where this one has no citation of that key.
  void add_missing(const Citations& more);

  /// The citation behind a key that the file names; an Error placed there, with "did you mean", when the map has none.
  [[nodiscard]] const std::string& of(const YamlNode& key) const;
  /// The two halves of `{value: 900 GB/s, source: v100}`; an Error placed at `entry` when it is anything else.
  [[nodiscard]] SourcedNode read(const YamlNode& entry) const;

 private:
  std::vector<std::pair<std::string, std::string>> citations_;
};

}  // namespace ddl
