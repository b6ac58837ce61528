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

constexpr const char* nvlink_latency =
    "NCCL, src/graph/tuning.cc (2.20): latency of one step of a ring, protocol Simple, NVLink and network";
constexpr const char* nvlink_payload = "NCCL, src/graph/topo.h: 20 of 25 GB/s of payload a link of compute capability 8.0";

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
      return text + found(fmt::format("GPUs: not detected, taken from {}: {} x {} a node.", like_.machine.name,
                                      like_.machine.devices_per_node(), device.name));
    const DetectedGpus& gpus = *request_.host.gpus;
    const std::string memory = gpus.memory_mib ? fmt::format(" of {} MiB", *gpus.memory_mib) : "";
    const std::string listed =
        fmt::format("{} lists {} x {}{}", gpus.tool.empty() ? "nvidia-smi" : gpus.tool, gpus.count, gpus.name, memory);
    // xpu-smi lists cards, whereas a machine may count their dies. The other tools list the devices that ranks use.
    const int dies = gpus.tool == "xpu-smi" && match_of(device) != Match::none ? device.devices_per_card : 1;
    devices_per_node_ = own_number({}, std::to_string(gpus.count * dies), "detected: " + listed, "detected-gpus");
    text += found(fmt::format("GPUs: {}.", listed));
    if (!gpus.others.empty()) text += found(fmt::format("GPUs: not counted: {}.", gpus.others));
    const Match own = match_of(like_.machine.device);
    keep_domain(own);
    if (own == Match::same) {
      return text +
             found(fmt::format("GPUs: {0}, as in {1}. The numbers of {1} are kept.", device.name, like_.machine.name));
    }
    if (own == Match::other_memory) {
      const SourcedNumber size = own_number("device.memory", fmt::format("{} MiB", gpus.memory_mib.value_or(0)),
                                            "detected: " + listed, "detected-gpus");
      text += found(fmt::format("GPUs: that is the {} of {} with another size of memory. Its other numbers are kept.",
                                device.name, like_.machine.name));
      if (const std::string better = machine_with(Match::same); !better.empty()) text += described_by(better);
      return text + fmt::format("device:\n  memory: {}\n", sources_.pair(size));
    }
    if (const std::string better = machine_with(Match::same); !better.empty()) {
      text += described_by(better);
    } else if (const std::string like = machine_with(Match::other_memory); !like.empty()) {
      text += found(fmt::format(
          "GPUs: {0} describes this GPU with another size of memory: write this file again with --like {0}.", like));
    } else {
      text += found("GPUs: no bundled machine has this GPU.");
    }
    return text + other_device(gpus.name, gpus.memory_mib, "detected: " + listed);
  }

  /// How well the detected GPU matches the device of a machine.
  enum class Match { none, other_memory, same };
  [[nodiscard]] Match match_of(const Device& device) const {
    const DetectedGpus& gpus = *request_.host.gpus;
    const auto& names = device.profile_names;
    if (std::find(names.begin(), names.end(), gpus.name) != names.end()) return Match::same;
    const bool is_same =
        is_same_gpu(gpus.name, device.name) ||
        std::any_of(names.begin(), names.end(), [&](const std::string& name) { return is_same_gpu(gpus.name, name); });
    if (!is_same) return Match::none;
    // Drivers report a few percent less than the datasheet.
    constexpr double tolerance = 0.07;
    if (!gpus.memory_mib) return Match::same;
    const double ratio = static_cast<double>(*gpus.memory_mib) * 0x1p20 / device.memory.value();
    return ratio > 1 - tolerance && ratio < 1 + tolerance ? Match::same : Match::other_memory;
  }

  /// A bundled machine with the detected GPU: preferably not a cloud instance, then preferably with the same number of GPUs
  /// per node. Empty if there is none.
  [[nodiscard]] std::string machine_with(Match match) const {
    std::string best;
    int best_rank = 0;
    for (const std::string& name : machine_names()) {
      const SourcedMachine sheet = load_sourced_machine(name, KernelTables::left_out);
      if (match_of(sheet.machine.device) != match) continue;
      const bool has_as_many = sheet.machine.devices_per_node() == request_.host.gpus->count;
      const int rank = 1 + (sheet.kind != MachineKind::cloud ? 2 : 0) + (has_as_many ? 1 : 0);
      if (rank > best_rank) best = name;
      best_rank = std::max(best_rank, rank);
    }
    return best;
  }
  std::string described_by(const std::string& machine) {
    return found(fmt::format("GPUs: {0} describes this GPU: write this file again with --like {0}.", machine));
  }

  /// NVLink may join the GPUs of several hosts. A host then lists only a part of the innermost level.
  void keep_domain(Match own) {
    const LinkLevel& inner = like_.machine.levels.front();
    const int listed = request_.host.gpus->count;
    if (own == Match::none || inner.name == "node" || listed < 1 || inner.units <= listed || inner.units % listed != 0)
      return;
    hosts_of_domain_ = inner.units / listed;
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
    const std::string ports = links_finding() + ports_finding();
    if (!nodes_ && !devices_per_node_ && !ports_) return nodes + ports;
    std::string text = nodes + domain_finding() + ports;
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
      const std::string kind = std::string(nodes.with_gpus ? " with GPUs" : "") +
                               (nodes.others.empty() ? "" : fmt::format(" (not counted: {})", nodes.others));
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

  /// What is known of the links between the GPUs of a node. Sets the links if the other machine has none, and the rate of
  /// one is known.
  std::string links_finding() {
    const std::string node = like_.machine.levels.front().name;
    if (!request_.host.gpus && request_.host.links && !like_.machine.device.is_processor) {
      return found(
          fmt::format("Links inside the {}: taken from {}. Those of nvidia-smi topo -m are not used, because the GPUs "
                      "are assumed.",
                      node, like_.machine.name));
    }
    if (!request_.host.gpus || !devices_per_node_ || request_.host.gpus->count < 2) return {};
    if (!request_.host.links)
      return found(fmt::format("Links inside the {}: not detected, taken from {}.", node, like_.machine.name));
    const DetectedLinks& links = *request_.host.links;
    const int rails = static_cast<int>(like_.machine.levels.front().rails);
    const bool like_has_nvlink = rails > 1;
    if (links.kind != DetectedLinks::Kind::all) {
      const std::string_view shown = links.kind == DetectedLinks::Kind::none
                                         ? "nvidia-smi topo -m shows no NVLink"
                                         : "nvidia-smi topo -m shows NVLink between some GPUs only, which is not described";
      return found(fmt::format("Links inside the {}: {}, and {} as the longest path{}.", node, shown, links.path,
                               like_has_nvlink ? fmt::format(". The {} links of {} do not apply: write this file again with "
                                                             "--like and a machine without NVLink",
                                                             rails, like_.machine.name)
                                               : fmt::format(", as in {}", like_.machine.name)));
    }
    const std::string shown =
        fmt::format("nvidia-smi shows {} NVLink{} of each GPU", links.links, links.links == 1 ? "" : "s");
    if (links.links == rails)
      return found(fmt::format("Links inside the {}: {}, as in {}.", node, shown, like_.machine.name));
    const double rate = links.link_gb.value_or(0);
    if (!like_has_nvlink && rate <= 0) {
      return found(fmt::format("Links inside the {}: {}, but not their rate. {} has none: replace its bandwidth and rails.",
                               node, shown, like_.machine.name));
    }
    links_ = own_number({}, std::to_string(links.links), "detected: " + shown, "detected-links");
    if (rate > 0)
      link_rate_ = own_number({}, fmt::format("{:g} GB/s", rate), "detected: nvidia-smi nvlink -s", "detected-rate");
    return found(
        fmt::format("Links inside the {}: {}{}.", node, shown, rate > 0 ? fmt::format(", each {:g} GB/s", rate) : ""));
  }

  std::string ports_finding() {
    if (like_.machine.levels.size() < 2) return found(fmt::format("Network: {} has none.", like_.machine.name));
    if (!request_.host.ports) return found(fmt::format("Network: not detected, taken from {}.", like_.machine.name));
    const DetectedPorts& ports = *request_.host.ports;
    ports_ =
        own_number({}, fmt::format("{:g} Gb/s", ports.gigabits),
                   fmt::format("detected: {} active port{} in {}", ports.count, ports.count == 1 ? "" : "s", ports.from),
                   "detected-ports");
    return found(fmt::format("Network: {} active port{} of {:g} Gb/s in {}. Remove ports that only reach storage.",
                             ports.count, ports.count == 1 ? "" : "s", ports.gigabits, ports.from));
  }

  /// The number of units that each level joins, from the inside out, with as many levels as the nodes need.
  std::vector<int> units_of_levels() {
    const std::vector<LinkLevel>& levels = like_.machine.levels;
    std::vector<int> units{devices_per_node_ ? std::stoi(devices_per_node_->value) : levels.front().units};
    if (hosts_of_domain_ > 1) units.front() *= hosts_in_domain();
    if (!nodes_) {
      for (std::size_t i = 1; i < levels.size(); ++i) units.push_back(levels[i].units);
      return units;
    }
    int left = count_of_nodes_ / (hosts_of_domain_ > 1 ? hosts_in_domain() : 1);
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
    return {units.front(), left};
  }

  /// The hosts of one NVLink domain: as many as in the other machine, or the largest smaller number that divides all hosts.
  [[nodiscard]] int hosts_in_domain() const {
    if (!nodes_) return hosts_of_domain_;
    int hosts = std::min(hosts_of_domain_, count_of_nodes_);
    while (count_of_nodes_ % hosts != 0) --hosts;
    return hosts;
  }

  /// What is assumed of an NVLink domain that several hosts share.
  std::string domain_finding() {
    if (hosts_of_domain_ < 2) return {};
    const int hosts = hosts_in_domain();
    return found(
        fmt::format("NVLink domain: {} GPUs of {} host{}, as in {}: nvidia-smi lists those of one host. Nodes and ports are "
                    "those of hosts.",
                    hosts * request_.host.gpus->count, hosts, hosts == 1 ? "" : "s", like_.machine.name));
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
      if (links_) change("rails", links_->value, *links_);
      if (link_rate_) change("bandwidth", link_rate_->value, *link_rate_);
      if (links_ && like.rails <= 1) {
        // The other machine's latency and attainable fraction are those of PCIe.
        change("latency", "3.4 us", own_number({}, {}, nvlink_latency, "nccl-nvlink-latency"));
        change("attainable", "0.8", own_number({}, {}, nvlink_payload, "nccl-nvlink-payload"));
      }
      return changed;
    }
    if (nodes_) change("units", std::to_string(units), *nodes_);
    if (!ports_) return changed;
    if (const auto& detected = request_.host.ports; detected && level == 1)
      change("rails", std::to_string(detected->count * (hosts_of_domain_ > 1 ? hosts_in_domain() : 1)), *ports_);
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
    const HostFacts& host = request_.host;
    std::string text = fmt::format("# Not detected, taken from {}: ", like_.machine.name);
    if (!like_.machine.device.is_processor && !host.gpus) text += "GPUs, ";
    if (host.gpus && host.gpus->count > 1 && !host.links)
      text += fmt::format("links inside the {}, ", like_.machine.levels.front().name);
    if (like_.machine.levels.size() > 1 && !host.ports) text += "ports, ";
    text += "latencies, attainable fractions, the fabric";
    if (like_.machine.host) text += ", the route through the host";
    const Storage& storage = like_.machine.storage;
    if (storage.shared_per_node || storage.shared_total || storage.local_bandwidth || storage.local_capacity)
      text += ", storage";
    text = one_line(text) + ".\n# ddl-oracle calibrate live measures the network.\n";
    if (const Machine& like = like_.machine; like.price_per_gpu_hour) {
      const double price = *like.price_per_gpu_hour * (like.rents_nodes ? like.devices_per_node() : 1);
      const char* const of = like.rents_nodes ? "node, for nodes of the same size" : "device";
      text += one_line(fmt::format("# The price comes from {}: {:g} {}/h per {}. Write your own, or none:", like.name, price,
                                   like.currency, of)) +
              "\n# price: none\n";
    }
    return text;
  }

  const DraftRequest& request_;
  const SourcedMachine& like_;
  SourceKeys sources_;
  std::vector<std::string> findings_;
  // The known numbers of this machine. Their sources get keys later.
  std::optional<SourcedNumber> devices_per_node_, nodes_, ports_, links_, link_rate_;
  int hosts_of_domain_ = 1;  ///< hosts that one NVLink domain of the other machine joins
  int count_of_nodes_ = 0;
};

}  // namespace

MachineDraft draft_machine(const DraftRequest& request) { return Drafter(request).draft(); }

}  // namespace ddl
