#include "calibration/inputs/captured_host.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibration/inputs/detected_gpus.hpp"
#include "calibration/inputs/tool_text.hpp"
#include "core/lower_case.hpp"

namespace ddl {
namespace {

using Lines = std::vector<std::string_view>;

/// AMD's devices by their PCI number, which rocm-smi prints in place of the name. Source: pci.ids of the PCI ID Project.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> devices_by_number{{
    {"0x738c", "AMD Instinct MI100"},
    {"0x740f", "AMD Instinct MI210"},
    {"0x740c", "AMD Instinct MI250"},
    {"0x7408", "AMD Instinct MI250X"},
    {"0x74a0", "AMD Instinct MI300A"},
    {"0x74a1", "AMD Instinct MI300X"},
    {"0x74a2", "AMD Instinct MI308X"},
    {"0x74a5", "AMD Instinct MI325X"},
    {"0x75a0", "AMD Instinct MI350X"},
    {"0x75a3", "AMD Instinct MI355X"},
}};

/// The text after `key`, blanks and a colon, if the line starts so.
std::string_view after_key(std::string_view line, std::string_view key) {
  if (!line.starts_with(key)) return {};
  line = tool_text(line.substr(key.size()));
  return line.starts_with(':') ? tool_text(line.substr(1)) : std::string_view();
}

/// Whether a word is the address of a device on the PCI bus: `00000000:01:00.0`.
bool is_bus_address(std::string_view word) {
  return std::count(word.begin(), word.end(), ':') == 2 && std::count(word.begin(), word.end(), '.') == 1 &&
         word.find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos;
}

/// MiB after the '/' of `437MiB /  81920MiB`, or of amd-smi's `283/196592 MB`.
std::optional<std::int64_t> memory_in(std::string_view line) {
  for (std::size_t at = line.find('/'); at != std::string_view::npos; at = line.find('/', at + 1)) {
    const std::string_view size = tool_text(line.substr(at + 1));
    const std::size_t unit = size.find_first_not_of("0123456789");
    if (unit == 0 || unit == std::string_view::npos) continue;
    const std::string_view name = tool_text(size.substr(unit));
    if (!name.starts_with("MiB") && !name.starts_with("MB")) continue;
    if (const auto mebibytes = tool_number(size)) return static_cast<std::int64_t>(*mebibytes);
  }
  return std::nullopt;
}

/// The GPUs that one tool lists, up to the first number or address that comes again: there, another host begins.
class GpuList {
 public:
  explicit GpuList(std::string_view tool) : tool_(tool) {}

  void add(std::string_view name, std::optional<double> number) {
    is_over_ = is_over_ || (number && last_ && *number <= *last_);
    if (is_over_ || name.empty()) return;
    last_ = number;
    listed_.emplace_back(std::string(name), std::nullopt);
  }
  /// Tells the bus address of the next GPU.
  void add_address(std::string_view address) { is_over_ = is_over_ || !addresses_.insert(std::string(address)).second; }
  /// Tells that a line begins the list of a host, which has `size` GPUs.
  void begin_host(double size = 1) {
    is_over_ = is_over_ || (!listed_.empty() && static_cast<double>(listed_.size()) >= size);
  }
  /// The memory of the last GPU, if it is not known yet.
  void add_memory(std::optional<std::int64_t> mebibytes) {
    if (!is_over_ && mebibytes && !listed_.empty() && !listed_.back().second) listed_.back().second = mebibytes;
  }
  [[nodiscard]] std::optional<DetectedGpus> gpus() const {
    if (listed_.empty()) return std::nullopt;
    return counted_gpus(listed_, maker_of(listed_.front().first), std::string(tool_));
  }

 private:
  std::string_view tool_;
  ListedGpus listed_;
  std::optional<double> last_;
  std::set<std::string> addresses_;
  bool is_over_ = false;
};

/// Older drivers shorten names. `Tesla V100-SXM2...` only lacks the memory; other names may lack a word such as SUPER.
std::string whole_name(const std::string& name) {
  const bool is_shortened = name.ends_with(shortened_gpu_mark);
  const bool is_known = name.find("-SXM") != std::string::npos || name.find("-PCI") != std::string::npos;
  return is_shortened && is_known ? name.substr(0, name.size() - shortened_gpu_mark.size()) : name;
}

/// A row of the tables of nvidia-smi, hl-smi and amd-smi that names a device: `|  0  NVIDIA L4  On | 00000000:01:00.0 |`.
void add_table_row(std::string_view line, GpuList& list) {
  const Lines cells = tool_parts(line, '|');
  if (cells.size() < 2) return;
  std::vector<std::string_view> words = words_in(cells[0]);
  const std::vector<std::string_view> beside = words_in(cells[1]);
  if (words.size() < 2) return;
  std::optional<double> number;
  if (!is_bus_address(words.front())) {
    number = tool_number(words.front());
    if (!number || beside.empty() || !is_bus_address(beside.front())) return;
    constexpr std::array<std::string_view, 6> modes{"On", "Off", "N/A", "WDDM", "TCC", "MCDM"};  // persistence; of Windows
    if (words.size() > 2 && std::find(modes.begin(), modes.end(), words.back()) != modes.end()) words.pop_back();
  }
  if (!number) list.add_address(words.front());
  std::string name;
  for (std::size_t i = 1; i < words.size(); ++i) name += (i > 1 ? " " : "") + std::string(words[i]);
  list.add(whole_name(name), number);
}

std::optional<DetectedGpus> gpus_of_tables(const Lines& lines) {
  GpuList list(std::any_of(lines.begin(), lines.end(),
                           [](std::string_view line) { return line.find("HL-SMI") != std::string_view::npos; })
                   ? "hl-smi"
               : std::any_of(lines.begin(), lines.end(),
                             [](std::string_view line) { return line.find("AMD-SMI") != std::string_view::npos; })
                   ? "amd-smi"
                   : "nvidia-smi");
  for (const std::string_view line : lines) {
    if (line.starts_with("AMD-SMI ")) list.begin_host();
    if (line.find('|') == std::string_view::npos) continue;
    add_table_row(line, list);
    list.add_memory(memory_in(line));
  }
  return list.gpus();
}

/// `GPU 0: NVIDIA H200 (UUID: GPU-…)` of nvidia-smi -L.
std::optional<DetectedGpus> gpus_of_list(const Lines& lines) {
  GpuList list("nvidia-smi");
  for (const std::string_view line : lines) {
    if (!line.starts_with("GPU ") || line.find("(UUID: GPU-") == std::string_view::npos) continue;
    const std::size_t colon = line.find(':');
    list.add(tool_text(line.substr(colon + 1, line.find("(UUID") - colon - 1)), tool_number(line.substr(4)));
  }
  return list.gpus();
}

/// `Product Name : NVIDIA L40S` and the total of `FB Memory Usage` of nvidia-smi -q.
std::optional<DetectedGpus> gpus_of_query(const Lines& lines) {
  GpuList list("nvidia-smi");
  bool in_memory = false;
  for (const std::string_view line : lines) {
    if (line.find("Memory Usage") != std::string_view::npos) in_memory = line.starts_with("FB ");
    if (const auto size = tool_number(after_key(line, "Attached GPUs"))) list.begin_host(*size);
    if (line.starts_with("GPU ") && is_bus_address(line.substr(4))) list.add_address(line.substr(4));
    list.add(after_key(line, "Product Name"), std::nullopt);
    if (!in_memory) continue;
    if (const auto size = tool_number(after_key(line, "Total"))) list.add_memory(static_cast<std::int64_t>(*size));
  }
  return list.gpus();
}

/// nvidia-smi --query-gpu=…,name,memory.total --format=csv, with its line of names.
std::optional<DetectedGpus> gpus_of_csv(const Lines& lines) {
  GpuList list("nvidia-smi");
  std::size_t columns = 0, name = 0, memory = 0, index = 0;
  bool has_memory = false;
  for (const std::string_view line : lines) {
    const Lines cells = tool_parts(line, ',');
    const auto named = [&](std::string_view text) {
      return std::find_if(cells.begin(), cells.end(),
                          [&](std::string_view cell) { return cell.substr(0, cell.find(' ')) == text; });
    };
    if (named("name") != cells.end() && cells.size() > 1) {
      columns = cells.size();
      name = static_cast<std::size_t>(named("name") - cells.begin());
      memory = static_cast<std::size_t>(named("memory.total") - cells.begin());
      has_memory = memory < columns;
      index = static_cast<std::size_t>(named("index") - cells.begin());
      list.begin_host();
    } else if (columns > 0 && cells.size() == columns && !cells[name].empty()) {
      list.add(cells[name], index < columns ? tool_number(cells[index]) : std::nullopt);
      if (const auto size = has_memory ? tool_number(cells[memory]) : std::nullopt)
        list.add_memory(static_cast<std::int64_t>(*size));
    }
  }
  return list.gpus();
}

/// The name of a series: of its PCI number, or inside the brackets of `Aqua Vanjaram [Instinct MI300A]`.
std::string_view series_name(std::string_view name) {
  for (const auto& [number, known] : devices_by_number) {
    if (lower_case(name) == number) return known;
  }
  const std::size_t open = name.find('['), close = name.find(']');
  const bool has_brackets = open != std::string_view::npos && close != std::string_view::npos && open < close;
  return has_brackets ? name.substr(open + 1, close - open - 1) : name;
}

/// rocm-smi: `GPU[0] : Card series: AMD Instinct MI210`, or the concise table with names or PCI numbers; agents of rocminfo.
std::optional<DetectedGpus> gpus_of_rocm(const Lines& lines) {
  GpuList named("rocm-smi"), numbered("rocm-smi"), below("rocm-smi"), agents("rocminfo");
  std::optional<double> row, agent_number;
  std::string_view agent;
  for (const std::string_view line : lines) {
    if (line.starts_with("GPU[")) {
      const std::size_t colon = line.find(':');
      const std::string_view value = colon == std::string_view::npos ? "" : tool_text(line.substr(colon + 1));
      const std::string key = lower_case(value);
      if (key.starts_with("card series:") || key.starts_with("device name:"))
        named.add(series_name(tool_text(value.substr(value.find(':') + 1))), tool_number(line.substr(4)));
    }
    if (line.starts_with("Agent ")) {
      agent_number = tool_number(line.substr(6));
      if (agent_number == 1) agents.begin_host();
    }
    if (line.starts_with("Marketing Name")) {
      agent = after_key(line, "Marketing Name");
      agent = agent.substr(0, agent.find('/'));
    }
    if (const std::string_view type = after_key(line, "Device Type"); !type.empty()) {
      if (type == "GPU") agents.add(agent, agent_number);
      agent = {};
    }
    if (row && (line.starts_with("AMD ") || line.starts_with("Instinct "))) below.add(line, row);
    row = tool_number(line);
    if (!row) continue;
    for (const auto& [number, name] : devices_by_number) {
      if (lower_case(line).find(number) != std::string::npos) numbered.add(name, row);
    }
  }
  for (const GpuList* const list : {&named, &below, &numbered, &agents}) {
    if (auto gpus = list->gpus()) return gpus;
  }
  return std::nullopt;
}

/// The GPUs of Slurm's `Gres=gpu:h100:8(S:0-1)`.
std::optional<DetectedGpus> gpus_of_slurm(const std::string& gres) {
  const Lines parts = tool_parts(std::string_view(gres), ':');
  if (parts.size() < 3 || parts[0] != "gpu" || parts[1].empty()) return std::nullopt;
  const auto count = tool_number(parts[2]);
  if (!count || *count < 1 || *count > 1000) return std::nullopt;
  const std::string name(parts[1]);
  return DetectedGpus{
      .name = name, .count = static_cast<int>(*count), .memory_mib = {}, .maker = maker_of(name), .tool = "scontrol"};
}

/// The active ports that one tool lists, up to the first head of an adapter that comes again: there, another host begins.
struct PortList {
  std::string_view tool, head;            ///< `head`: the start of the first line of an adapter
  std::set<std::string_view> adapters{};  ///< their first lines
  bool is_over = false;
  std::vector<PortRate> ports{};
};

/// The ports of the first tool that lists some, because several tools list the same ports.
std::optional<DetectedPorts> ports_in(const Lines& lines) {
  std::array<PortList, 3> lists{PortList{"ibstat", "CA '"}, {"ibstatus", "Infiniband device '"}, {"ibv_devinfo", "hca_id:"}};
  PortList* list = nullptr;
  bool is_active = false;
  const auto add = [&](double gigabits, const std::string& text) {
    if (is_active && list != nullptr && !list->is_over) list->ports.push_back({gigabits, text});
    is_active = false;
  };
  double lanes = 0;
  for (const std::string_view line : lines) {
    for (PortList& each : lists) {
      if (!line.starts_with(each.head)) continue;
      list = &each;
      each.is_over = each.is_over || !each.adapters.insert(line).second;
      is_active = false;
      lanes = 0;
    }
    const std::string state = lower_case(std::string(after_key(line, "State")) + std::string(after_key(line, "state")));
    if (!state.empty()) is_active = state.find("active") != std::string::npos && state.find("inactive") == std::string::npos;
    for (const std::string_view key : {"Rate", "rate"}) {
      const std::string_view rate = after_key(line, key);
      if (const auto gigabits = tool_number(rate))
        add(*gigabits, rate.find(' ') == rate.npos ? std::string(rate) + " Gb/s" : std::string(rate));
    }
    if (const auto width = tool_number(after_key(line, "active_width"))) lanes = *width;
    if (const auto speed = tool_number(after_key(line, "active_speed")))
      add(*speed * lanes, fmt::format("{:g} lanes of {:g} Gb/s", lanes, *speed));
  }
  for (const PortList& each : lists) {
    if (auto ports = fastest_port(each.ports, each.tool)) return ports;
  }
  return std::nullopt;
}

/// The nodes of Slurm.
struct SlurmNodes {
  std::set<std::string_view> names{};
  std::map<std::string, int> nodes_of_gres{};  ///< `gpu:h100:8`, and the number of nodes with these GPUs
  std::string first_gres{};
};

/// The records of scontrol show node, in one line or in several. A record that comes again is skipped.
SlurmNodes nodes_in(const Lines& lines) {
  SlurmNodes found;
  bool is_new = false;
  for (const std::string_view line : lines) {
    if (line.starts_with("NodeName=")) is_new = found.names.insert(words_in(line).front()).second;
    for (const std::string_view word : words_in(line)) {
      if (!word.starts_with("Gres=gpu") || !is_new) continue;
      const std::string_view sockets = "(S:";  // that the GPUs are attached to, as in `gpu:h100:8(S:0-1)`
      const std::string gres(
          word.substr(std::string_view("Gres=").size(), word.find(sockets) - std::string_view("Gres=").size()));
      ++found.nodes_of_gres[gres];
      if (found.first_gres.empty()) found.first_gres = gres;
      is_new = false;
    }
  }
  return found;
}

/// The nodes with the GPUs of the host, or else with those of the first node.
std::optional<DetectedNodes> counted_nodes(const SlurmNodes& slurm, const std::optional<DetectedGpus>& gpus) {
  if (slurm.names.empty()) return std::nullopt;
  if (slurm.nodes_of_gres.empty()) return DetectedNodes{static_cast<int>(slurm.names.size()), false};
  const auto is_of_host = [&](const std::string& gres) {
    const auto listed = gpus_of_slurm(gres);
    return gpus && listed && listed->count == gpus->count && is_same_gpu(listed->name, gpus->name);
  };
  std::string counted = slurm.first_gres;
  if (!is_of_host(counted)) {
    for (const auto& [gres, nodes] : slurm.nodes_of_gres) {
      if (is_of_host(gres)) counted = gres;
    }
  }
  constexpr std::size_t most_named = 8;
  std::vector<std::string> others;
  for (const auto& [gres, nodes] : slurm.nodes_of_gres) {
    if (gres != counted && others.size() < most_named) others.push_back(fmt::format("{} with {}", nodes, gres));
  }
  if (const std::size_t kinds = slurm.nodes_of_gres.size() - 1; kinds > others.size())
    others.push_back(fmt::format("and those of {} more kinds", kinds - others.size()));
  return DetectedNodes{slurm.nodes_of_gres.at(counted), true, fmt::format("{}", fmt::join(others, ", "))};
}

std::optional<DetectedProcessor> processor_in(const Lines& lines) {
  DetectedProcessor found{.name = {}, .from = "lscpu"};
  bool has_sockets = false;
  for (const std::string_view line : lines) {
    if (found.name.empty()) found.name = after_key(line, "Model name");
    const auto sockets = tool_number(after_key(line, "Socket(s)"));
    if (has_sockets || !sockets || *sockets < 1 || *sockets > 1000) continue;
    found.sockets = static_cast<int>(*sockets);
    has_sockets = true;
  }
  return found.name.empty() ? std::nullopt : std::optional(found);
}

}  // namespace

std::optional<DetectedNodes> nodes_in_output(std::string_view text, const std::optional<DetectedGpus>& gpus) {
  const Lines lines = tool_parts(text, '\n');
  return counted_nodes(nodes_in(lines), gpus);
}

HostFacts facts_in_outputs(std::string_view text) {
  const std::string plain = without_escape_codes(text);
  const Lines lines = tool_parts(std::string_view(plain), '\n');
  HostFacts facts;
  const SlurmNodes slurm = nodes_in(lines);
  facts.gpus = gpus_of_list(lines);
  if (!facts.gpus) facts.gpus = gpus_of_query(lines);
  const std::optional<DetectedGpus> table = gpus_of_tables(lines);
  if (!facts.gpus) facts.gpus = table;
  if (facts.gpus && !facts.gpus->memory_mib && table) facts.gpus->memory_mib = table->memory_mib;
  if (!facts.gpus) facts.gpus = gpus_of_csv(lines);
  if (!facts.gpus) facts.gpus = gpus_of_rocm(lines);
  if (!facts.gpus) facts.gpus = gpus_of_outputs(plain);
  if (!facts.gpus) facts.gpus = gpus_of_slurm(slurm.first_gres);
  facts.links = links_in(plain, plain);
  facts.processor = processor_in(lines);
  facts.ports = ports_in(lines);
  facts.nodes = counted_nodes(slurm, facts.gpus);
  return facts;
}

}  // namespace ddl
