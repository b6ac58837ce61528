#include "calibration/inputs/machine_names.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "calibration/files/bundled_files.hpp"
#include "core/error.hpp"
#include "core/lower_case.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "core/yaml_node.hpp"
#include "model_zoo/files/bundled_name.hpp"

namespace ddl {
namespace {

/// In bundled files, the aliases come before this key.
constexpr std::string_view description_key = "\ndescription:";
/// Longer names are not compared, because the time of a comparison is proportional to the product of both lengths.
constexpr std::size_t longest_compared = 64;
constexpr std::size_t most_shown = 4;

/// Names that differ from `name` in at most one letter in three. Those with the fewest differences come first; a machine is
/// named once.
std::vector<std::string> nearest_names(std::string_view name) {
  if (name.empty() || name.size() > longest_compared) return {};
  const int limit = static_cast<int>(std::max<std::size_t>(name.size() / 3, 1));
  std::vector<std::pair<int, const MachineName*>> near;
  for (const MachineName& each : all_machine_names()) {
    const int distance = edit_distance(lower_case(name), lower_case(each.name));
    if (distance <= limit && distance < static_cast<int>(name.size())) near.emplace_back(distance, &each);
  }
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> names;
  std::vector<const EmbeddedFile*> files;
  for (const auto& [distance, each] : near) {
    const bool is_new = std::find(files.begin(), files.end(), each->file) == files.end();
    if (!is_new || distance > near.front().first + 1 || names.size() == most_shown) continue;
    files.push_back(each->file);
    names.push_back(each->name);
  }
  return names;
}

std::string in_words(const std::vector<std::string>& names) {
  std::string words;
  for (std::size_t i = 0; i < names.size(); ++i)
    words += fmt::format("{}{}", i == 0 ? "" : i + 1 < names.size() ? ", " : " or ", quote(names[i]));
  return words;
}

/// Returns the name if it needs no quotes in a shell, else a placeholder.
std::string shell_name(const std::string& name) {
  const bool is_plain = !name.empty() && name.size() <= longest_compared && name.front() != '-' &&
                        std::all_of(name.begin(), name.end(), [](char c) {
                          return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                                 c == '_' || c == '.';
                        });
  return is_plain ? name : "NAME";
}

[[noreturn]] void fail_unknown(const std::string& name) {
  const std::string problem = fmt::format("unknown machine {}", quote(name));
  if (name.find(',') != std::string::npos) throw Error(problem, "only 'recommend' takes several machines; name one");
  std::vector<std::string> own;
  for (const EmbeddedFile& file : machine_files()) own.emplace_back(file.name);
  const auto meant = nearest(name, std::span<const std::string>(own));
  if (meant && edit_distance(lower_case(name), lower_case(*meant)) <= 1)
    throw Error(problem, fmt::format("did you mean {}? A file of your own ends in '.yaml'", quote(*meant)));
  if (const std::vector<std::string> near = nearest_names(name); !near.empty()) {
    throw Error(problem,
                fmt::format("did you mean {}? For another machine with such GPUs, write a file: ddl-oracle machines "
                            "new {} --gpu {} --per-node 8 --nodes 16 --network 400Gb/s",
                            in_words(near), shell_name(name), near.front()));
  }
  const std::string known = suggest(name, own);
  if (known.ends_with('?')) throw Error(problem, known + " A file of your own ends in '.yaml'");
  throw Error(problem,
              fmt::format("{}; a file of your own: ddl-oracle machines new {} --peak bf16=312TFLOP/s --memory 80GiB "
                          "--memory-bandwidth 2TB/s --links 300GB/s --per-node 8 --nodes 16 --network 200Gb/s",
                          known, shell_name(name)));
}

}  // namespace

const std::vector<MachineName>& all_machine_names() {
  static const std::vector<MachineName> names = [] {
    std::vector<MachineName> read;
    for (const EmbeddedFile& file : machine_files()) {
      read.push_back({std::string(file.name), &file});
      const std::string_view head = file.content.substr(0, file.content.find(description_key));
      if (head.find("\naliases:") == std::string_view::npos) continue;
      const auto aliases = YamlNode::parse(std::string(head), std::string(file.path)).find("aliases");
      if (!aliases) continue;
      for (const YamlNode& alias : aliases->items()) read.push_back({alias.text(), &file, true});
    }
    return read;
  }();
  return names;
}

const EmbeddedFile* find_machine(std::string_view name) {
  const std::string key = name_key(name);
  for (const EmbeddedFile& file : machine_files()) {
    if (name_key(file.name) == key) return &file;
  }
  for (const MachineName& each : all_machine_names()) {
    if (name_key(each.name) == key) return each.file;
  }
  return nullptr;
}

const EmbeddedFile& bundled_machine(const std::string& name) {
  if (const EmbeddedFile* const file = find_machine(name)) return *file;
  fail_unknown(name);
}

}  // namespace ddl
