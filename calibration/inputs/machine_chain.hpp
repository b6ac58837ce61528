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

/// A node of a machine file, with the citations that this file knows.
struct SourcedPart {
  YamlNode node;
  const Citations* citations;
};

/// The bundled file of a machine of this name, or with this alias. Throws Error, with "did you mean", on a name that is
/// none.
[[nodiscard]] const EmbeddedFile& bundled_machine(const std::string& name);

/// Whether a file has `none` in place of what the machine that it extends has, and it has not.
[[nodiscard]] bool says_none(const YamlNode& node);

/// One section of a machine, as its file and those that it extends write it: nearest first, never empty.
class MachineSection {
 public:
  explicit MachineSection(std::vector<SourcedPart> parts) : parts_(std::move(parts)) {}

  /// Refuses in each file, placed at the key, any key that is not among `keys`.
  void only_keys(const std::vector<std::string_view>& keys, std::span<const YamlNode::FormerKey> former = {}) const;
  /// The value of `key`, or of what it was called before, in the nearest file that has it.
  [[nodiscard]] std::optional<SourcedPart> find(std::string_view key, std::string_view former = {}) const;
  /// The same, but a file that has `owner` and not `key` says that there is none.
  [[nodiscard]] std::optional<SourcedPart> find_beside(std::string_view owner, std::string_view key) const;
  /// An Error placed in the nearest file where no file has it.
  [[nodiscard]] SourcedPart at(std::string_view key) const;

 private:
  std::vector<SourcedPart> parts_;
};

/// A machine file and those that it extends, nearest first.
class MachineChain {
 public:
  /// `bundled`: the name of the bundled file that `root` is; empty for a file of the user's. An Error placed at `extends:`
  /// when it names no machine, leads back to a file that is read already, or goes on for too long.
  explicit MachineChain(const YamlNode& root, std::string_view bundled = {});

  [[nodiscard]] std::size_t size() const { return files_.size(); }
  /// The same without the nearest `count` files.
  [[nodiscard]] MachineChain without(std::size_t count) const;
  [[nodiscard]] const YamlNode& nearest() const { return files_.front()->root; }

  /// A section that the nearest file with it replaces as a whole; nothing if that file says `none`.
  [[nodiscard]] std::optional<SourcedPart> find_whole(std::string_view key) const;
  /// The same of a section that belongs to another: a file that has `owner` and not `key` says that there is none.
  [[nodiscard]] std::optional<SourcedPart> find_beside(std::string_view owner, std::string_view key) const;
  /// A section whose keys are merged one by one; nothing if no file has it, or the nearest one with it says `none`.
  [[nodiscard]] std::optional<MachineSection> find_merged(std::string_view key) const;
  // Like `find_whole` and `find_merged`, for a section that a machine must have: without it, an Error points to the nearest
  // file.
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
