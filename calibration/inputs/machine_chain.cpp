#include "calibration/inputs/machine_chain.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <ranges>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "calibration/inputs/machine_names.hpp"
#include "core/bundled_yaml.hpp"
#include "core/error.hpp"
#include "core/file_format.hpp"
#include "core/source_text.hpp"
#include "model_zoo/files/bundled_name.hpp"

namespace ddl {
namespace {

namespace fs = std::filesystem;

/// Maximum number of files in a chain of `extends:`.
constexpr std::size_t max_extending_machines = 8;

constexpr std::array<std::string_view, 6> optional_sections{"topology", "host", "storage", "failures", "price", "software"};

bool leaves_out(std::string_view key, const YamlNode& node) {
  return std::find(optional_sections.begin(), optional_sections.end(), key) != optional_sections.end() && says_none(node);
}

/// Returns a text that identifies a file. All paths of the file give the same text.
std::string identity_of(const std::string& path) {
  std::error_code problem;
  const fs::path canonical = fs::weakly_canonical(path, problem);
  return problem ? path : canonical.string();
}
/// Returns a text that identifies a bundled file. It starts with a line break, because no path does.
std::string identity_of_bundled(std::string_view name) { return fmt::format("\n{}", name); }

struct Opened {
  YamlNode root;
  std::string identity;
};

/// Opens the file that `extends:` names. An error in the name points to the name; an error in the file points into the file.
Opened open_extended(const YamlNode& extends) {
  const std::string name = extends.name();
  std::string text, origin;
  const EmbeddedFile* bundled = nullptr;
  try {
    if (is_path(name)) {
      origin = (fs::path(extends.origin()).parent_path() / name).lexically_normal().string();
      text = read_file(origin, YamlNode::max_bytes);
    } else {
      bundled = &bundled_machine(name);
    }
  } catch (const Error& error) {
    extends.fail(error.what(), is_path(name) ? "a path is relative to the folder of this file" : error.hint());
  }
  if (bundled != nullptr) return {bundled_yaml(*bundled), identity_of_bundled(bundled->name)};
  std::string identity = identity_of(origin);
  return {YamlNode::parse(std::move(text), std::move(origin)), std::move(identity)};
}

}  // namespace

bool says_none(const YamlNode& node) { return node.is_scalar() && node.text() == "none"; }

void MachineSection::only_keys(const std::vector<std::string_view>& keys,
                               std::span<const YamlNode::FormerKey> former) const {
  for (const SourcedPart& part : parts_) part.node.only_keys(keys, former);
}

std::optional<SourcedPart> MachineSection::find(std::string_view key, std::string_view former) const {
  for (const SourcedPart& part : parts_) {
    if (const auto value = part.node.find(key, former)) return SourcedPart{*value, part.citations};
  }
  return std::nullopt;
}

std::optional<SourcedPart> MachineSection::find_next_to(std::string_view owner, std::string_view key) const {
  for (const SourcedPart& part : parts_) {
    if (const auto value = part.node.find(key)) return SourcedPart{*value, part.citations};
    if (part.node.find(owner)) return std::nullopt;
  }
  return std::nullopt;
}

SourcedPart MachineSection::at(std::string_view key) const {
  if (const auto found = find(key)) return *found;
  return {parts_.front().node.at(key), parts_.front().citations};
}

MachineChain::MachineChain(const YamlNode& root, std::string_view bundled) {
  std::vector<std::string> identities;
  std::vector<YamlNode> roots;
  Opened opened{root, bundled.empty() ? identity_of(root.origin()) : identity_of_bundled(bundled)};
  while (true) {
    // The format is checked before the keys, so that a file of another format or kind gets an error about its format.
    check_format(opened.root);
    opened.root.only_keys({"format", "machine", "extends", "description", "sources", "device", "levels", "topology", "host",
                           "storage", "failures", "price", "coefficients", "software", "aliases", "kind"});
    if (const auto aliases = opened.root.find("aliases")) {
      for (const YamlNode& alias : aliases->items()) static_cast<void>(alias.name());
    }
    roots.push_back(opened.root);
    identities.push_back(std::move(opened.identity));
    const auto extends = roots.back().find("extends");
    if (!extends) break;
    if (roots.size() == max_extending_machines)
      extends->fail(fmt::format("more than {} machines that extend each other", max_extending_machines - 1),
                    "extend one of the first machines instead");
    opened = open_extended(*extends);
    const auto known = std::find(identities.begin(), identities.end(), opened.identity);
    if (known == identities.end()) continue;
    const auto first = static_cast<std::size_t>(known - identities.begin());
    if (first + 1 == roots.size()) extends->fail("a machine cannot extend itself", "name another machine");
    std::string way;
    for (std::size_t i = first; i < roots.size(); ++i) way += fmt::format("{} extends ", roots[i].origin());
    extends->fail(fmt::format("the machines extend each other in a circle: {}{}", way, roots[first].origin()),
                  "one of them must extend another machine, or none");
  }
  // The files are read from the last one on, because a file may use the sources of the files that it extends.
  for (const YamlNode& read : std::ranges::reverse_view(roots)) {
    const auto sources = files_.empty() ? std::optional(read.at("sources")) : read.find("sources");
    auto file = std::make_shared<File>(File{read, sources ? Citations(*sources) : Citations()});
    if (!files_.empty()) file->citations.add_missing(files_.front()->citations);
    files_.insert(files_.begin(), std::move(file));
  }
}

MachineChain MachineChain::without(std::size_t count) const {
  MachineChain rest;
  rest.files_.assign(files_.begin() + static_cast<std::ptrdiff_t>(count), files_.end());
  return rest;
}

std::optional<SourcedPart> MachineChain::find_whole(std::string_view key) const { return find_next_to(key, key); }

std::optional<SourcedPart> MachineChain::find_next_to(std::string_view owner, std::string_view key) const {
  for (const auto& file : files_) {
    if (const auto value = file->root.find(key)) {
      if (leaves_out(key, *value)) return std::nullopt;
      return SourcedPart{*value, &file->citations};
    }
    if (file->root.find(owner)) return std::nullopt;
  }
  return std::nullopt;
}

std::optional<MachineSection> MachineChain::find_merged(std::string_view key) const {
  std::vector<SourcedPart> parts;
  for (const auto& file : files_) {
    const auto value = file->root.find(key);
    if (!value) continue;
    if (leaves_out(key, *value)) break;
    parts.push_back({*value, &file->citations});
  }
  if (parts.empty()) return std::nullopt;
  return MachineSection(std::move(parts));
}

SourcedPart MachineChain::whole(std::string_view key) const {
  if (const auto found = find_whole(key)) return *found;
  return {nearest().at(key), &files_.front()->citations};
}

MachineSection MachineChain::merged(std::string_view key) const {
  if (const auto found = find_merged(key)) return *found;
  return MachineSection({{nearest().at(key), &files_.front()->citations}});
}

}  // namespace ddl
