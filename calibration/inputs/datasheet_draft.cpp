#include "calibration/inputs/datasheet_draft.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibration/inputs/machine_names.hpp"
#include "calibration/inputs/machine_text.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

constexpr const char* given = "given when this file was written";

/// The highest rate of a device, in FLOP/s.
double highest_peak(const Device& device) {
  double highest = 0;
  for (const Precision precision : {Precision::bf16, Precision::fp16, Precision::tf32, Precision::fp32}) {
    if (const auto peak = device.peak_at(precision)) highest = std::max(highest, peak->value());
  }
  return highest;
}

class SheetDrafter {
 public:
  explicit SheetDrafter(const Datasheet& sheet) : sheet_(sheet) {}

  MachineDraft draft() {
    if (!sheet_.gpu.empty()) like_ = load_sourced_machine(sheet_.gpu, KernelTables::left_out);
    if (!like_) require_sheet();
    const std::string device = like_ ? std::string() : device_section();
    const std::string levels = levels_section();
    if (!like_ || like_->machine.price_per_gpu_hour) leave_out("price");
    if (!like_) {
      leave_out("host");
      leave_out("storage");
    }
    MachineDraft draft;
    draft.text = "# Written by ddl-oracle machines new.\n";
    for (const std::string& finding : findings_) draft.text += "# " + finding + "\n";
    draft.text += fmt::format("format: 1\nmachine: {}\n", yaml_scalar(sheet_.name));
    if (like_) draft.text += fmt::format("extends: {}\n", yaml_scalar(like_->machine.name));
    draft.text += fmt::format("description: {}\n", yaml_scalar(description()));
    const std::string sources = sources_.lines();
    if (!sources.empty() || !like_) draft.text += "\nsources:\n" + sources;
    draft.text += device + levels;
    if (like_ && like_->machine.price_per_gpu_hour) draft.text += "\nprice: none\n";
    draft.findings = std::move(findings_);
    return draft;
  }

 private:
  /// Throws Error with the options that a sheet lacks.
  void require_sheet() const {
    std::vector<std::string> missing;
    if (sheet_.peaks.empty()) missing.emplace_back("--peak bf16=312TFLOP/s");
    if (!sheet_.memory) missing.emplace_back("--memory 80GiB");
    if (!sheet_.memory_bandwidth) missing.emplace_back("--memory-bandwidth 2TB/s");
    if (!sheet_.links && sheet_.per_node.value_or(8) > 1) missing.emplace_back("--links 300GB/s");
    if (!missing.empty())
      throw Error("the sheet of the GPU is incomplete",
                  fmt::format("add {}; or name a known GPU with --gpu", fmt::join(missing, " ")));
  }

  [[nodiscard]] std::string description() const {
    if (like_) return fmt::format("a machine with the GPUs of {}", like_->machine.name);
    return "a machine whose datasheet was given by hand";
  }

  void leave_out(std::string_view section) {
    if (section == "price") findings_.emplace_back("Price: none. Add it with the key 'price'.");
    if (section == "host") findings_.emplace_back("Host: not described. Plans that offload need the section 'host'.");
    if (section == "storage") findings_.emplace_back("Storage: not described. The time to read samples is not predicted.");
  }

  SourcedNumber of_user(std::string key, std::string value) { return {std::move(key), std::move(value), given, "given"}; }
  /// A default for a number that the user did not give. Its reason is printed for the user.
  SourcedNumber by_default(const std::string& what, std::string key, std::string value, const std::string& reason,
                           std::string source_key) {
    findings_.push_back(fmt::format("{}: {}, assumed: {}.", what, value, reason));
    return {std::move(key), std::move(value), "assumed: " + reason, std::move(source_key)};
  }
  void add(std::string& lines, std::string_view indent, std::string_view key, const SourcedNumber& number) {
    lines += fmt::format("{}{}: {}\n", indent, key, sources_.pair(number));
  }

  std::string device_section() {
    std::string lines = fmt::format("\ndevice:\n  name: {}\n  peak:\n", yaml_scalar(sheet_.name));
    double highest = 0;
    for (const auto& [precision, peak] : sheet_.peaks) {
      add(lines, "    ", to_string(precision), of_user({}, print_quantity(peak)));
      if (!is_narrow(precision)) highest = std::max(highest, peak.value());
      if (precision == Precision::fp32) has_fp32_ = true;
    }
    if (!has_fp32_) {
      const double of_all = highest > 0 ? highest : sheet_.peaks.front().second.value() / 2;
      constexpr double share = 16;
      add(lines, "    ", "fp32",
          by_default("Peak in fp32", {}, print_quantity(FlopRate(of_all / share)),
                     "a sixteenth of the rate of matrix units in half precision, as of A100 and H100", "default-fp32"));
    }
    add(lines, "  ", "memory", of_user({}, print_quantity(*sheet_.memory)));
    add(lines, "  ", "memory_bandwidth", of_user({}, print_quantity(*sheet_.memory_bandwidth)));
    add(lines, "  ", "tile", {{}, "64", "assumed: only roofline times need it", "default-tile"});
    findings_.push_back(fmt::format(
        "Kernel times: by the constants of other GPUs on this datasheet, with wider intervals. {}", nearest_device()));
    return lines;
  }

  /// A sentence about the bundled device whose datasheet differs least, by the ratios of its rate, bandwidth and memory.
  [[nodiscard]] std::string nearest_device() const {
    double highest = 0;
    for (const auto& [precision, peak] : sheet_.peaks) {
      if (!is_narrow(precision)) highest = std::max(highest, peak.value());
    }
    std::string best;
    double least = std::numeric_limits<double>::infinity();
    for (const std::string& name : machine_names()) {
      const Machine machine = load_sourced_machine(name, KernelTables::left_out).machine;
      const Device& device = machine.device;
      const auto apart = [](double a, double b) { return a > 0 && b > 0 ? std::abs(std::log(a / b)) : 0.0; };
      const double distance = apart(highest, highest_peak(device)) +
                              apart(sheet_.memory_bandwidth->value(), device.memory_bandwidth.value()) +
                              apart(sheet_.memory->value(), device.memory.value());
      if (device.is_processor || distance >= least) continue;
      least = distance;
      best = fmt::format("{} ({})", device.name, machine.name);
    }
    return best.empty() ? best : fmt::format("The nearest bundled datasheet is that of {}.", best);
  }

  std::string levels_section() {
    const bool has_own = sheet_.per_node || sheet_.nodes || sheet_.links || sheet_.network;
    if (like_ && !has_own) return {};
    // The findings are in the order of the calls.
    std::string lines = "\nlevels:\n" + node_level();
    lines += outer_level();
    return lines;
  }

  [[nodiscard]] int per_node() const {
    constexpr int usual = 8;
    return sheet_.per_node.value_or(like_ ? like_->machine.devices_per_node() : usual);
  }

  std::string node_level() {
    if (!like_ && !sheet_.per_node) findings_.emplace_back("GPUs of a node: 8, assumed.");
    const SourcedNumber units = {{},
                                 std::to_string(per_node()),
                                 sheet_.per_node ? given
                                 : like_         ? "as in " + like_->machine.name
                                                 : "assumed: eight GPUs in a node",
                                 sheet_.per_node ? "given" : "default-per-node"};
    if (like_ && !sheet_.links) {
      const std::string& name = like_->machine.levels.front().name;
      std::vector<SourcedNumber> changed;
      if (sheet_.per_node) changed.push_back({fmt::format("levels.{}.units", name), units.value, given, "given"});
      return level_lines(*like_, name, sources_, changed);
    }
    std::string lines = "  - name: node\n";
    const std::string_view indent = "    ";
    add(lines, indent, "units", units);
    add(lines, indent, "latency",
        by_default("Latency inside a node", {}, "3.4 us", "a step of a ring takes as long as NCCL's over NVLink",
                   "default-latency"));
    add(lines, indent, "bandwidth", of_user({}, print_quantity(sheet_.links.value_or(Bandwidth(1e9)))));
    add(lines, indent, "attainable",
        by_default("Links inside a node", {}, "0.75",
                   "the fraction of the links' rate that collectives reach; NVLink and xGMI reach 0.7 to 0.8",
                   "default-links"));
    add(lines, indent, "rails", {{}, "1", "assumed: the rate is that of all links of a GPU together", "default-rails"});
    return lines;
  }

  std::string outer_level() {
    const std::vector<LinkLevel> none;
    const std::vector<LinkLevel>& levels = like_ ? like_->machine.levels : none;
    const bool has_network = levels.size() > 1;
    if (sheet_.nodes && *sheet_.nodes == 1) return {};
    if (!sheet_.network && !has_network) {
      if (sheet_.nodes)
        throw Error(fmt::format("{} nodes need a network", *sheet_.nodes),
                    "add the rate of each GPU's share of it: --network 400Gb/s");
      findings_.emplace_back("Network: none. Add --network and --nodes for more than one node.");
      return {};
    }
    int nodes = 1;
    for (std::size_t i = 1; i < levels.size(); ++i) nodes *= levels[i].units;
    constexpr int usual = 16;
    if (!has_network) nodes = usual;
    if (!sheet_.nodes) findings_.push_back(fmt::format("Nodes: {}, assumed.", nodes));
    const SourcedNumber units = {{},
                                 std::to_string(sheet_.nodes.value_or(nodes)),
                                 sheet_.nodes ? given : "assumed number of nodes",
                                 sheet_.nodes ? "given" : "default-nodes"};
    if (has_network) return changed_network(levels[1].name, units);
    std::string lines = "  - name: cluster\n";
    const std::string_view indent = "    ";
    add(lines, indent, "units", units);
    add(lines, indent, "fabric",
        by_default("Fabric", {}, "ethernet", "RoCE, EFA or Slingshot; replace ethernet by infiniband for InfiniBand",
                   "default-fabric"));
    add(lines, indent, "bandwidth", of_user({}, print_quantity(*sheet_.network)));
    add(lines, indent, "attainable",
        by_default("Network", {}, "0.9", "the fraction of the NICs' rate that messages reach", "default-network"));
    add(lines, indent, "rails",
        {{}, std::to_string(per_node()), "given: the rate is that of one GPU's share of the network", "given-rails"});
    say_ports();
    return lines;
  }

  void say_ports() {
    if (per_node() < 2) return;
    findings_.push_back(fmt::format(
        "Ports of a node: {0}, one of {1} for each GPU. If its {0} GPUs share one port, divide --network by {0}.",
        per_node(), print_quantity(*sheet_.network)));
  }

  /// The first level between nodes of the other machine, with the given numbers.
  std::string changed_network(const std::string& name, const SourcedNumber& units) {
    const auto change = [&](std::string_view key, const std::string& value, const char* source, const char* source_key) {
      return SourcedNumber{fmt::format("levels.{}.{}", name, key), value, source, source_key};
    };
    std::vector<SourcedNumber> changed{change("units", units.value, units.source.c_str(), units.source_key.c_str())};
    if (sheet_.network) {
      changed.push_back(change("bandwidth", print_quantity(*sheet_.network), given, "given"));
      changed.push_back(change("rails", std::to_string(per_node()),
                               "given: the rate is that of one GPU's share of the network", "given-rails"));
      say_ports();
    }
    return level_lines(*like_, name, sources_, changed);
  }

  const Datasheet& sheet_;
  std::optional<SourcedMachine> like_{};
  SourceKeys sources_{};
  std::vector<std::string> findings_{};
  bool has_fp32_ = false;
};

}  // namespace

MachineDraft draft_from_datasheet(const Datasheet& sheet) { return SheetDrafter(sheet).draft(); }

}  // namespace ddl
