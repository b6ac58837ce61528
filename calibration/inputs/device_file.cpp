#include "calibration/inputs/device_file.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <mutex>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibration/files/bundled_files.hpp"
#include "calibration/files/citations.hpp"
#include "core/file_format.hpp"
#include "core/source_text.hpp"
#include "core/yaml_node.hpp"

namespace ddl {
namespace {

constexpr std::string_view families_key = "\nfamilies:";
constexpr std::string_view transferred_name = "other-devices", capabilities_name = "capabilities";
constexpr std::string_view pci_name = "pci-numbers";
/// Number of residuals on one line of the file.
constexpr std::size_t on_a_line = 12;
/// Larger logarithms of sizes and of ratios are probably typing errors.
constexpr float log_size_bound = 80, log_ratio_bound = 5;

/// Reads the name of one of the first `count` enumerators. `noun`: the word for an enumerator in the message.
template <NamedEnum Enum>
Enum read_word(const YamlNode& node, std::string_view noun, std::size_t count = enum_count<Enum>()) {
  const auto word = parse_enum<Enum>(node.text());
  if (word && static_cast<std::size_t>(*word) < count) return *word;
  node.fail(fmt::format("unknown {} {}", noun, quote(node.text())),
            fmt::format("known: {}", fmt::join(std::span(enum_names<Enum>).first(count), ", ")));
}

std::vector<std::string> read_names(const YamlNode& root) {
  std::vector<std::string> names;
  for (const YamlNode& name : root.at("names").items()) names.push_back(name.name());
  if (names.empty()) root.at("names").fail("a device needs a name");
  return names;
}

/// Reads residuals: `12.3 10 11 0 23.1 -0.034; …`
void read_residuals(const YamlNode& node, std::vector<KernelResidual>& residuals) {
  const std::string text = node.text();
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    std::array<float, std::tuple_size_v<KernelPlace> + 1> numbers{};
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      while (at < end && *at == ' ') ++at;
      const auto [next, problem] = std::from_chars(at, end, numbers[i]);
      const bool is_ratio = i + 1 == numbers.size();
      const bool is_size = numbers[i] >= 0 && numbers[i] <= log_size_bound;
      if (problem != std::errc{} || !(is_ratio ? std::abs(numbers[i]) <= log_ratio_bound : is_size)) {
        node.fail(fmt::format("at {}: six numbers are expected", quote(std::string_view(at, end).substr(0, 20))),
                  "binary logarithms of m, n, k, count and bytes, and ln(measured / formula)");
      }
      at = next;
    }
    KernelResidual residual{.log_ratio = numbers.back()};
    std::copy_n(numbers.begin(), residual.place.size(), residual.place.begin());
    residuals.push_back(residual);
    while (at < end && (*at == ' ' || *at == ';')) ++at;
  }
}

KernelFamily read_family(const YamlNode& node, const DeviceFile& file) {
  node.only_keys(
      {"kind", "pass", "precision", "conditions", "devices", "source", "rows", "constants", "spread", "residuals"});
  KernelFamily family;
  family.kind = read_word<KernelKind>(node.at("kind"), "kind of kernel");
  if (const auto pass = node.find("pass")) family.pass = read_word<Pass>(*pass, "pass", 3);
  family.precision = read_word<Precision>(node.at("precision"), "precision");
  if (const auto conditions = node.find("conditions")) family.conditions = read_word<Conditions>(*conditions, "conditions");
  if (const auto devices = node.find("devices")) {
    for (const YamlNode& device : devices->items()) {
      family.devices.push_back(device.name());
      if (std::find(file.names.begin(), file.names.end(), family.devices.back()) == file.names.end())
        device.fail(fmt::format("unknown device {}", quote(family.devices.back())), "write one of the file's 'names'");
    }
  }
  family.source = node.at("source").text();
  if (std::none_of(file.sources.begin(), file.sources.end(),
                   [&](const auto& each) { return each.first == family.source; })) {
    node.at("source").fail(fmt::format("unknown source {}", quote(family.source)), "cite it under 'sources'");
  }
  family.rows = static_cast<int>(node.at("rows").integer(1, 100'000'000));
  const YamlNode constants = node.at("constants");
  const KernelForm& form = form_of(family.kind);
  std::vector<std::string_view> names;
  for (const KernelConstant& each : form.constants) names.push_back(each.name);
  constants.only_keys(names);
  // If the rows do not determine a constant, the fit may end at the constant's bound.
  constexpr double rounding = 1e-3;
  for (const KernelConstant& each : form.constants) {
    const double least = each.least * (1 - rounding), most = each.most * (1 + rounding);
    const bool is_left_out = each.is_optional && !constants.find(each.name);
    family.constants.push_back(is_left_out ? each.usual : constants.at(each.name).number(least, most));
  }
  const YamlNode spread = node.at("spread");
  spread.only_keys({"inside", "outside"});
  family.spread_inside = spread.at("inside").number(0, static_cast<double>(log_ratio_bound));
  family.spread_outside = spread.at("outside").number(0, static_cast<double>(log_ratio_bound));
  if (const auto residuals = node.find("residuals")) {
    for (const YamlNode& line : residuals->items()) read_residuals(line, family.residuals);
  }
  return family;
}

/// The header of a bundled device file: the part before its kernels.
struct DeviceHead {
  const EmbeddedFile* file;
  std::vector<std::string> names;
  std::optional<double> compute_capability{};
};

/// The headers of all bundled device files, except the file of transferred constants. They are parsed once, because all
/// machines need them and few need the kernels that follow.
const std::vector<DeviceHead>& device_heads() {
  static const std::vector<DeviceHead> heads = [] {
    std::vector<DeviceHead> read;
    for (const EmbeddedFile& file : device_files()) {
      if (file.name == transferred_name || file.name == capabilities_name || file.name == pci_name) continue;
      const std::string_view head = file.content.substr(0, file.content.find(families_key) + 1);
      const YamlNode root = YamlNode::parse(std::string(head), std::string(file.path));
      read.push_back({&file, read_names(root)});
      if (const auto capability = root.find("compute_capability"))
        read.back().compute_capability = capability->number(1, 1000);
    }
    return read;
  }();
  return heads;
}

/// The header of the file of a device with one of these names; null if there is none.
const DeviceHead* head_of(const Device& device) {
  for (const DeviceHead& head : device_heads()) {
    for (const std::string& name : head.names) {
      const bool is_it = name == device.name || std::find(device.profile_names.begin(), device.profile_names.end(), name) !=
                                                    device.profile_names.end();
      if (is_it) return &head;
    }
  }
  return nullptr;
}

/// Each file is read once, because many machines have the same device.
std::shared_ptr<const DeviceKernels> kernels_of(const EmbeddedFile& file) {
  static std::mutex mutex;
  static std::map<std::string_view, std::shared_ptr<const DeviceKernels>> known;
  const std::lock_guard lock(mutex);
  std::shared_ptr<const DeviceKernels>& kernels = known[file.name];
  if (!kernels) {
    DeviceFile read = parse_device_file(std::string(file.content), std::string(file.path));
    kernels = std::make_shared<const DeviceKernels>(std::move(read.kernels));
  }
  return kernels;
}

}  // namespace

DeviceFile parse_device_file(const std::string& text, const std::string& origin) {
  const YamlNode root = YamlNode::parse(text, origin);
  check_format(root);
  root.only_keys({"format", "names", "compute_capability", "power", "multiprocessors", "peak", "sustained", "flash2",
                  "sources", "families"});
  DeviceFile file;
  file.names = read_names(root);
  file.kernels.device = file.names.front();
  if (const auto capability = root.find("compute_capability")) file.compute_capability = capability->number(1, 1000);
  constexpr double most_watts = 100'000;
  if (const auto power = root.find("power")) file.kernels.power = power->number(1, most_watts);
  if (const auto units = root.find("multiprocessors")) file.kernels.multiprocessors = units->number(1, most_watts);
  if (const auto peak = root.find("peak")) file.kernels.peak = peak->flop_rate().value();
  if (const auto sustained = root.find("sustained")) {
    for (const auto& [kind, part] : sustained->entries())
      file.kernels.sustained[read_word<KernelKind>(kind, "kind of kernel")] = part.number(0.05, 1);
  }
  if (const auto flash2 = root.find("flash2")) {
    flash2->only_keys({"forward", "backward"});
    file.kernels.flash2 = {flash2->at("forward").number(0.1, 10), flash2->at("backward").number(0.1, 10)};
  }
  for (const auto& [key, citation] : root.at("sources").entries()) file.sources.emplace_back(key.name(), citation.text());
  for (const YamlNode& family : root.at("families").items()) file.kernels.families.push_back(read_family(family, file));
  return file;
}

std::string print_device_file(const DeviceFile& file) {
  std::string text = "format: 1\nnames:\n";
  for (const std::string& name : file.names) text += fmt::format("  - {}\n", name);
  if (file.compute_capability) text += fmt::format("compute_capability: {}\n", *file.compute_capability);
  if (file.kernels.power > 0) text += fmt::format("power: {}\n", file.kernels.power);
  if (file.kernels.multiprocessors > 0) text += fmt::format("multiprocessors: {}\n", file.kernels.multiprocessors);
  if (file.kernels.peak > 0) text += fmt::format("peak: {} TFLOP/s\n", file.kernels.peak / 1e12);
  std::vector<std::string> sustained;
  for (const KernelKind kind : enum_values<KernelKind>) {
    if (const auto part = file.kernels.sustained[kind]) sustained.push_back(fmt::format("{}: {}", to_string(kind), *part));
  }
  if (!sustained.empty()) text += fmt::format("sustained: {{{}}}\n", fmt::join(sustained, ", "));
  const auto& [forward, backward] = file.kernels.flash2;
  if (forward != 1 || backward != 1) text += fmt::format("flash2: {{forward: {}, backward: {}}}\n", forward, backward);
  text += "sources:\n";
  for (const auto& [key, citation] : file.sources) text += fmt::format("  {}: \"{}\"\n", key, citation);
  text += "families:\n";
  for (const KernelFamily& family : file.kernels.families) {
    text += fmt::format("  - kind: {}\n", to_string(family.kind));
    if (family.pass) text += fmt::format("    pass: {}\n", to_string(*family.pass));
    text += fmt::format("    precision: {}\n", to_string(family.precision));
    if (family.conditions != Conditions::alone) text += fmt::format("    conditions: {}\n", to_string(family.conditions));
    if (!family.devices.empty()) text += fmt::format("    devices: [{}]\n", fmt::join(family.devices, ", "));
    text += fmt::format("    source: {}\n    rows: {}\n    constants: {{", family.source, family.rows);
    const KernelForm& form = form_of(family.kind);
    for (std::size_t i = 0; i < form.constants.size(); ++i) {
      const std::string value = fmt::format("{:.4g}", family.constants[i]);
      if (form.constants[i].is_optional && value == fmt::format("{:.4g}", form.constants[i].usual)) continue;
      text += fmt::format("{}{}: {}", i == 0 ? "" : ", ", form.constants[i].name, value);
    }
    text +=
        fmt::format("}}\n    spread: {{inside: {:.3g}, outside: {:.3g}}}\n", family.spread_inside, family.spread_outside);
    if (family.residuals.empty()) continue;
    text += "    residuals:\n";
    for (std::size_t i = 0; i < family.residuals.size(); ++i) {
      if (i % on_a_line == 0) text += i == 0 ? "      - " : "\n      - ";
      const KernelResidual& each = family.residuals[i];
      text += fmt::format("{}", i % on_a_line == 0 ? "" : "; ");
      for (const float place : each.place) text += fmt::format("{:.4g} ", place);
      text += fmt::format("{:.3f}", each.log_ratio);
    }
    text += "\n";
  }
  return text;
}

std::vector<CapabilityFacts> parse_capabilities(std::string text, std::string origin) {
  const YamlNode root = YamlNode::parse(std::move(text), std::move(origin));
  check_format(root);
  root.only_keys({"format", "sources", "capabilities"});
  const Citations citations(root.at("sources"));
  std::vector<CapabilityFacts> all;
  for (const YamlNode& item : root.at("capabilities").items()) {
    item.only_keys({"capability", "joules_per_flop", "whole_context"});
    CapabilityFacts facts{.capability = item.at("capability").number(1, 1000)};
    // A FLOP of a GPU takes about a picojoule.
    constexpr double least_joules = 1e-15, most_joules = 1e-9;
    if (const auto joules = item.find("joules_per_flop"))
      facts.joules_per_flop = citations.read(*joules).value.number(least_joules, most_joules);
    if (const auto context = item.find("whole_context")) facts.whole_context = citations.read(*context).value.bytes();
    all.push_back(facts);
  }
  return all;
}

void add_capability_facts(Device& device) {
  static const std::vector<CapabilityFacts> known = [] {
    std::vector<CapabilityFacts> all;
    for (const EmbeddedFile& file : device_files()) {
      if (file.name == capabilities_name) all = parse_capabilities(std::string(file.content), std::string(file.path));
    }
    return all;
  }();
  if (device.is_processor || !device.compute_capability) return;
  for (const CapabilityFacts& each : known) {
    if (std::abs(*device.compute_capability - each.capability) >= 0.05) continue;
    if (!device.joules_per_flop) device.joules_per_flop = each.joules_per_flop;
    if (!device.whole_context) device.whole_context = each.whole_context;
  }
}

bool has_bundled_kernels(const Device& device) { return head_of(device) != nullptr; }

namespace {

/// Returns whether a family of a device with the same multiprocessors is a better estimate than a family of other devices.
/// This requires the same kernels and pass, the same units, and elements of the same size.
bool stands_for(const KernelFamily& alike, const KernelFamily& other) {
  return alike.kind == other.kind && alike.pass == other.pass && alike.conditions == other.conditions &&
         (alike.precision == Precision::fp32) == (other.precision == Precision::fp32) &&
         item_bytes(alike.precision) == item_bytes(other.precision);
}

}  // namespace

std::optional<DeviceFile> bundled_device_file(const Device& device) {
  const DeviceHead* const head = head_of(device);
  if (head == nullptr) return std::nullopt;
  return parse_device_file(std::string(head->file->content), std::string(head->file->path));
}

std::shared_ptr<const DeviceKernels> bundled_kernels(const Device& device) {
  const DeviceHead* const head = head_of(device);
  if (head == nullptr) return nullptr;
  std::shared_ptr<const DeviceKernels> all = kernels_of(*head->file);
  const auto is_of_another = [&](const KernelFamily& family) {
    return !family.devices.empty() && std::none_of(family.devices.begin(), family.devices.end(), [&](const auto& name) {
      return name == device.name ||
             std::find(device.profile_names.begin(), device.profile_names.end(), name) != device.profile_names.end();
    });
  };
  if (std::none_of(all->families.begin(), all->families.end(), is_of_another)) return all;
  auto own = std::make_shared<DeviceKernels>(*all);
  std::erase_if(own->families, is_of_another);
  return own;
}

std::shared_ptr<const DeviceKernels> transferred_kernels(const Device& device) {
  static std::map<double, std::shared_ptr<const DeviceKernels>> known;
  std::shared_ptr<const DeviceKernels>& kernels = known[device.compute_capability.value_or(0)];
  if (kernels) return kernels;
  DeviceKernels all;
  for (const DeviceHead& head : device_heads()) {
    if (!head.compute_capability || head.compute_capability != device.compute_capability) continue;
    all = *kernels_of(*head.file);
    // The residuals are removed, because they describe only the device on which they were measured.
    for (KernelFamily& family : all.families) family.residuals.clear();
  }
  for (const EmbeddedFile& file : device_files()) {
    if (file.name != transferred_name) continue;
    const std::shared_ptr<const DeviceKernels> others = kernels_of(file);
    all.device = others->device;
    const std::vector<KernelFamily> alike = all.families;
    for (const KernelFamily& family : others->families) {
      const bool is_known =
          std::any_of(alike.begin(), alike.end(), [&](const KernelFamily& own) { return stands_for(own, family); });
      if (!is_known) all.families.push_back(family);
    }
  }
  kernels = std::make_shared<const DeviceKernels>(std::move(all));
  return kernels;
}

}  // namespace ddl
