#include "calibration/inputs/machine_text.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ddl {
namespace {

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || static_cast<unsigned char>(c) >= 0x80;
}

/// Whether a C1 control character, which has two bytes in UTF-8, is at `at`. YAML readers refuse C1 characters.
bool is_wide_control(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]) == 0xC2 && at + 1 < text.size() &&
         static_cast<unsigned char>(text[at + 1]) < 0xA0;
}

/// Whether YAML reads a text without quotes as the same text, both as a value and as a key.
bool is_plain(std::string_view text) {
  if (text.empty() || text.back() == ' ' || text == "null" || text == "Null" || text == "NULL") return false;
  const bool begins_well =
      is_alphanumeric(text.front()) ||
      (text.size() > 1 && is_alphanumeric(text[1]) && (text.front() == '-' || text.front() == '.' || text.front() == '+'));
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (is_wide_control(text, at)) return false;
  }
  return begins_well && std::all_of(text.begin(), text.end(), [](char c) {
           return is_alphanumeric(c) || std::string_view(" .+-_/()").find(c) != std::string_view::npos;
         });
}

/// Returns a list of numbers in the form of machine files: `{value: [4, 4, 8], source: sheet}`.
std::string list_pair(const std::vector<int>& values, const SourcedNumber& number, SourceKeys& sources) {
  return fmt::format("{{value: [{}], source: {}}}", fmt::join(values, ", "),
                     yaml_scalar(sources.key_of(number.source, number.source_key)));
}

constexpr std::array<std::string_view, 8> device_keys{"memory",          "memory_bandwidth", "tile",
                                                      "attainable_peak", "sustained_peak",   "attainable_bandwidth",
                                                      "launch_overhead", "host_speed"};
constexpr std::array<std::string_view, 8> level_keys{"units",      "fabric", "latency", "bandwidth",
                                                     "attainable", "rails",  "peers",   "oversubscription"};

/// Returns one line for each number with a key that starts with `prefix`. The line has the key
/// without `prefix`. Empty if there is no such number.
std::string lines_below(const SourcedMachine& sourced, std::string_view prefix, std::string_view indent,
                        SourceKeys& sources) {
  std::string lines;
  for (const SourcedNumber& number : sourced.numbers) {
    if (!number.key.starts_with(prefix)) continue;
    const std::string_view key = std::string_view(number.key).substr(prefix.size());
    std::string pair = sources.pair(number);
    if (number.key == "topology.extents") pair = list_pair(sourced.machine.shape.extents, number, sources);
    if (number.key == "topology.shortcuts" || number.key == "topology.circuits")
      pair = list_pair(sourced.machine.shape.shortcuts, number, sources);
    lines += fmt::format("{}{}: {}\n", indent, key, pair);
  }
  return lines;
}

std::string device_lines(const SourcedMachine& sourced, SourceKeys& sources) {
  const Device& device = sourced.machine.device;
  std::string lines = fmt::format("  name: {}\n", yaml_scalar(device.name));
  if (device.is_processor) lines += "  kind: processor\n";
  if (device.is_tpu) lines += "  kind: tpu\n";
  if (device.is_accelerator) lines += "  kind: accelerator\n";
  if (!device.noun.empty()) lines += fmt::format("  noun: {}\n", yaml_scalar(device.noun));
  if (!device.profile_names.empty()) {
    std::vector<std::string> names;
    for (const std::string& name : device.profile_names) names.push_back(yaml_scalar(name));
    lines += fmt::format("  profile_names: [{}]\n", fmt::join(names, ", "));
  }
  if (device.devices_per_card > 1) lines += fmt::format("  devices_per_card: {}\n", device.devices_per_card);
  if (const SourcedNumber* const number = find_number(sourced, "device.compute_capability")) {
    lines += fmt::format("  compute_capability: {}\n", sources.pair(*number));
  }
  if (const SourcedNumber* const number = find_number(sourced, "device.multiprocessors")) {
    lines += fmt::format("  multiprocessors: {}\n", sources.pair(*number));
  }
  if (const SourcedNumber* const number = find_number(sourced, "device.power")) {
    lines += fmt::format("  power: {}\n", sources.pair(*number));
  }
  lines += "  peak:\n" + lines_below(sourced, "device.peak.", "    ", sources);
  const std::string sustained = lines_below(sourced, "device.sustained_peaks.", "    ", sources);
  if (!sustained.empty()) lines += "  sustained_peaks:\n" + sustained;
  for (const std::string_view key : device_keys) {
    if (const SourcedNumber* const number = find_number(sourced, fmt::format("device.{}", key))) {
      lines += fmt::format("  {}: {}\n", key, sources.pair(*number));
    }
  }
  if (!device.kernels_file.empty()) lines += fmt::format("  kernels: {}\n", yaml_scalar(device.kernels_file));
  return lines;
}

}  // namespace

std::string yaml_scalar(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  std::string quoted = "\"";
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (is_wide_control(text, at)) {
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(text[++at])));
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\t') {
      quoted += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string SourceKeys::key_of(const std::string& citation, const std::string& wanted) {
  for (const auto& [key, known] : citations_) {
    if (known == citation) return key;
  }
  // YAML does not accept a longer text as a key.
  constexpr std::size_t longest_key = 100;
  const std::string stem = wanted.size() > longest_key ? "source" : wanted;
  std::string key = stem;
  const auto is_taken = [&] {
    return std::any_of(citations_.begin(), citations_.end(), [&](const auto& known) { return known.first == key; });
  };
  for (int i = 2; is_taken(); ++i) key = fmt::format("{}-{}", stem, i);
  citations_.emplace_back(key, citation);
  return key;
}

std::string SourceKeys::pair(const SourcedNumber& number) {
  return fmt::format("{{value: {}, source: {}}}", yaml_scalar(number.value),
                     yaml_scalar(key_of(number.source, number.source_key)));
}

std::string SourceKeys::lines() const {
  std::string lines;
  for (const auto& [key, citation] : citations_) {
    // Citations are prose, so all of them are quoted.
    const std::string text = yaml_scalar(citation);
    lines += fmt::format("  {}: {}\n", yaml_scalar(key), text.front() == '"' ? text : '"' + text + '"');
  }
  return lines;
}

const SourcedNumber* find_number(const SourcedMachine& sourced, std::string_view key) {
  const auto found = std::find_if(sourced.numbers.begin(), sourced.numbers.end(),
                                  [&](const SourcedNumber& each) { return each.key == key; });
  return found == sourced.numbers.end() ? nullptr : &*found;
}

std::string level_lines(const SourcedMachine& sourced, const std::string& level, SourceKeys& sources,
                        const std::vector<SourcedNumber>& replaced) {
  std::string lines = fmt::format("  - name: {}\n", yaml_scalar(level));
  for (const std::string_view key : level_keys) {
    const std::string full = fmt::format("levels.{}.{}", level, key);
    const auto other =
        std::find_if(replaced.begin(), replaced.end(), [&](const SourcedNumber& each) { return each.key == full; });
    const SourcedNumber* const number = other != replaced.end() ? &*other : find_number(sourced, full);
    // Rails that are derived from the over-subscription have no citation.
    if (number == nullptr || number->source_key.empty()) continue;
    lines += fmt::format("    {}: {}\n", key, sources.pair(*number));
  }
  return lines;
}

std::string machine_text(const SourcedMachine& sourced) {
  const Machine& machine = sourced.machine;
  SourceKeys sources;
  std::string sections = "\ndevice:\n" + device_lines(sourced, sources) + "\nlevels:\n";
  for (const LinkLevel& level : machine.levels) sections += level_lines(sourced, level.name, sources);
  for (const std::string_view section : {"topology", "host", "storage", "failures"}) {
    const std::string lines = lines_below(sourced, fmt::format("{}.", section), "  ", sources);
    if (!lines.empty()) sections += fmt::format("\n{}:\n{}", section, lines);
  }
  for (const std::string_view key : {"price", "software"}) {
    if (const SourcedNumber* const value = find_number(sourced, key)) {
      sections += fmt::format("\n{}: {}\n", key, sources.pair(*value));
    }
  }
  return fmt::format("format: 1\nmachine: {}\ndescription: {}\n\nsources:\n{}{}", yaml_scalar(machine.name),
                     yaml_scalar(machine.description), sources.lines(), sections);
}

}  // namespace ddl
