#include "calibration/inputs/captured_host.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "calibration/inputs/detected_gpus.hpp"
#include "calibration/inputs/tool_text.hpp"

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

/// The GPUs that one tool lists, up to the first number that comes again: there, another host begins.
class GpuList {
 public:
  explicit GpuList(std::string_view tool) : tool_(tool) {}

  void add(std::string_view name, std::optional<double> number) {
    is_over_ = is_over_ || (number && last_ && *number <= *last_);
    if (is_over_ || name.empty()) return;
    last_ = number;
    listed_.emplace_back(std::string(name), std::nullopt);
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
  bool is_over_ = false;
};

/// Older drivers shorten names. `Tesla V100-SXM2...` only lacks the memory; other names may lack a word such as SUPER.
std::string whole_name(const std::string& name) {
  const bool is_shortened = name.ends_with(shortened_gpu_mark);
  const bool is_known = name.find("-SXM") != std::string::npos || name.find("-PCI") != std::string::npos;
  return is_shortened && is_known ? name.substr(0, name.size() - shortened_gpu_mark.size()) : name;
}

/// A row of the tables of nvidia-smi, hl-smi and amd-smi that names a device: `|   0  NVIDIA L4   On | 00000000:01:00.0 Off
/// |`.
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
    list.add(after_key(line, "Product Name"), std::nullopt);
    if (!in_memory) continue;
    if (const auto size = tool_number(after_key(line, "Total"))) list.add_memory(static_cast<std::int64_t>(*size));
  }
  return list.gpus();
}

/// nvidia-smi --query-gpu=…,name,memory.total --format=csv, with its line of names.
std::optional<DetectedGpus> gpus_of_csv(const Lines& lines) {
  GpuList list("nvidia-smi");
  std::size_t columns = 0, name = 0, memory = 0;
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
    } else if (columns > 0 && cells.size() == columns && !cells[name].empty()) {
      list.add(cells[name], std::nullopt);
      if (const auto size = has_memory ? tool_number(cells[memory]) : std::nullopt)
        list.add_memory(static_cast<std::int64_t>(*size));
    }
  }
  return list.gpus();
}

/// The name of a series: of its PCI number, or inside the brackets of `Aqua Vanjaram [Instinct MI300A]`.
std::string_view series_name(std::string_view name) {
  for (const auto& [number, known] : devices_by_number) {
    if (lower_case_of(name) == number) return known;
  }
  const std::size_t open = name.find('['), close = name.find(']');
  const bool has_brackets = open != std::string_view::npos && close != std::string_view::npos && open < close;
  return has_brackets ? name.substr(open + 1, close - open - 1) : name;
}

/// rocm-smi: `GPU[0] : Card series: AMD Instinct MI210`, or the concise table with names or PCI numbers; agents of rocminfo.
std::optional<DetectedGpus> gpus_of_rocm(const Lines& lines) {
  GpuList named("rocm-smi"), numbered("rocm-smi"), below("rocm-smi"), agents("rocminfo");
  std::optional<double> row;
  std::string_view agent;
  for (const std::string_view line : lines) {
    if (line.starts_with("GPU[")) {
      const std::size_t colon = line.find(':');
      const std::string_view value = colon == std::string_view::npos ? "" : tool_text(line.substr(colon + 1));
      const std::string key = lower_case_of(value);
      if (key.starts_with("card series:") || key.starts_with("device name:"))
        named.add(series_name(tool_text(value.substr(value.find(':') + 1))), tool_number(line.substr(4)));
    }
    if (const std::string_view name = after_key(line, "Marketing Name"); !name.empty())
      agent = name.substr(0, name.find('/'));
    if (after_key(line, "Device Type") == "GPU") agents.add(agent, std::nullopt);
    if (row && (line.starts_with("AMD ") || line.starts_with("Instinct "))) below.add(line, row);
    row = tool_number(line);
    if (!row) continue;
    for (const auto& [number, name] : devices_by_number) {
      if (lower_case_of(line).find(number) != std::string::npos) numbered.add(name, row);
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
  if (parts.size() < 3 || parts[0] != "gpu") return std::nullopt;
  const auto count = tool_number(parts[2]);
  if (!count || *count < 1 || *count > 1000) return std::nullopt;
  const std::string name(parts[1]);
  return counted_gpus(ListedGpus(static_cast<std::size_t>(*count), {name, std::nullopt}), maker_of(name), "scontrol");
}

/// The adapters of ibstat, ibstatus or ibv_devinfo: `CA 'mlx5_0'`, `Infiniband device 'mlx5_0'`, `hca_id: mlx5_0`.
std::optional<DetectedPorts> ports_in(const Lines& lines) {
  std::vector<PortRate> ports;
  std::string tool;
  bool is_active = false;
  const auto add = [&](std::optional<double> gigabits, std::string_view text) {
    if (gigabits && is_active && !tool.empty()) ports.push_back({*gigabits, std::string(text)});
    is_active = false;
  };
  double lanes = 0;
  for (const std::string_view line : lines) {
    if (line.starts_with("CA '")) tool = "ibstat";
    if (line.starts_with("Infiniband device '")) tool = "ibstatus";
    if (line.starts_with("hca_id:")) tool = "ibv_devinfo";
    const std::string state = lower_case_of(std::string(after_key(line, "State")) + std::string(after_key(line, "state")));
    if (!state.empty()) is_active = state.find("active") != std::string::npos && state.find("inactive") == std::string::npos;
    for (const std::string_view key : {"Rate", "rate"}) {
      const std::string_view rate = after_key(line, key);
      if (const auto gigabits = tool_number(rate))
        add(gigabits, rate.find(' ') == rate.npos ? std::string(rate) + " Gb/s" : std::string(rate));
    }
    if (const auto width = tool_number(after_key(line, "active_width"))) lanes = *width;
    if (const auto speed = tool_number(after_key(line, "active_speed")))
      add(*speed * lanes, fmt::format("{:g} lanes of {:g} Gb/s", lanes, *speed));
  }
  return fastest_port(ports, tool);
}

struct SlurmNodes {
  std::optional<DetectedNodes> nodes;
  std::string gres;  ///< of the first node with GPUs
};

/// The records of scontrol show node, in one line or in several.
SlurmNodes nodes_in(const Lines& lines) {
  int all = 0, with_gpus = 0;
  SlurmNodes found;
  for (const std::string_view line : lines) {
    all += line.starts_with("NodeName=") ? 1 : 0;
    for (const std::string_view word : words_in(line)) {
      if (!word.starts_with("Gres=gpu") || all == 0) continue;
      ++with_gpus;
      if (found.gres.empty()) found.gres = word.substr(std::string_view("Gres=").size());
    }
  }
  if (all > 0) found.nodes = DetectedNodes{with_gpus > 0 ? with_gpus : all, with_gpus > 0};
  return found;
}

std::optional<DetectedProcessor> processor_in(const Lines& lines) {
  DetectedProcessor found{.name = {}, .from = "lscpu"};
  for (const std::string_view line : lines) {
    if (found.name.empty()) found.name = after_key(line, "Model name");
    if (const auto sockets = tool_number(after_key(line, "Socket(s)")); sockets && *sockets >= 1 && *sockets <= 1000)
      found.sockets = static_cast<int>(*sockets);
  }
  return found.name.empty() ? std::nullopt : std::optional(found);
}

}  // namespace

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
  if (!facts.gpus) facts.gpus = gpus_of_slurm(slurm.gres);
  facts.links = links_in(plain, plain);
  facts.processor = processor_in(lines);
  facts.ports = ports_in(lines);
  facts.nodes = slurm.nodes;
  return facts;
}

}  // namespace ddl
