#include "calibration/inputs/machine_draft.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "calibration/inputs/machine_text.hpp"
#include "core/error.hpp"

namespace ddl {
namespace {

/// Converts text of a program or a file to one line of a comment.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, ' ');
  return text;
}

class Drafter {
 public:
  explicit Drafter(const DraftRequest& request) : request_(request), like_(request.like) {}

  MachineDraft draft() {
    const std::string device = device_section();
    const std::string levels = levels_section();
    MachineDraft draft;
    draft.text = fmt::format(
        "# Written by ddl-oracle machines new. Values that are missing here come from {0}.\n# ddl-oracle machines show "
        "prints all of them.\nformat: 1\nmachine: {1}\nextends: {2}\ndescription: {3}\n",
        one_line(like_.machine.name), yaml_scalar(request_.name), yaml_scalar(request_.extends),
        yaml_scalar(fmt::format("a machine like {}", like_.machine.name)));
    if (!sources_.empty()) draft.text += "\nsources:\n" + sources_.lines();
    draft.text += "\n" + device + "\n" + levels + "\n" + rest_section();
    draft.findings = std::move(findings_);
    return draft;
  }

 private:
  /// Returns a sentence as a comment of the file, and stores the sentence, which is also printed as a note.
  std::string found(const std::string& sentence) {
    findings_.push_back(one_line(sentence));
    return fmt::format("# {}\n", findings_.back());
  }
  /// A number of this machine, and its citation.
  SourcedNumber own_number(std::string key, std::string value, std::string source, std::string source_key) {
    return {std::move(key), std::move(value), one_line(std::move(source)), std::move(source_key)};
  }

  /// The device section. If the other machine's devices are processors, the section describes the processors of this host;
  /// otherwise it describes GPUs.
  std::string device_section() { return like_.machine.device.is_processor ? processor_section() : gpu_section(); }

  std::string processor_section() {
    if (!request_.host.processor)
      return found(
          fmt::format("Processor: not detected, taken from {}: {}.", like_.machine.name, like_.machine.device.name));
    const DetectedProcessor& processor = *request_.host.processor;
    devices_per_node_ = own_number(
        {}, std::to_string(processor.sockets),
        fmt::format("detected: {} lists {} x {}", processor.from, processor.sockets, processor.name), "detected-processors");
    return found(fmt::format("Processor: {} lists {} x {}.", processor.from, processor.sockets, processor.name)) +
           other_device(processor.name, {}, {});
  }

  std::string gpu_section() {
    const Device& device = like_.machine.device;
    std::string text;
    if (request_.host.processor)
      text += found(fmt::format("Processor: {} lists {} x {}.", request_.host.processor->from,
                                request_.host.processor->sockets, request_.host.processor->name));
    if (!request_.host.gpus)
      return text + found(fmt::format("GPUs: nvidia-smi did not answer; taken from {}: {} x {} a node.", like_.machine.name,
                                      like_.machine.devices_per_node(), device.name));
    const DetectedGpus& gpus = *request_.host.gpus;
    const std::string memory = gpus.memory_mib ? fmt::format(" of {} MiB", *gpus.memory_mib) : "";
    const std::string listed = fmt::format("nvidia-smi lists {} x {}{}", gpus.count, gpus.name, memory);
    devices_per_node_ = own_number({}, std::to_string(gpus.count), "detected: " + listed, "detected-gpus");
    text += found(fmt::format("GPUs: {}.", listed));
    if (!gpus.others.empty()) text += found(fmt::format("GPUs: not counted: {}.", gpus.others));
    const bool is_same =
        std::find(device.profile_names.begin(), device.profile_names.end(), gpus.name) != device.profile_names.end();
    if (is_same) {
      return text +
             found(fmt::format("GPUs: {0}, as in {1}. The numbers of {1} are kept.", device.name, like_.machine.name));
    }
    for (const std::string& name : machine_names()) {
      const Machine other = load_machine(name);
      if (std::find(other.device.profile_names.begin(), other.device.profile_names.end(), gpus.name) ==
          other.device.profile_names.end())
        continue;
      text += found(fmt::format("GPUs: {} describes this GPU: write this file again with --like {}.", name, name));
      break;
    }
    return text + other_device(gpus.name, gpus.memory_mib, "detected: " + listed);
  }

  /// The device section if this machine's device differs from the device of the other machine. The
  /// user still has to find the numbers of the device.
  std::string other_device(const std::string& name, std::optional<std::int64_t> memory_mib, const std::string& source) {
    std::string text = fmt::format("device:\n  name: {0}\n  profile_names: [{0}]\n", yaml_scalar(one_line(name)));
    if (memory_mib) {
      const SourcedNumber memory = own_number("device.memory", fmt::format("{} MiB", *memory_mib), source, "detected-gpus");
      text += fmt::format("  memory: {}\n", sources_.pair(memory));
    }
    return found(fmt::format("Device: peaks{} and bandwidth are copied from {}: replace them by the datasheet's.",
                             memory_mib ? "" : ", memory", like_.machine.device.name)) +
           text;
  }

  std::string levels_section() {
    const std::vector<LinkLevel>& levels = like_.machine.levels;
    const std::string nodes = nodes_finding();
    const std::string ports = ports_finding();
    if (!nodes_ && !devices_per_node_ && !ports_) return nodes + ports;
    std::string text = nodes + ports;
    if (like_.machine.shape.kind != NetworkShape::Kind::fat_tree)
      text += found(fmt::format("Network: the topology of {} depends on its levels and is omitted.", like_.machine.name));
    text += "levels:\n";
    std::vector<int> units = units_of_levels();
    for (std::size_t i = 0; i < units.size(); ++i)
      text += level_lines(like_, levels[i].name, sources_, changes(i, units[i]));
    return text;
  }

  std::string nodes_finding() {
    const bool has_network = like_.machine.levels.size() > 1;
    if (request_.nodes) {
      if (!has_network && *request_.nodes > 1) {
        throw Error(fmt::format("{} describes a single node: it has no level that connects {} nodes", like_.machine.name,
                                *request_.nodes),
                    "use --like with a cluster, such as dgx-h100, or write the file without --nodes and add a level");
      }
      nodes_ = own_number({}, {}, fmt::format("given when this file was written: {} nodes", *request_.nodes), "given-nodes");
      count_of_nodes_ = *request_.nodes;
      return found(fmt::format("Nodes: {}, as given.", *request_.nodes));
    }
    if (request_.host.nodes) {
      const DetectedNodes& nodes = *request_.host.nodes;
      const std::string_view kind = nodes.with_gpus ? " with GPUs" : "";
      if (!has_network && nodes.count > 1) {
        return found(fmt::format("Nodes: scontrol lists {}{}. {} describes a single node, and so does this file.",
                                 nodes.count, kind, like_.machine.name));
      }
      nodes_ = own_number({}, {}, fmt::format("detected: scontrol show nodes lists {} nodes{}", nodes.count, kind),
                          "detected-nodes");
      count_of_nodes_ = nodes.count;
      return found(fmt::format("Nodes: scontrol lists {}{}.", nodes.count, kind));
    }
    return found(fmt::format("Nodes: not detected, taken from {}.", like_.machine.name));
  }

  std::string ports_finding() {
    if (like_.machine.levels.size() < 2) return found(fmt::format("Network: {} has none.", like_.machine.name));
    if (!request_.host.ports) return found(fmt::format("Network: not detected, taken from {}.", like_.machine.name));
    const DetectedPorts& ports = *request_.host.ports;
    ports_ = own_number({}, fmt::format("{:g} Gb/s", ports.gigabits),
                        fmt::format("detected: {} active ports in {}", ports.count, ports.from), "detected-ports");
    return found(fmt::format("Network: {} active ports of {:g} Gb/s in {}. Remove ports that only reach storage.",
                             ports.count, ports.gigabits, ports.from));
  }

  /// The number of units that each level joins, from the inside out, with as many levels as the nodes need.
  std::vector<int> units_of_levels() {
    const std::vector<LinkLevel>& levels = like_.machine.levels;
    std::vector<int> units{devices_per_node_ ? std::stoi(devices_per_node_->value) : levels.front().units};
    if (!nodes_) {
      for (std::size_t i = 1; i < levels.size(); ++i) units.push_back(levels[i].units);
      return units;
    }
    int left = count_of_nodes_;
    if (left == 1) return units;
    for (std::size_t i = 1; i < levels.size(); ++i) {
      const bool is_last = i + 1 == levels.size();
      if (left <= levels[i].units || is_last) {
        units.push_back(left);
        return units;
      }
      if (left % levels[i].units != 0) break;
      units.push_back(levels[i].units);
      left /= levels[i].units;
    }
    // If the number of nodes is not a multiple of the units of the inner levels, one level joins all nodes.
    return {units.front(), count_of_nodes_};
  }

  /// The numbers of a level that differ from the other machine's numbers.
  std::vector<SourcedNumber> changes(std::size_t level, int units) {
    const LinkLevel& like = like_.machine.levels[level];
    std::vector<SourcedNumber> changed;
    const auto change = [&](std::string_view key, const std::string& value, const SourcedNumber& from) {
      changed.push_back({fmt::format("levels.{}.{}", like.name, key), value, from.source, from.source_key});
    };
    if (level == 0) {
      if (devices_per_node_) change("units", std::to_string(units), *devices_per_node_);
      return changed;
    }
    if (nodes_) change("units", std::to_string(units), *nodes_);
    if (!ports_) return changed;
    if (const auto& detected = request_.host.ports; detected && level == 1)
      change("rails", std::to_string(detected->count), *ports_);
    // A level gets the detected bandwidth if its bandwidth equals that of the first level outside
    // the node. For other levels, the host does not report a bandwidth.
    const auto bandwidth = [&](const std::string& name) -> const SourcedNumber* {
      return find_number(like_, fmt::format("levels.{}.bandwidth", name));
    };
    const SourcedNumber* const own = bandwidth(like.name);
    const SourcedNumber* const first = bandwidth(like_.machine.levels[1].name);
    if (own != nullptr && first != nullptr && own->value == first->value) change("bandwidth", ports_->value, *ports_);
    return changed;
  }

  std::string rest_section() {
    std::string text =
        fmt::format("# Not detected, taken from {}: latencies, attainable fractions, the fabric", like_.machine.name);
    if (like_.machine.host) text += ", the route through the host";
    const Storage& storage = like_.machine.storage;
    if (storage.shared_per_node || storage.shared_total || storage.local_bandwidth || storage.local_capacity)
      text += ", storage";
    text = one_line(text) + ".\n# ddl-oracle calibrate live measures the network.\n";
    if (like_.machine.price_per_gpu_hour) {
      text += one_line(fmt::format("# The price comes from {}: {:g} {}/h per device. Write your own, or none:",
                                   like_.machine.name, *like_.machine.price_per_gpu_hour, like_.machine.currency)) +
              "\n# price: none\n";
    }
    return text;
  }

  const DraftRequest& request_;
  const MachineSheet& like_;
  SourceKeys sources_;
  std::vector<std::string> findings_;
  // The known numbers of this machine. Their sources get keys later.
  std::optional<SourcedNumber> devices_per_node_, nodes_, ports_;
  int count_of_nodes_ = 0;
};

}  // namespace

MachineDraft draft_machine(const DraftRequest& request) { return Drafter(request).draft(); }

}  // namespace ddl
