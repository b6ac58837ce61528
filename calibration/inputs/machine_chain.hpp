#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibration/files/citations.hpp"
#include "core/yaml_node.hpp"

namespace ddl {

/// A node of a machine file, with the citations that the file may use.
struct SourcedPart {
  YamlNode node;
  const Citations* citations;
};

/// Whether a node is `none`. A machine file writes `none` to remove a section of the machine that it extends.
[[nodiscard]] bool says_none(const YamlNode& node);

/// One section of a machine: the section in the machine's own file, then the same section in the files that this file
/// extends, nearest file first. At least one file has the section.
class MachineSection {
 public:
  explicit MachineSection(std::vector<SourcedPart> parts) : parts_(std::move(parts)) {}

  /// Throws Error that points to the key, if any of the files has a key that is not among `keys`.
  void only_keys(const std::vector<std::string_view>& keys, std::span<const YamlNode::FormerKey> former = {}) const;
  /// Returns the value of `key`, or of its former name, from the nearest file that has either name.
  [[nodiscard]] std::optional<SourcedPart> find(std::string_view key, std::string_view former = {}) const;
  /// Like find(), but the search ends at a file that has `owner` and lacks `key`; the result is then empty.
  [[nodiscard]] std::optional<SourcedPart> find_next_to(std::string_view owner, std::string_view key) const;
  /// Like find(), but if no file has the key, throws Error that points to the nearest file.
  [[nodiscard]] SourcedPart at(std::string_view key) const;

 private:
  std::vector<SourcedPart> parts_;
};

/// A machine file and the files that it extends, nearest first.
class MachineChain {
 public:
  /// `bundled`: the name of the bundled file that `root` was read from; empty for a user's file. Throws Error that points to
  /// `extends:` if this key names no machine, leads back to a file of the chain, or makes the chain too long.
  explicit MachineChain(const YamlNode& root, std::string_view bundled = {});

  [[nodiscard]] std::size_t size() const { return files_.size(); }
  /// Returns the chain without the nearest `count` files.
  [[nodiscard]] MachineChain without(std::size_t count) const;
  [[nodiscard]] const YamlNode& nearest() const { return files_.front()->root; }

  /// Returns a section from the nearest file that has the section, without merging files. Empty if the section is `none`.
  [[nodiscard]] std::optional<SourcedPart> find_whole(std::string_view key) const;
  /// Like find_whole(), but the search ends at a file that has the section `owner` and lacks the
  /// section `key`; the result is then empty.
  [[nodiscard]] std::optional<SourcedPart> find_next_to(std::string_view owner, std::string_view key) const;
  /// Returns a section in which each key comes from the nearest file that has the key. Empty if no
  /// file has the section, or if the nearest file with the section has `none`.
  [[nodiscard]] std::optional<MachineSection> find_merged(std::string_view key) const;
  // Like find_whole() and find_merged(), but if no file has the section, these functions throw
  // Error that points to the nearest file.
  [[nodiscard]] SourcedPart whole(std::string_view key) const;
  [[nodiscard]] MachineSection merged(std::string_view key) const;

 private:
  struct File {
    YamlNode root;
    Citations citations;
  };
  MachineChain() = default;

  std::vector<std::shared_ptr<const File>> files_;
};

}  // namespace ddl
