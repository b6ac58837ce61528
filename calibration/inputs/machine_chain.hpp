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
#include "core/embedded.hpp"
#include "core/yaml_node.hpp"

namespace ddl {

/// A node of a machine file, with the citations that the file may use.
struct SourcedPart {
  YamlNode node;
  const Citations* citations;
};

/// The bundled file of a machine with this name or alias. Throws Error, with "did you mean", if there is none.
[[nodiscard]] const EmbeddedFile& bundled_machine(const std::string& name);

/// Whether a node is `none`: the machine that the file extends has this section, and this machine does not.
[[nodiscard]] bool says_none(const YamlNode& node);

/// One section of a machine, as written in its file and in those that it extends; nearest first, never empty.
class MachineSection {
 public:
  explicit MachineSection(std::vector<SourcedPart> parts) : parts_(std::move(parts)) {}

  /// Throws Error, placed at the key, for any key in any of the files that is not among `keys`.
  void only_keys(const std::vector<std::string_view>& keys, std::span<const YamlNode::FormerKey> former = {}) const;
  /// The value of `key`, or of its former name, in the nearest file that has it.
  [[nodiscard]] std::optional<SourcedPart> find(std::string_view key, std::string_view former = {}) const;
  /// The same, but a file that has `owner` without `key` overrides the value with none.
  [[nodiscard]] std::optional<SourcedPart> find_next_to(std::string_view owner, std::string_view key) const;
  /// The same as `find`. Throws Error, placed in the nearest file, if no file has the key.
  [[nodiscard]] SourcedPart at(std::string_view key) const;

 private:
  std::vector<SourcedPart> parts_;
};

/// A machine file and those that it extends, nearest first.
class MachineChain {
 public:
  /// `bundled`: the name of the bundled file that `root` is; empty for a user's file. Throws Error, placed at `extends:`, if
  /// it names no machine, leads back to a file that is already in the chain, or makes the chain too long.
  explicit MachineChain(const YamlNode& root, std::string_view bundled = {});

  [[nodiscard]] std::size_t size() const { return files_.size(); }
  /// The same without the nearest `count` files.
  [[nodiscard]] MachineChain without(std::size_t count) const;
  [[nodiscard]] const YamlNode& nearest() const { return files_.front()->root; }

  /// A section that the nearest file with it replaces as a whole; empty if that file has `none`.
  [[nodiscard]] std::optional<SourcedPart> find_whole(std::string_view key) const;
  /// The same for a section that belongs to another: a file that has `owner` without `key` overrides the section with none.
  [[nodiscard]] std::optional<SourcedPart> find_next_to(std::string_view owner, std::string_view key) const;
  /// A section whose keys are merged one by one; empty if no file has it, or if the nearest one with it has `none`.
  [[nodiscard]] std::optional<MachineSection> find_merged(std::string_view key) const;
  // Like `find_whole` and `find_merged`, for a section that a machine must have. If it is missing, the Error points to the
  // nearest file.
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
