#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "calibration/inputs/captured_host.hpp"
#include "calibration/inputs/datasheet_draft.hpp"
#include "calibration/inputs/host_tools/gpu_tools.hpp"
#include "calibration/inputs/machine_draft.hpp"
#include "calibration/inputs/machine_names.hpp"
#include "cli/commands/commands.hpp"
#include "cli/options/option_value.hpp"
#include "cli/options/study_options.hpp"
#include "cli/report/fields.hpp"
#include "cli/report/figures.hpp"
#include "core/error.hpp"
#include "core/plausible.hpp"
#include "core/source_text.hpp"
#include "core/units.hpp"
#include "model_zoo/files/bundled_name.hpp"

namespace ddl {
namespace {

namespace fs = std::filesystem;
struct MachineNewRequest {
  std::string name, like, output, root = "/";
  std::optional<std::int64_t> nodes;
  std::vector<std::string> outputs;  ///< files with saved outputs of the machine's tools
  Datasheet sheet;
  std::optional<std::int64_t> per_node;
  bool force = false, assume_gpus = false;
};

/// Returns the name of the base machine for the new file. If the name is a path, makes it relative to the new file's folder.
std::string extends_text(const std::string& like, const SourcedMachine& sheet, const std::string& output) {
  if (!is_path(like)) return sheet.machine.name;
  std::error_code problem;
  const fs::path folder = fs::absolute(output.empty() ? "here.yaml" : output, problem).parent_path();
  const fs::path relative = fs::proximate(fs::absolute(like, problem), folder, problem);
  const std::string text = problem ? like : relative.string();
  return is_path(text) ? text : "./" + text;
}

/// The folders in which programs are looked up. For a copy of another machine, installed programs are not run: they
/// describe this host.
std::string search_path(const MachineNewRequest& asked, const std::string& path) {
  if (asked.root == "/") return path;
  std::string others;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    const std::string folder = path.substr(at, end - at) + "/";
    at = end + 1;
    const bool is_installed = folder.starts_with("/usr/") || folder.starts_with("/bin/") || folder.starts_with("/sbin/") ||
                              folder.starts_with("/opt/");
    if (!is_installed) others += (others.empty() ? "" : ":") + folder;
  }
  return others;
}

/// Throws Error if no GPUs were detected, or GPUs of another vendor than those of the base machine.
void require_gpus(const DraftRequest& request, bool is_captured) {
  const Machine& like = request.like.machine;
  if (like.device.is_processor) return;
  const std::string keep = fmt::format("--assume-gpus keeps the {} of {}", like.device.name, like.name);
  if (!request.host.gpus && is_captured) {
    throw Error("the outputs list no GPUs", fmt::format("add the output of {}; {}", asked_gpu_tools("or"), keep));
  }
  if (!request.host.gpus) {
    throw Error(fmt::format("no GPUs were detected: none of {} lists any", asked_gpu_tools("and")),
                "run this on a node with GPUs, pass their saved outputs with --captured FILE, or replace --like by --gpu "
                "mi300x --per-node 8 --nodes 8 --network 400Gb/s; " +
                    keep);
  }
  const DetectedGpus& gpus = *request.host.gpus;
  const std::string maker = maker_of(like.device.name);
  if (gpus.maker == maker) return;
  std::string of_maker;
  for (const std::string& name : machine_names()) {
    if (maker_of(load_machine(name).device.name) == gpus.maker) of_maker += (of_maker.empty() ? "" : ", ") + name;
  }
  throw Error(
      fmt::format("{} lists {} x {}, but {} has {}", gpus.tool, gpus.count, quote(gpus.name), like.name, like.device.name),
      of_maker.empty() ? "no bundled machine has GPUs of this vendor: describe yours in a machine file; " + keep
                       : fmt::format("use --like with a machine of this vendor: {}; {}", of_maker, keep));
}

/// Whether options describe the machine, instead of the facts that this host reports.
bool is_by_sheet(const MachineNewRequest& asked) {
  const Datasheet& sheet = asked.sheet;
  return !sheet.gpu.empty() || !sheet.peaks.empty() || sheet.memory || sheet.memory_bandwidth || sheet.links ||
         sheet.network || asked.per_node;
}

MachineDraft draft_by_sheet(const MachineNewRequest& asked) {
  Datasheet sheet = asked.sheet;
  if (!asked.like.empty())
    throw Error(
        "--like and the options of a datasheet exclude each other",
        "--like takes the differences from the host; --gpu takes them from --per-node, --nodes, --links and --network");
  if (is_path(sheet.gpu)) throw Error("--gpu takes a bundled machine, not a file", "--like takes a machine file");
  if (!sheet.gpu.empty() && (!sheet.peaks.empty() || sheet.memory || sheet.memory_bandwidth))
    throw Error("--gpu names a known GPU, and --peak, --memory and --memory-bandwidth describe an unknown one",
                "leave out one of them");
  sheet.name = asked.name;
  if (asked.nodes) sheet.nodes = static_cast<int>(*asked.nodes);
  if (asked.per_node) sheet.per_node = static_cast<int>(*asked.per_node);
  return draft_from_datasheet(sheet);
}

/// The facts in saved outputs of a machine's tools. Throws Error if there are none.
HostFacts facts_of_outputs(const std::vector<std::string>& files) {
  constexpr std::size_t most_bytes = 16 << 20U;
  std::string all;
  for (const std::string& file : files) all += read_file(file, most_bytes) + "\n";
  HostFacts facts = facts_in_outputs(all);
  if (facts.gpus || facts.links || facts.processor || facts.ports || facts.nodes) return facts;
  throw Error(
      fmt::format("{} describes no GPUs, links, processors, ports or nodes", quote_path(files.front())),
      fmt::format("pass outputs of {}, nvidia-smi topo -m, lscpu, ibstat or scontrol show node", asked_gpu_tools("")));
}

HostFacts facts_of_host(const MachineNewRequest& asked) {
  if (!asked.outputs.empty()) return facts_of_outputs(asked.outputs);
  const char* const path = std::getenv("PATH");
  return detect_host({asked.root, search_path(asked, path != nullptr ? path : "")});
}

/// Whether a device may have the memory size that a tool lists. Listed sizes are below the datasheet's, because programs see
/// only a part. True if no size is listed.
bool has_listed_memory(const Device& device, const DetectedGpus& gpus) {
  constexpr double least = 0.87, most = 1.08;
  if (!gpus.memory_mib) return true;
  const double ratio = static_cast<double>(*gpus.memory_mib) * 0x1p20 / device.memory.value();
  return ratio > least && ratio < most;
}

/// The machine with the listed GPUs: by their name, or by the name of another driver. If several machines have GPUs of this
/// name, the first one with the listed memory, or else the first one.
std::string machine_with(const DetectedGpus& gpus) {
  if (gpus.name.ends_with(shortened_gpu_mark))
    throw Error(fmt::format("nvidia-smi shortens the name {}", quote(gpus.name)),
                "add the output of nvidia-smi -L, or name a similar machine: --like dgx-h100");
  const bool is_name = find_machine(gpus.name) != nullptr;
  if (is_name && has_listed_memory(load_machine(gpus.name).device, gpus)) return gpus.name;
  std::string first = is_name ? gpus.name : "";
  for (const std::string& name : machine_names()) {
    const Device device = load_machine(name).device;
    const auto is_same = [&gpus](const std::string& other) { return is_same_gpu(other, gpus.name); };
    if (!is_same(device.name) && std::ranges::none_of(device.profile_names, is_same)) continue;
    if (has_listed_memory(device, gpus)) return name;
    if (first.empty()) first = name;
  }
  if (!first.empty()) return first;
  return gpus.name;  // the error has the nearest names
}

/// A machine file that extends the machine of --like, or a machine with the listed GPUs, by the facts that the host reports.
MachineDraft draft_by_host(const MachineNewRequest& asked, const std::string& output) {
  DraftRequest request;
  request.name = asked.name;
  request.host = facts_of_host(asked);
  if (asked.like.empty() && !request.host.gpus)
    throw Error("the outputs list no GPUs", "add the output of nvidia-smi, or name a similar machine: --like dgx-h100");
  const std::string like = asked.like.empty() ? machine_with(*request.host.gpus) : asked.like;
  request.like = load_sourced_machine(like);
  request.extends = extends_text(like, request.like, output);
  if (asked.nodes) request.nodes = static_cast<int>(*asked.nodes);
  if (!asked.assume_gpus) {
    require_gpus(request, !asked.outputs.empty());
  } else if (request.host.gpus && request.host.gpus->maker != maker_of(request.like.machine.device.name)) {
    request.host.gpus.reset();
  }
  return draft_machine(request);
}

Report new_machine(const MachineNewRequest& asked, const std::string& format) {
  const std::string output = is_file(asked.output) ? asked.output : "";
  if (asked.name.empty()) throw Error("the name of the new machine is empty", "use a name such as ours");
  const bool by_sheet = is_by_sheet(asked);
  if (by_sheet && !asked.outputs.empty())
    throw Error("--captured and the options of a datasheet exclude each other", "leave out one of them");
  if (asked.like.empty() && !by_sheet && asked.outputs.empty())
    throw Error("neither a machine nor a GPU is given",
                "use for example --like dgx-h100 on a node of the machine, --captured nvidia-smi.txt, or --gpu mi300x "
                "--per-node 8 --nodes 8 --network 400Gb/s");
  std::error_code unknown;
  if (!output.empty() && !asked.force && fs::exists(output, unknown)) {
    throw Error(fmt::format("{} exists already", quote_path(output)),
                "use another name, or overwrite the file with --force");
  }
  const auto draft = std::make_shared<MachineDraft>(by_sheet ? draft_by_sheet(asked) : draft_by_host(asked, output));
  // The file is written only if reading it back gives the same machine.
  const SourcedMachine sheet = parse_sourced_machine(draft->text, output.empty() ? "here.yaml" : output);
  if (!output.empty()) write_output(output, draft->text);
  const std::string size =
      fmt::format("{}, {} per node", count_text(sheet.machine.devices(), "device"), sheet.machine.devices_per_node());
  Report report;
  if (output.empty() && format == "text") {
    report.document.add(Verbatim{draft->text});
  } else {
    report.document.line(sheet.machine.name,
                         fmt::format(": {}{}", size, sheet.extends.empty() ? "" : ", like " + sheet.extends));
    for (const std::string& finding : draft->findings) report.document.paragraph(finding);
    report.document.line("written to " + output);
  }
  report.json = [draft, output, name = sheet.machine.name, devices = sheet.machine.devices()] {
    Json json = json_head();
    json["name"] = name;
    json["devices"] = devices;
    json["findings"] = draft->findings;
    if (output.empty()) {
      json["machine_file"] = draft->text;
    } else {
      json["written_to"] = output;
    }
    return json;
  };
  return report;
}

/// Adds an option with a quantity, such as --memory 80GiB. A number without a unit gets a hint with the unit of `example`.
template <class Q>
void add_quantity(const Command& command, const std::string& name, std::optional<Q>& into, const Plausible<Q>& range,
                  const std::string& type, const std::string& example, const std::string& description) {
  const auto parse = [&range, example](const std::string& text, UnitProblem& problem) -> std::optional<Q> {
    const std::optional<Q> value = parse_plausible(text, range, problem);
    if (!value && !text.empty() && text.find_first_not_of("0123456789.") == std::string::npos)
      problem.hint = "use for example " + text + example.substr(example.find_first_not_of("0123456789."));
    if (!value || value->value() > 0) return value;
    problem = {quote(text) + " must be greater than zero", "use for example " + example};
    return std::nullopt;
  };
  add_parsed(command, name, into, parse, "", type, description);
}

/// Reads `bf16=312TFLOP/s,fp8=624TFLOP/s`.
std::vector<std::pair<Precision, FlopRate>> parse_peaks(const std::string& text) {
  std::vector<std::pair<Precision, FlopRate>> peaks;
  for (const std::string& part : comma_separated(text)) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos)
      throw Error(fmt::format("--peak: {} is not a precision and a rate", quote(part)), "use for example bf16=312TFLOP/s");
    const auto precision = chosen<Precision>("--peak", part.substr(0, equals));
    UnitProblem problem;
    const auto rate = parse_plausible(part.substr(equals + 1), plausible_peak, problem);
    if (!rate) throw Error("--peak: " + problem.message, problem.hint);
    if (!(rate->value() > 0)) throw Error(fmt::format("--peak: {} must be greater than zero", quote(part)));
    for (const auto& [known, other] : peaks) {
      if (known == precision)
        throw Error(fmt::format("--peak: {} is given twice", to_string(known)), "keep only one of them");
    }
    peaks.emplace_back(precision, *rate);
  }
  return peaks;
}

void add_sheet_options(const Command& command, MachineNewRequest& asked) {
  Datasheet& sheet = asked.sheet;
  command
      .add_option("--gpu", sheet.gpu, "GPU of the machine: a bundled machine or its GPU, such as mi300x; instead of --like")
      .names_or_file(machine_names);
  command.add_option_function(
      "--peak", [&sheet](const std::string& text) { sheet.peaks = parse_peaks(text); },
      "peak of an unknown GPU by precision without sparsity, such as bf16=312TFLOP/s,fp8=624TFLOP/s", "PEAKS");
  add_quantity(command, "--memory", sheet.memory, plausible_memory, "SIZE", "80GiB",
               "memory of an unknown GPU, such as 80GiB");
  add_quantity(command, "--memory-bandwidth", sheet.memory_bandwidth, plausible_memory_bandwidth, "BANDWIDTH", "2TB/s",
               "memory bandwidth of an unknown GPU, such as 2TB/s");
  add_quantity(command, "--links", sheet.links, plausible_bandwidth, "BANDWIDTH", "300GB/s",
               "rate of all links of a GPU inside a node, in one direction, such as 300GB/s");
  add_quantity(command, "--network", sheet.network, plausible_bandwidth, "BANDWIDTH", "400Gb/s",
               "rate of each GPU's share of the network, in one direction, such as 400Gb/s");
  constexpr std::int64_t most_in_node = 100'000;
  add_whole_number(command, "--per-node", asked.per_node, 1, most_in_node,
                   "GPUs of a node; default: those of --gpu, else 8");
}

}  // namespace

void add_machines_new(const Command& machines, Request& request) {
  const Command command = machines.add_subcommand("new", "write a machine file based on another machine");
  const auto asked = std::make_shared<MachineNewRequest>();
  command.examples(
      {{"ddl-oracle machines new ours --captured nvidia-smi.txt --nodes 16 -o ours.yaml",
        "16 nodes, by the output of nvidia-smi on one of them"},
       {"ddl-oracle machines new ours --gpu mi300x --per-node 8 --nodes 16 --network 400Gb/s",
        "a cluster of known GPUs, by four numbers"},
       {"ddl-oracle machines new ours --peak bf16=500TFLOP/s --memory 96GB --memory-bandwidth 3TB/s --links 400GB/s "
        "--nodes 16 --network 200Gb/s",
        "a cluster of other GPUs, by their datasheet"}});
  command.add_option("name", asked->name, "name of the new machine").required();
  command
      .add_option("--like", asked->like,
                  "base machine: a bundled one, or a machine file; differences are detected on this host")
      .names_or_file(machine_names);
  command.add_option("--captured", asked->outputs,
                     "saved outputs of nvidia-smi, topo -m, rocm-smi, amd-smi, hl-smi, xpu-smi, npu-smi, neuron-ls, lscpu, "
                     "ibstat or scontrol show node on the machine; no program is run then, and --like defaults to a machine "
                     "with these GPUs",
                     "FILE");
  add_sheet_options(command, *asked);
  add_whole_number(command, "--nodes", asked->nodes, 1, 100'000'000,
                   "number of nodes; default: that of Slurm, else that of the base machine");
  add_output_option(command, asked->output, "write the machine file to this file; default: the standard output");
  command.add_switch("--force", asked->force, "overwrite the file if it exists");
  command.add_switch("--assume-gpus", asked->assume_gpus,
                     "assume the GPUs of the base machine, even if no GPUs or other GPUs are detected");
  command
      .add_option("--root", asked->root,
                  "folder with the /proc and /sys of another machine; no program of this host is then run", "FOLDER")
      .default_str("/");
  add_format_option(command, request.report);
  request.on_choice(command, [asked, &request] {
    Report report = new_machine(*asked, request.report.format);
    if (!is_file(asked->output)) return report;
    return std::move(report).then({"ddl-oracle", "recommend", "llama3-8b", "--machine",
                                   (std::filesystem::path(".") / asked->output).string(), "--gpus", "8"});
  });
}

}  // namespace ddl
