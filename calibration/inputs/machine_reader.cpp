#include "calibration/inputs/machine_reader.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibration/files/bundled_files.hpp"
#include "calibration/files/citations.hpp"
#include "calibration/files/file_names.hpp"
#include "calibration/files/launch_overhead.hpp"
#include "calibration/inputs/currency.hpp"
#include "calibration/inputs/device_file.hpp"
#include "calibration/inputs/fabric_file.hpp"
#include "calibration/inputs/machine_chain.hpp"
#include "calibration/inputs/machine_names.hpp"
#include "calibration/inputs/own_coefficients.hpp"
#include "calibration/inputs/software_file.hpp"
#include "core/bundled_yaml.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "core/yaml_node.hpp"
#include "estimator/exchanges/group.hpp"
#include "estimator/exchanges/topology/network.hpp"
#include "model_zoo/files/bundled_name.hpp"

namespace ddl {
namespace {

/// A larger number of devices is probably a typing error.
constexpr std::int64_t most_devices = 1'000'000'000;
/// Maximum number of nodes of a network that is not a tree, because its links are stored one by one.
constexpr int most_nodes = 20'000;
constexpr int most_hops = 128;
constexpr std::int64_t most_links = 4'000'000;

/// Host speeds outside of these bounds are probably typing errors.
constexpr double least_host_speed = 0.01;
constexpr double largest_host_speed = 100;
constexpr double most_cores = 65536;

/// Larger numbers of rails, over-subscriptions, reciprocals of fractions, and prices are probably typing errors.
constexpr double largest_ratio = 1'000'000;
constexpr double largest_price = 1'000'000'000;

/// A device or a node with more watts is probably a typing error.
constexpr double most_watts = 100'000;
constexpr double most_files = 1e9;  // per second

struct Price {
  double per_hour = 0;
  std::string currency;
  bool of_node = false;
};

/// Parses `2.5 USD/h`, or `20 USD/node-h` of a node: an amount, the three letters of a currency, and the hour.
std::optional<Price> parse_price(std::string_view text) {
  double amount = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), amount);
  if (problem != std::errc() || !std::isfinite(amount) || amount < 0) return std::nullopt;
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  const std::string_view currency = unit.substr(0, 3);
  const bool of_node = unit.ends_with("/node-h");
  if (!is_currency(currency) || unit.substr(3) != (of_node ? "/node-h" : "/h")) return std::nullopt;
  return Price{amount, std::string(currency), of_node};
}

/// Converts the nodes of a machine file into a SourcedMachine. Each number that is read is added to the list of numbers.
class MachineReader {
 public:
  explicit MachineReader(MachineChain files, KernelTables kernels = KernelTables::read)
      : files_(std::move(files)), kernels_(kernels) {}

  SourcedMachine read() {
    Machine& machine = sourced_.machine;
    machine.name = files_.nearest().at("machine").name();
    if (const auto kind = files_.nearest().find("kind")) {
      sourced_.kind = parse_enum<MachineKind>(kind->text());
      if (!sourced_.kind)
        kind->fail(fmt::format("unknown kind of machine {}", quote(kind->text())),
                   fmt::format("known: {}", fmt::join(enum_names<MachineKind>, ", ")));
    }
    if (const auto aliases = files_.nearest().find("aliases")) {
      for (const YamlNode& alias : aliases->items()) sourced_.aliases.push_back(alias.name());
    }
    check_own_coefficients(files_.nearest());
    machine.description = files_.whole("description").node.text();
    read_device(files_.merged("device"));
    read_levels(files_.whole("levels"));
    if (const auto topology = files_.find_next_to("levels", "topology")) read_topology(*topology);
    if (const auto host = files_.find_merged("host")) read_host(*host);
    if (const auto storage = files_.find_merged("storage")) read_storage(*storage);
    if (const auto failures = files_.find_merged("failures")) read_failures(*failures);
    if (const auto price = own_price()) read_price(*price);
    if (const auto software = files_.find_whole("software")) read_software(*software);
    return std::move(sourced_);
  }

 private:
  /// Reads `{value, source}`. Returns the value, and adds it under `key` to the list of numbers.
  YamlNode number(const SourcedPart& entry, std::string key) {
    SourcedNode sourced = entry.citations->read(entry.node);
    sourced_.numbers.push_back({std::move(key), sourced.value.text(), std::move(sourced.source), std::move(sourced.key)});
    return sourced.value;
  }
  YamlNode number(const MachineSection& parent, std::string_view name, std::string_view prefix) {
    return number(parent.at(name), fmt::format("{}.{}", prefix, name));
  }
  std::optional<YamlNode> optional_number(const MachineSection& parent, std::string_view name, std::string_view prefix,
                                          std::string_view former = {}) {
    const auto entry = parent.find(name, former);
    if (!entry || says_none(entry->node)) return std::nullopt;
    return number(*entry, fmt::format("{}.{}", prefix, name));
  }
  static double fraction(const YamlNode& node) {
    const double value = node.number(0, 1);
    if (value == 0) node.fail("must be greater than zero", "write a fraction: 1 is the whole peak");
    if (value < 1 / largest_ratio)
      node.fail(fmt::format("{} is too small: at least {:g}", quote(node.text()), 1 / largest_ratio));
    return value;
  }

  void read_device(const MachineSection& node) {
    node.only_keys({"name", "kind", "noun", "profile_names", "devices_per_card", "compute_capability", "multiprocessors",
                    "power", "peak", "memory", "memory_bandwidth", "tile", "attainable_peak", "sustained_peak",
                    "sustained_peaks", "attainable_bandwidth", "launch_overhead", "host_speed", "kernels"},
                   std::array{former_launch_overhead});
    Device& device = sourced_.machine.device;
    device.name = node.at("name").node.name();
    if (const auto found = node.find("kind")) {
      const YamlNode& kind = found->node;
      device.is_processor = kind.text() == "processor";
      device.is_tpu = kind.text() == "tpu";
      device.is_accelerator = kind.text() == "accelerator";
      if (!device.is_processor && !device.is_tpu && !device.is_accelerator && kind.text() != "gpu")
        kind.fail(fmt::format("unknown kind of device {}", quote(kind.text())), "known: gpu, accelerator, processor, tpu");
    }
    if (const auto noun = node.find_next_to("name", "noun")) device.noun = noun->node.name();
    if (const auto names = node.find_next_to("name", "profile_names")) {
      for (const YamlNode& name : names->node.items()) device.profile_names.push_back(name.name());
    }
    constexpr int most_per_card = 16;
    if (const auto count = node.find_next_to("name", "devices_per_card"))
      device.devices_per_card = static_cast<int>(count->node.integer(1, most_per_card));
    if (const auto value = optional_number(node, "compute_capability", "device")) {
      if (device.is_processor) value->fail("a processor has no compute capability", "leave the key out");
      device.compute_capability = value->number(1, 1000);
    }
    if (const auto value = optional_number(node, "multiprocessors", "device")) {
      constexpr int most_multiprocessors = 100'000;
      device.multiprocessors = static_cast<int>(value->integer(1, most_multiprocessors));
    }
    if (const auto found = node.find_next_to("name", "power"); found && !says_none(found->node)) {
      device.power = number(*found, "device.power").number(1, most_watts);
    }
    read_peaks(node.at("peak"));
    device.memory = number(node, "memory", "device").bytes(false, plausible_memory);
    device.memory_bandwidth = number(node, "memory_bandwidth", "device").bandwidth(plausible_memory_bandwidth);
    device.tile = static_cast<double>(number(node, "tile", "device").integer(1, 65536));
    if (const auto value = optional_number(node, "attainable_peak", "device")) device.attainable_peak = fraction(*value);
    if (const auto value = optional_number(node, "sustained_peak", "device")) device.sustained_peak = fraction(*value);
    if (const auto peaks = node.find("sustained_peaks"); peaks && !says_none(peaks->node)) {
      read_precisions(*peaks, "device.sustained_peaks.", [&](Precision precision, const YamlNode& value) {
        device.sustained_peaks[precision] = fraction(value);
      });
    }
    if (const auto value = optional_number(node, "attainable_bandwidth", "device"))
      device.attainable_bandwidth = fraction(*value);
    if (const auto value = optional_number(node, "launch_overhead", "device", former_launch_overhead.former))
      device.launch_overhead = read_launch_overhead(*value);
    if (const auto value = optional_number(node, "host_speed", "device"))
      device.host_speed = value->number(least_host_speed, largest_host_speed);
    add_capability_facts(device);
    const auto kernels = node.find("kernels");
    read_kernels(kernels ? &kernels->node : nullptr);
  }

  /// Reads the kernels of the device file `named`; if no file is named, reads the bundled file of this device. Kernels of
  /// other devices are read in addition.
  void read_kernels(const YamlNode* named) {
    Device& device = sourced_.machine.device;
    if (named != nullptr) device.kernels_file = named->text();
    if (device.kernels_file == "none") return;
    sourced_.has_kernels = named != nullptr || has_bundled_kernels(device);
    if (kernels_ == KernelTables::left_out) return;
    if (named != nullptr) {
      const std::filesystem::path path = std::filesystem::path(named->origin()).parent_path() / named->text();
      device.kernels_file = path;
      device.kernels = std::make_shared<const DeviceKernels>(parse_device_file(read_file(path), path).kernels);
    } else {
      device.kernels = bundled_kernels(device);
    }
    if (!device.is_processor) device.other_kernels = transferred_kernels(device);
  }

  void read_peaks(const SourcedPart& part) {
    read_precisions(part, "device.peak.", [&](Precision precision, const YamlNode& value) {
      sourced_.machine.device.peak[precision] = value.flop_rate(plausible_peak);
    });
  }

  /// Reads one number per precision. `prefix`: the first part of the keys of the numbers.
  template <typename Take>
  void read_precisions(const SourcedPart& part, std::string_view prefix, const Take& take) {
    const YamlNode& node = part.node;
    constexpr const auto& known = enum_names<Precision>;
    node.only_keys(known);
    if (node.entries().empty()) node.fail("no precision has a peak", fmt::format("known: {}", fmt::join(known, ", ")));
    for (const auto& [key, entry] : node.entries()) {
      // Keys that do not name a precision were refused above.
      const YamlNode value = number({entry, part.citations}, std::string(prefix) + key.text());
      if (const auto precision = parse_enum<Precision>(key.text())) take(*precision, value);
    }
  }

  void read_levels(const SourcedPart& part) {
    const std::vector<YamlNode> items = part.node.items();
    if (items.empty())
      part.node.fail("a machine needs at least one level", "the first level connects the devices of a node");
    if (items.size() > Group::max_levels) {
      items[Group::max_levels].fail(fmt::format("more than {} levels", Group::max_levels), "merge identical levels");
    }
    std::int64_t devices = 1;
    for (const YamlNode& item : items) {
      const LinkLevel level = read_level({item, part.citations});
      if (devices > most_devices / level.units) item.fail(fmt::format("more than {} devices", most_devices));
      devices *= level.units;
      sourced_.machine.levels.push_back(level);
    }
  }

  LinkLevel read_level(const SourcedPart& part) {
    const YamlNode& node = part.node;
    const MachineSection section({part});
    node.only_keys({"name", "units", "fabric", "latency", "bandwidth", "attainable", "rails", "peers", "oversubscription"});
    const std::vector<LinkLevel>& inner = sourced_.machine.levels;
    LinkLevel level;
    level.name = node.at("name").name();
    if (std::any_of(inner.begin(), inner.end(), [&](const LinkLevel& other) { return other.name == level.name; })) {
      node.at("name").fail(fmt::format("two levels are named {}", quote(level.name)));
    }
    const std::string prefix = "levels." + level.name;
    level.units = static_cast<int>(number(section, "units", prefix).integer(1, std::numeric_limits<int>::max()));
    std::optional<Fabric> fabric;
    if (const auto kind = node.find("fabric")) {
      const YamlNode name = number({*kind, part.citations}, prefix + ".fabric");
      fabric = bundled_fabric(name);
      if (fabric->inside_nodes != inner.empty()) {
        name.fail(fmt::format("{} connects {}", fabric->constants.fabric,
                              fabric->inside_nodes ? "devices inside a node" : "nodes"),
                  fmt::format("set this key in {}", fabric->inside_nodes ? "the first level" : "levels outside the first"));
      }
      level.library = fabric->constants;
    }
    if (fabric && !node.find("latency")) {
      level.latency = fabric->step;
      sourced_.numbers.push_back(
          {prefix + ".latency", fmt::format("{:g} us", fabric->step.value() * 1e6),
           fmt::format("fitted: {}, from {} published clusters", fabric->constants.fabric, fabric->constants.clusters), ""});
    } else {
      level.latency = number(section, "latency", prefix).seconds(true, plausible_latency);
    }
    level.bandwidth = number(section, "bandwidth", prefix).bandwidth();
    if (const auto value = optional_number(section, "attainable", prefix)) level.bandwidth *= fraction(*value);
    level.rails = read_rails(part, level, prefix);
    if (const auto peers = node.find("peers")) {
      if (!inner.empty()) peers->fail("only links inside a node connect single units", "remove this key");
      level.peers = number({*peers, part.citations}, prefix + ".peers").number(1, largest_ratio);
    }
    return level;
  }

  /// The number of rails: given in the file, or derived from the over-subscription and the rails of the level below.
  double read_rails(const SourcedPart& part, const LinkLevel& level, const std::string& prefix) {
    const YamlNode& node = part.node;
    const auto rails = node.find("rails");
    const auto oversubscription = node.find("oversubscription");
    if (rails && oversubscription) node.fail("'rails' and 'oversubscription' exclude each other", "remove one of them");
    if (rails) {
      const YamlNode value = number({*rails, part.citations}, prefix + ".rails");
      const double count = value.number(0, largest_ratio);
      if (count == 0) value.fail("must be greater than zero", "at least one link must lead to this level");
      if (count < 1 / largest_ratio)
        value.fail(fmt::format("{} is too small: at least {:g}", quote(value.text()), 1 / largest_ratio));
      return count;
    }
    // The links of the two innermost levels are of different kinds, so the number of rails of a node does not follow from
    // the rails of a device.
    const std::vector<LinkLevel>& inner = sourced_.machine.levels;
    if (inner.size() < 2) {
      node.fail("the key 'rails' is missing", "'oversubscription' can only describe levels outside the second one");
    }
    if (!oversubscription)
      node.fail("one of the keys 'rails' and 'oversubscription' is missing", "'oversubscription' 1 is full bisection");
    const LinkLevel& below = inner.back();
    const double ratio = number({*oversubscription, part.citations}, prefix + ".oversubscription").number(1, largest_ratio);
    const double derived = below.units * below.rails * (below.bandwidth / level.bandwidth) / ratio;
    sourced_.numbers.push_back({prefix + ".rails", fmt::format("{:.4g}", derived),
                                fmt::format("derived: {} times the {:.4g} rails of a {}, over-subscribed {:g} times",
                                            below.units, below.rails, inner[inner.size() - 2].name, ratio)});
    return derived;
  }

  /// Reads the section `topology`: how nodes are connected. Without this section, the levels form a fat tree.
  void read_topology(const SourcedPart& part) {
    const YamlNode& node = part.node;
    const MachineSection section({part});
    using Kind = NetworkShape::Kind;
    constexpr std::array<std::pair<std::string_view, Kind>, 6> kinds{{{"fat-tree", Kind::fat_tree},
                                                                      {"rail-optimised", Kind::rail_optimised},
                                                                      {"dragonfly", Kind::dragonfly},
                                                                      {"torus", Kind::torus},
                                                                      {"distributed-loop", Kind::distributed_loop},
                                                                      {"optical-circuits", Kind::optical_circuits}}};
    const YamlNode kind = number(section, "kind", "topology");
    const std::string text = kind.text();
    const auto found = std::find_if(kinds.begin(), kinds.end(), [&](const auto& known) { return known.first == text; });
    if (found == kinds.end()) {
      std::vector<std::string_view> known;
      for (const auto& [name, value] : kinds) known.push_back(name);
      kind.fail(fmt::format("unknown topology {}", quote(text)), fmt::format("known: {}", fmt::join(known, ", ")));
    }
    Machine& machine = sourced_.machine;
    NetworkShape& shape = machine.shape;
    shape.kind = found->second;
    const auto count = [&](std::string_view key, int most) {
      return static_cast<int>(number(section, key, "topology").integer(1, most));
    };
    const auto links = [&](std::string_view key) { return number(section, key, "topology").bandwidth(); };
    std::vector<std::string_view> keys{"kind"};
    switch (shape.kind) {
      case Kind::fat_tree:
        break;
      case Kind::rail_optimised:
        keys = {"kind", "hop_latency"};
        break;
      case Kind::dragonfly:
        keys = {"kind",           "nodes_per_router", "routers_per_group", "global_links",
                "link_bandwidth", "global_bandwidth", "hop_latency"};
        break;
      case Kind::torus:
        keys = {"kind", "extents", "link_bandwidth", "hop_latency"};
        break;
      case Kind::distributed_loop:
        keys = {"kind", "shortcuts", "link_bandwidth", "hop_latency"};
        break;
      case Kind::optical_circuits:
        keys = {"kind", "circuits", "link_bandwidth", "packet_bandwidth", "hop_latency"};
        break;
    }
    node.only_keys(keys);
    if (shape.kind == Kind::fat_tree) return;
    const std::size_t levels = machine.levels.size();
    if (shape.kind == Kind::rail_optimised) {
      if (levels < 2 || levels > 3)
        kind.fail(fmt::format("a rail topology has two or three levels, not {}", levels),
                  "the levels are the node, the unit of nodes whose rails share switches, and optionally all units");
      const double rails = machine.levels[1].rails;
      if (rails != std::floor(rails) || rails > most_nodes)
        kind.fail(fmt::format("the level {} has {:g} rails", quote(machine.levels[1].name), rails), "write a whole number");
    } else if (levels != 2) {
      kind.fail(fmt::format("{} levels, but {} connects all nodes", levels, text),
                "write two levels: the node, and the links from a node into the network");
    }
    std::int64_t nodes = 1;
    for (std::size_t level = 1; level < levels; ++level) nodes *= machine.levels[level].units;
    if (nodes > most_nodes) kind.fail(fmt::format("more than {} nodes", most_nodes), "a fat tree has no such limit");
    if (shape.kind == Kind::dragonfly) {
      shape.nodes_per_router = count("nodes_per_router", most_nodes);
      shape.routers_per_group = count("routers_per_group", most_nodes);
      shape.global_links = count("global_links", most_nodes);
      shape.link_bandwidth = links("link_bandwidth");
      shape.global_bandwidth = links("global_bandwidth");
      const std::int64_t in_group = static_cast<std::int64_t>(shape.nodes_per_router) * shape.routers_per_group;
      const std::int64_t groups = (nodes + in_group - 1) / in_group;
      const std::int64_t reached = static_cast<std::int64_t>(shape.routers_per_group) * shape.global_links;
      if (groups - 1 > reached) {
        node.at("global_links")
            .fail(fmt::format("a group's {} global links do not reach the {} other groups", reached, groups - 1),
                  "use more links, or larger groups");
      }
    } else if (shape.kind == Kind::torus) {
      const SourcedNode sourced = part.citations->read(node.at("extents"));
      const YamlNode& extents = sourced.value;
      std::int64_t product = 1;
      std::string written;
      for (const YamlNode& extent : extents.items()) {
        shape.extents.push_back(static_cast<int>(extent.integer(1, most_nodes)));
        product = std::min<std::int64_t>(product * shape.extents.back(), most_nodes + 1);
        written += fmt::format("{}{}", written.empty() ? "" : "x", shape.extents.back());
      }
      if (written.empty()) extents.fail("no extents", "write [4, 4, 8]: nodes along each side");
      if (product != nodes)
        extents.fail(fmt::format("{} nodes, but the level has {}", written, nodes),
                     "the product of the sides must be the number of nodes");
      sourced_.numbers.push_back({"topology.extents", written, sourced.source, sourced.key});
      shape.link_bandwidth = links("link_bandwidth");
    } else if (shape.kind == Kind::distributed_loop || shape.kind == Kind::optical_circuits) {
      // Each node of a loop has a link to the next node anyway. Circuits link only nodes at the given distances.
      const bool is_loop = shape.kind == Kind::distributed_loop;
      const std::string_view key = is_loop ? "shortcuts" : "circuits";
      const std::int64_t least = is_loop ? 2 : 1, most = is_loop ? nodes - 1 : nodes / 2;
      const SourcedNode sourced = part.citations->read(node.at(key));
      const YamlNode& shortcuts = sourced.value;
      std::string written;
      for (const YamlNode& places : shortcuts.items()) {
        const int on = static_cast<int>(places.integer(least, std::max(least, most)));
        if (std::find(shape.shortcuts.begin(), shape.shortcuts.end(), on) != shape.shortcuts.end())
          places.fail(fmt::format("{} is given twice", on), "remove one of them");
        shape.shortcuts.push_back(on);
        written += fmt::format("{}{}", written.empty() ? "" : ", ", on);
      }
      if (written.empty() && !is_loop) shortcuts.fail("no circuits", "write [1]: circuits to both neighbors");
      sourced_.numbers.push_back({fmt::format("topology.{}", key), written, sourced.source, sourced.key});
      shape.link_bandwidth = links("link_bandwidth");
      if (!is_loop) shape.global_bandwidth = links("packet_bandwidth");
    }
    if (const auto value = optional_number(section, "hop_latency", "topology"))
      shape.hop_latency = value->seconds(true, plausible_latency);
    if (const double all = links_of(machine, static_cast<double>(nodes)); all > static_cast<double>(most_links))
      kind.fail(fmt::format("the network has {:.0f} links", all), fmt::format("only trees may exceed {} links", most_links));
    if (const double hops = hops_of(machine, static_cast<double>(nodes)); hops > most_hops)
      kind.fail(fmt::format("the longest route has {:.0f} links", hops), fmt::format("at most {}", most_hops));
    machine.network = make_network(machine);
  }

  /// The approximate maximum number of links that a message between two nodes crosses. If the message is spread over
  /// parallel links, all of these links count.
  static double hops_of(const Machine& machine, double nodes) {
    const NetworkShape& shape = machine.shape;
    double hops = 0;
    if (shape.kind == NetworkShape::Kind::dragonfly) {
      const double groups = std::ceil(nodes / shape.nodes_per_router / shape.routers_per_group);
      hops = groups > 1 ? static_cast<double>(shape.routers_per_group) * shape.global_links / (groups - 1) : 1;
    } else if (shape.kind == NetworkShape::Kind::torus) {
      int halves = 0;
      for (const int extent : shape.extents) halves += extent / 2;
      hops = halves;
    } else if (shape.kind == NetworkShape::Kind::distributed_loop) {
      // A route takes a shortcut repeatedly, until the remaining distance is at most half of the shortcut's length.
      std::vector<int> jumps = shape.shortcuts;
      std::sort(jumps.begin(), jumps.end());
      double jump = 1;
      for (const int next : jumps) {
        hops += std::ceil(next / jump / 2);
        jump = next;
      }
      hops += std::ceil(nodes / jump / 2);
    }
    return hops;
  }

  /// The approximate number of links of the network.
  static double links_of(const Machine& machine, double nodes) {
    const NetworkShape& shape = machine.shape;
    switch (shape.kind) {
      case NetworkShape::Kind::fat_tree:
        return 0;
      case NetworkShape::Kind::rail_optimised:
        return 2 * nodes * machine.levels[1].rails;
      case NetworkShape::Kind::dragonfly: {
        const double groups = std::ceil(nodes / shape.nodes_per_router / shape.routers_per_group);
        return 2 * nodes +
               groups * shape.routers_per_group * (static_cast<double>(shape.routers_per_group) + shape.global_links);
      }
      case NetworkShape::Kind::torus:
        return 2 * nodes * (1 + static_cast<double>(shape.extents.size()));
      case NetworkShape::Kind::distributed_loop:
      case NetworkShape::Kind::optical_circuits:
        return 2 * nodes * (2 + static_cast<double>(shape.shortcuts.size()));
    }
    return 0;
  }

  void read_host(const MachineSection& node) {
    node.only_keys({"bandwidth", "devices_per_link", "latency", "memory_bandwidth", "cores_per_device", "power"});
    HostPath host;
    host.bandwidth = number(node, "bandwidth", "host").bandwidth();
    host.devices_per_link = static_cast<int>(number(node, "devices_per_link", "host").integer(1, 65536));
    host.latency = number(node, "latency", "host").seconds(true, plausible_latency);
    if (const auto value = optional_number(node, "memory_bandwidth", "host")) host.memory_bandwidth = value->bandwidth();
    // A file that extends another one may describe nodes with other processors, so it does not inherit their cores.
    const auto own = files_.nearest().find("host");
    if (own && own->is_map() && own->find("cores_per_device"))
      host.cores_per_device = number(node, "cores_per_device", "host").number(0.01, most_cores);
    if (const auto value = optional_number(node, "power", "host")) host.power = value->number(1, most_watts);
    sourced_.machine.host = host;
  }

  void read_storage(const MachineSection& node) {
    node.only_keys({"shared_per_node", "shared_total", "shared_files", "local_bandwidth", "local_capacity", "host_memory"});
    Storage& storage = sourced_.machine.storage;
    if (const auto value = optional_number(node, "shared_per_node", "storage")) storage.shared_per_node = value->bandwidth();
    if (const auto value = optional_number(node, "shared_total", "storage")) storage.shared_total = value->bandwidth();
    if (const auto value = optional_number(node, "shared_files", "storage"))
      storage.shared_files = value->number(1, most_files);
    if (const auto value = optional_number(node, "local_bandwidth", "storage")) storage.local_bandwidth = value->bandwidth();
    if (const auto value = optional_number(node, "local_capacity", "storage")) storage.local_capacity = value->bytes();
    if (const auto value = optional_number(node, "host_memory", "storage")) storage.host_memory = value->bytes();
  }

  void read_failures(const MachineSection& node) {
    node.only_keys({"interval", "of", "restart"});
    Failures& failures = sourced_.machine.failures;
    constexpr double longest = 1e12;
    failures.interval =
        number(node, "interval", "failures").seconds(false, {"a time between failures", 1.0_s, Seconds(longest)});
    if (const auto of = optional_number(node, "of", "failures")) {
      const auto found = std::find(failing_unit_names.begin(), failing_unit_names.end(), of->text());
      if (found == failing_unit_names.end())
        of->fail(fmt::format("unknown unit {}", quote(of->text())),
                 fmt::format("known: {}", fmt::join(failing_unit_names, ", ")));
      failures.of = static_cast<FailingUnit>(found - failing_unit_names.begin());
    }
    if (const auto value = optional_number(node, "restart", "failures")) failures.restart = value->seconds(true);
  }

  /// Returns the section of the price. The price of a node is not inherited by a machine with different nodes.
  std::optional<SourcedPart> own_price() const {
    std::optional<SourcedPart> price = files_.find_whole("price");
    if (!price || files_.find_next_to("levels", "price")) return price;
    const auto value = price->node.find("value");
    return value && value->text().ends_with("/node-h") ? std::nullopt : price;
  }

  void read_price(const SourcedPart& entry) {
    const YamlNode value = number(entry, "price");
    const auto price = parse_price(value.text());
    if (price && price->per_hour > largest_price)
      value.fail(fmt::format("{} is too large: at most {:g} an hour", quote(value.text()), largest_price));
    if (price && price->per_hour > 0 && price->per_hour < 1 / largest_price)
      value.fail(fmt::format("{} is too small: at least {:g} an hour", quote(value.text()), 1 / largest_price));
    if (!price)
      value.fail(fmt::format("{} is not a price per device and hour", quote(value.text())),
                 "write the price as '2.5 USD/h', or for a node as '20 USD/node-h'");
    Machine& machine = sourced_.machine;
    machine.price_per_gpu_hour = price->of_node ? price->per_hour / machine.devices_per_node() : price->per_hour;
    machine.rents_nodes = price->of_node;
    machine.currency = price->currency;
  }

  void read_software(const SourcedPart& entry) {
    const YamlNode value = number(entry, "software");
    sourced_.machine.software = value.name();
    const std::vector<std::string> known = software_names();
    if (std::find(known.begin(), known.end(), sourced_.machine.software) != known.end()) return;
    const std::string hint = suggest(sourced_.machine.software, known);
    value.fail(fmt::format("unknown software {}", quote(sourced_.machine.software)),
               hint.empty() ? "'ddl-oracle software list' lists the names" : hint);
  }

  MachineChain files_;
  KernelTables kernels_;
  SourcedMachine sourced_;
};

SourcedMachine read_sheet(const YamlNode& root, std::string_view bundled = {}, KernelTables kernels = KernelTables::read) {
  const MachineChain files(root, bundled);
  SourcedMachine sourced;
  // The files that a bundled file extends are bundled machines, too, and tests check each of them.
  if (!bundled.empty()) {
    sourced = MachineReader(files, kernels).read();
    if (files.size() > 1) sourced.extends = files.without(1).nearest().at("machine").text();
    return sourced;
  }
  // Each file, joined with the files that it extends, must be a complete machine, so replaced values are checked, too.
  for (std::size_t nearer = files.size(); nearer-- > 0;) {
    std::string extended = std::move(sourced.machine.name);
    sourced = MachineReader(files.without(nearer), nearer == 0 ? kernels : KernelTables::left_out).read();
    sourced.extends = std::move(extended);
  }
  return sourced;
}

}  // namespace

std::vector<std::string> machine_names() { return names_of(machine_files()); }

SourcedMachine load_sourced_machine(const std::string& name_or_path, KernelTables kernels) {
  if (is_path(name_or_path)) return read_sheet(YamlNode::load(name_or_path), {}, kernels);
  const EmbeddedFile& file = bundled_machine(name_or_path);
  return read_sheet(bundled_yaml(file), file.name, kernels);
}

Machine load_machine(const std::string& name_or_path) { return load_sourced_machine(name_or_path).machine; }

SourcedMachine parse_sourced_machine(std::string text, std::string origin) {
  return read_sheet(YamlNode::parse(std::move(text), std::move(origin)));
}

Machine parse_machine(std::string text, std::string origin) {
  return parse_sourced_machine(std::move(text), std::move(origin)).machine;
}

}  // namespace ddl
