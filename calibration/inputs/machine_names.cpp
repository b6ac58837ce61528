#include "calibration/inputs/machine_names.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "calibration/files/bundled_files.hpp"
#include "calibration/inputs/machine_spellings.hpp"
#include "core/csv.hpp"
#include "core/embedded.hpp"
#include "core/error.hpp"
#include "core/lower_case.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "core/units.hpp"
#include "core/words.hpp"
#include "core/yaml_node.hpp"
#include "model_zoo/files/bundled_name.hpp"

namespace ddl {

// This function is generated from devices/absent.csv.
std::span<const EmbeddedFile> absent_device_files();

namespace {

/// In bundled files, the aliases come before this key.
constexpr std::string_view description_key = "\ndescription:";
/// Longer names are not compared, because the time of a comparison is proportional to the product of both lengths.
constexpr std::size_t longest_compared = 64;
constexpr std::size_t most_shown = 4;
/// A shorter beginning does not identify a cloud or a family of machines.
constexpr std::size_t shortest_beginning = 3, most_beginning = 6;

/// The first number in a name, such as the 4090 of `rtx4090`; 0 if there is none.
int number_in(std::string_view name) {
  constexpr int most = 1'000'000;
  int number = 0;
  bool is_inside = false;
  for (const char c : name) {
    if (is_inside && !is_digit(c)) break;
    is_inside = is_digit(c);
    if (is_inside) number = std::min(most, 10 * number + (c - '0'));
  }
  return number;
}

/// The family of an instance type of a cloud: `g5` of `g5.48xlarge`, `a2-highgpu` of `a2-highgpu-8g`; else nothing.
std::string_view instance_family(std::string_view name) {
  const std::size_t end = name.find('.') != std::string_view::npos ? name.find('.') : name.rfind('-');
  const bool has_size = end != std::string_view::npos && end + 1 < name.size() && is_digit(name[end + 1]);
  return has_size ? name.substr(0, end) : std::string_view();
}

/// The names of the other sizes of a cloud's instances, the nearest size first; nothing if the family has fewer than two.
std::vector<std::string> other_sizes(std::string_view name) {
  const std::string family = lower_case(instance_family(name));
  if (family.empty()) return {};
  std::vector<std::string> sizes;
  for (const MachineName& each : all_machine_names()) {
    if (lower_case(instance_family(each.name)) == family) sizes.push_back(each.name);
  }
  if (sizes.size() < 2) return {};
  const auto distance = [&family, asked = number_in(name.substr(family.size()))](std::string_view size) {
    return std::abs(number_in(size.substr(family.size())) - asked);
  };
  std::stable_sort(sizes.begin(), sizes.end(),
                   [&distance](const auto& a, const auto& b) { return distance(a) < distance(b); });
  if (sizes.size() > most_shown) sizes.resize(most_shown);
  return sizes;
}

/// Names that differ from `name` in at most one letter in three. Those with the fewest differences come first, and of these
/// those with the nearest number; a machine is named once.
std::vector<std::string> nearest_names(std::string_view name) {
  if (name.empty() || name.size() > longest_compared) return {};
  if (std::vector<std::string> sizes = other_sizes(name); !sizes.empty()) return sizes;
  const int limit = static_cast<int>(std::max<std::size_t>(name.size() / 3, 1));
  std::vector<std::pair<int, const MachineName*>> near;
  for (const MachineName& each : all_machine_names()) {
    const int distance = edit_distance(lower_case(name), lower_case(each.name));
    if (distance <= limit && distance < static_cast<int>(name.size())) near.emplace_back(distance, &each);
  }
  const auto rank = [number = number_in(name)](const auto& each) {
    return std::pair(each.first, std::abs(number_in(each.second->name) - number));
  };
  std::stable_sort(near.begin(), near.end(), [&rank](const auto& a, const auto& b) { return rank(a) < rank(b); });
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

/// Machines whose own names begin with this name, such as those of a cloud: `lambda`.
std::vector<std::string> names_beginning(std::string_view name) {
  std::vector<std::string> names;
  const std::string key = name_key(name);
  // A name that ends in a digit names a device, and longer names are other devices: `l40` is not `l40s-cluster`.
  if (key.size() < shortest_beginning || is_digit(key.back())) return names;
  for (const EmbeddedFile& file : machine_files()) {
    if (name_key(file.name).starts_with(key)) names.emplace_back(file.name);
  }
  return names;
}

const EmbeddedFile* machine_of_key(const std::string& key) {
  for (const EmbeddedFile& file : machine_files()) {
    if (name_key(file.name) == key) return &file;
  }
  for (const MachineName& each : all_machine_names()) {
    if (name_key(each.name) == key) return each.file;
  }
  return nullptr;
}

/// The memory of a device, and the number of devices on its card.
struct CardMemory {
  Bytes of_device{};
  double devices = 1;
};

/// The memory of a bundled machine's device, from its own file or from the file that it extends.
std::optional<CardMemory> memory_of(const EmbeddedFile& file) {
  constexpr std::string_view memory_key = "\n  memory: {value: ", extends_key = "\nextends: ";
  constexpr std::string_view devices_key = "\n  devices_per_card: ";
  constexpr int longest_chain = 8;
  const EmbeddedFile* each = &file;
  for (int i = 0; each != nullptr && i < longest_chain; ++i) {
    const std::string_view content = each->content;
    if (const std::size_t at = content.find(memory_key); at != std::string_view::npos) {
      const std::string_view value = content.substr(at + memory_key.size());
      UnitProblem problem;
      const std::optional<Bytes> memory = parse_quantity<Bytes>(value.substr(0, value.find(',')), problem);
      if (!memory) return std::nullopt;
      const std::size_t count = content.find(devices_key);
      if (count == std::string_view::npos) return CardMemory{*memory};
      const std::string_view devices = content.substr(count + devices_key.size());
      return CardMemory{*memory, ddl::number_in<double>(devices.substr(0, devices.find('\n'))).value_or(1)};
    }
    const std::size_t at = content.find(extends_key);
    if (at == std::string_view::npos) break;
    const std::string_view name = content.substr(at + extends_key.size());
    each = machine_of_key(name_key(name.substr(0, name.find('\n'))));
  }
  return std::nullopt;
}

/// A machine whose device matches a name, except perhaps the size of memory in the name.
struct DeviceWithMemory {
  const EmbeddedFile* file{};
  Bytes memory{};
  bool is_equal{};  ///< whether the device has the memory of the name
};

/// Returns the machine of a name that gives the size of its memory, such as `L40S 48GB`.
std::optional<DeviceWithMemory> without_memory(std::string_view name) {
  std::vector<std::string> words = shorter_spellings(name).words;
  const auto size = std::find_if(words.begin(), words.end(), [](const auto& word) { return gigabytes_in(word) > 0; });
  if (size == words.end()) return std::nullopt;
  const double named = gigabytes_in(*size);
  words.erase(size);
  const EmbeddedFile* const file = words.empty() ? nullptr : machine_of_key(name_key(joined(words)));
  const std::optional<CardMemory> memory = file == nullptr ? std::nullopt : memory_of(*file);
  if (!memory) return std::nullopt;
  // Programs see at least seven eighths of a card's nominal memory. Error correction and the driver use the rest.
  constexpr double least_seen = 0.875, most_seen = 1.03;
  // A name gives the memory of the device or of the whole card.
  const double own = memory->of_device.value() / (named * 1024 * 1024 * 1024), of_card = own * memory->devices;
  const auto is_seen = [](double part) { return part > least_seen && part < most_seen; };
  return DeviceWithMemory{file, memory->of_device, is_seen(own) || is_seen(of_card)};
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

/// Returns the machine that a name means by its words in any order, such as `RTX 6000 Pro`; null if no machine matches, or
/// several do.
const EmbeddedFile* machine_of_words(std::vector<std::string> words) {
  std::sort(words.begin(), words.end());
  const EmbeddedFile* meant = nullptr;
  for (const MachineName& each : all_machine_names()) {
    std::vector<std::string> own = words_of(each.name);
    std::sort(own.begin(), own.end());
    if (own != words) continue;
    if (meant != nullptr && meant != each.file) return nullptr;
    meant = each.file;
  }
  return meant;
}

/// Returns the machine of a name that consists of two names of the machine, such as `DGX Spark (GB10)`; null if there is
/// none.
const EmbeddedFile* machine_named_twice(const std::vector<std::string>& words) {
  const auto of_part = [&words](std::size_t first, std::size_t last) {
    const auto begin = words.begin();
    return machine_of_key(joined({begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(last)}));
  };
  for (std::size_t i = 1; i < words.size(); ++i) {
    const EmbeddedFile* const file = of_part(0, i);
    if (file != nullptr && file == of_part(i, words.size())) return file;
  }
  return nullptr;
}

/// Names that continue this name after a hyphen, or that have all its words: `rtx6000-ada` for `RTX6000`.
std::vector<std::string> longer_names(std::string_view name) {
  std::vector<std::string> words = words_of(name);
  remove_count(words);
  if (words.empty()) return {};
  std::vector<std::string> names;
  std::vector<const EmbeddedFile*> files;
  for (const MachineName& each : all_machine_names()) {
    const std::vector<std::string> own = words_of(each.name);
    const bool has_all = std::all_of(words.begin(), words.end(), [&own](const std::string& word) {
      return std::find(own.begin(), own.end(), word) != own.end();
    });
    const bool is_new = std::find(files.begin(), files.end(), each.file) == files.end();
    const bool has_number = std::any_of(words.begin(), words.end(), [](const auto& word) { return number_in(word) > 0; });
    if (!has_all || !has_number || !is_new || names.size() == most_shown) continue;
    files.push_back(each.file);
    names.push_back(each.name);
  }
  return names;
}

/// The reason why no bundled machine has this kind of device, or which bundled device of the kind is nearest; empty for all
/// other names. A name is of a kind if one of its words is among those of a row of devices/absent.csv.
std::string reason_of_absence(std::string_view name) {
  std::vector<std::string> words = words_of(name);
  remove_count(words);
  // The type of an instance, such as `inf2.48xlarge`, begins with its family.
  for (std::string& word : words) word.resize(std::min(word.size(), word.find('.')));
  const EmbeddedFile& file = absent_device_files().front();
  const CsvTable table = CsvTable::parse(std::string(file.content), std::string(file.path));
  const std::size_t of_kind = table.column("words"), reason = table.column("reason");
  for (std::size_t row = 0; row < table.rows(); ++row) {
    for (const std::string& absent : words_of(table.cell(row, of_kind))) {
      if (std::find(words.begin(), words.end(), absent) != words.end()) return table.cell(row, reason);
    }
  }
  return {};
}

/// Returns the longest part of a name that names a bundled machine by itself, if the other words have no digits: `h100` of
/// `our-h100-cluster`; empty if there is none.
std::string known_part(std::string_view name) {
  if (name.size() > longest_compared) return {};
  const std::vector<std::string> words = words_of(name);
  const auto has_digit = [](const std::string& word) { return std::any_of(word.begin(), word.end(), is_digit); };
  const std::ptrdiff_t numbered = std::count_if(words.begin(), words.end(), has_digit);
  for (std::size_t length = words.size(); length-- > 1;) {
    for (std::size_t first = 0; first + length <= words.size(); ++first) {
      std::string part;
      std::ptrdiff_t inside = 0;
      for (std::size_t i = first; i < first + length; ++i) {
        part += (part.empty() ? "" : "-") + words[i];
        inside += has_digit(words[i]) ? 1 : 0;
      }
      if (inside == numbered && machine_of_key(name_key(part)) != nullptr) return part;
    }
  }
  return {};
}

/// The command that writes a machine file for a device that no bundled machine has.
std::string sheet_command(const std::string& name) {
  return fmt::format(
      "ddl-oracle machines new {0} --peak bf16=312TFLOP/s --memory 80GiB --memory-bandwidth 2TB/s --links 300GB/s "
      "--per-node 8 --nodes 16 --network 200Gb/s -o {0}.yaml",
      shell_name(name));
}

[[noreturn]] void fail_unknown(const std::string& name) {
  const std::string problem = fmt::format("unknown machine {}", quote(name));
  if (name.find(',') != std::string::npos) throw Error(problem, "only 'recommend' takes several machines; name one");
  if (const std::size_t colon = name.rfind(':'); colon != std::string::npos && find_machine(name.substr(0, colon))) {
    const std::string gpus = name.substr(colon + 1);
    if (!gpus.empty() && gpus.find_first_not_of("0123456789") == std::string::npos)
      throw Error(problem,
                  fmt::format("use --machine {} --gpus {}; only 'recommend' and 'explain' take numbers of GPUs in --machine",
                              name.substr(0, colon), gpus));
  }
  std::vector<std::string> own;
  for (const EmbeddedFile& file : machine_files()) own.emplace_back(file.name);
  const auto meant = nearest(name, std::span<const std::string>(own));
  if (meant && edit_distance(lower_case(name), lower_case(*meant)) <= 1)
    throw Error(problem, fmt::format("did you mean {}? A file of your own ends in '.yaml'", quote(*meant)));
  if (const std::string reason = reason_of_absence(name); !reason.empty())
    throw Error(problem, fmt::format("{}; a file from the GPU's datasheet: {}", reason, sheet_command(name)));
  if (const auto other = without_memory(name); other && !other->is_equal && other_sizes(name).empty()) {
    throw Error(
        problem,
        fmt::format("{} has {} of memory; a file that extends this machine can set another memory (docs/machines.md)",
                    quote(std::string(other->file->name)), humanize(other->memory)));
  }
  if (std::vector<std::string> alike = names_beginning(name); !alike.empty()) {
    const bool is_long = alike.size() > most_beginning;
    if (is_long) alike.resize(most_beginning);
    throw Error(problem,
                fmt::format("did you mean {}{}?", in_words(alike), is_long ? ", or another of 'machines list'" : ""));
  }
  for (const std::string& each : own) {
    if (lower_case(name).starts_with(each + "-")) throw Error(problem, fmt::format("did you mean {}?", quote(each)));
  }
  if (const std::vector<std::string> longer = longer_names(name); !longer.empty())
    throw Error(problem, fmt::format("did you mean {}?", in_words(longer)));
  if (const std::string part = known_part(name); !part.empty()) {
    throw Error(problem,
                fmt::format("did you mean {0}? For a cluster of its GPUs, write a file: ddl-oracle machines new {1} "
                            "--gpu {2} --per-node 8 --nodes 16 --network 200Gb/s -o {1}.yaml",
                            quote(part), shell_name(name), part));
  }
  if (const std::vector<std::string> near = nearest_names(name); !near.empty()) {
    throw Error(problem, fmt::format("did you mean {}? For other GPUs, write a file with the figures of their datasheet: {}",
                                     in_words(near), sheet_command(name)));
  }
  const std::string known = suggest(name, own);
  if (known.ends_with('?')) throw Error(problem, known + " A file of your own ends in '.yaml'");
  throw Error(problem, fmt::format("see 'machines list' for bundled machines; a file of your own: {}", sheet_command(name)));
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
  for (const EmbeddedFile& file : machine_files()) {
    if (file.name == name) return &file;
  }
  if (const EmbeddedFile* const file = machine_of_key(name_key(name))) return file;
  if (name.size() > longest_compared) return nullptr;
  for (const std::string& spelling : shorter_spellings(name).names) {
    if (const EmbeddedFile* const file = spelling.empty() ? nullptr : machine_of_key(name_key(spelling))) return file;
  }
  const std::optional<DeviceWithMemory> device = without_memory(name);
  if (device && device->is_equal) return device->file;
  const std::vector<std::string> words = shorter_spellings(name).words;
  if (const EmbeddedFile* const file = machine_named_twice(words)) return file;
  return machine_of_words(words);
}

const EmbeddedFile& bundled_machine(const std::string& name) {
  if (const EmbeddedFile* const file = find_machine(name)) return *file;
  fail_unknown(name);
}

}  // namespace ddl
