#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "calibration/inputs/machine_draft.hpp"
#include "cli/commands/commands.hpp"
#include "cli/options/option_value.hpp"
#include "cli/options/study_options.hpp"
#include "cli/report/fields.hpp"
#include "cli/report/figures.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"
#include "model_zoo/files/bundled_name.hpp"

namespace ddl {
namespace {

namespace fs = std::filesystem;
struct MachineNewRequest {
  std::string name, like, output, root = "/";
  std::optional<std::int64_t> nodes;
  bool force = false, assume_gpus = false;
};

/// Returns the name of the base machine for the new file. If the name is a path, makes it relative to the new file's folder.
std::string extends_text(const std::string& like, const MachineSheet& sheet, const std::string& output) {
  if (!is_path(like)) return sheet.machine.name;
  std::error_code problem;
  const fs::path folder = fs::absolute(output.empty() ? "here.yaml" : output, problem).parent_path();
  const fs::path relative = fs::proximate(fs::absolute(like, problem), folder, problem);
  const std::string text = problem ? like : relative.string();
  return is_path(text) ? text : "./" + text;
}

/// The folders in which programs are looked up. For a copy of another machine, installed programs are not asked: they
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

/// Throws Error if no GPUs were detected, or GPUs of another maker than those of the base machine.
void require_gpus(const DraftRequest& request) {
  const Machine& like = request.like.machine;
  if (like.device.is_processor) return;
  const std::string keep = fmt::format("--assume-gpus keeps the {} of {}", like.device.name, like.name);
  if (!request.host.gpus) {
    throw Error("no GPUs were detected: none of nvidia-smi, rocm-smi, amd-smi, hl-smi and xpu-smi lists any",
                "run this on a node with GPUs; " + keep);
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
      of_maker.empty() ? "no bundled machine has GPUs of this maker: describe it in a file of your own; " + keep
                       : fmt::format("use --like with a machine of this maker: {}; {}", of_maker, keep));
}

Report new_machine(const MachineNewRequest& asked, const std::string& format) {
  const std::string output = is_file(asked.output) ? asked.output : "";
  if (asked.name.empty()) throw Error("the name of the new machine is empty", "give it a name");
  std::error_code unknown;
  if (!output.empty() && !asked.force && fs::exists(output, unknown)) {
    throw Error(fmt::format("{} exists already", quote_path(output)), "give another name, or overwrite it with --force");
  }
  const char* const path = std::getenv("PATH");
  DraftRequest request;
  request.name = asked.name;
  request.like = load_machine_sheet(asked.like);
  request.extends = extends_text(asked.like, request.like, output);
  if (asked.nodes) request.nodes = static_cast<int>(*asked.nodes);
  request.host = detect_host({asked.root, search_path(asked, path != nullptr ? path : "")});
  if (!asked.assume_gpus) {
    require_gpus(request);
  } else if (request.host.gpus && request.host.gpus->maker != maker_of(request.like.machine.device.name)) {
    request.host.gpus.reset();
  }
  const auto draft = std::make_shared<MachineDraft>(draft_machine(request));
  // The file is written only if reading it back gives the same machine.
  const MachineSheet sheet = parse_machine_sheet(draft->text, output.empty() ? "here.yaml" : output);
  if (!output.empty()) write_output(output, draft->text);
  const std::string size =
      fmt::format("{}, {} per node", count_text(sheet.machine.devices(), "device"), sheet.machine.devices_per_node());
  Report report;
  if (output.empty() && format == "text") {
    report.document.add(Verbatim{draft->text});
  } else {
    report.document.line(sheet.machine.name, fmt::format(": {}, like {}", size, request.like.machine.name));
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

}  // namespace

void add_machines_new(const Command& machines, Request& request) {
  const Command command = machines.add_subcommand("new", "write a machine file based on another machine");
  const auto asked = std::make_shared<MachineNewRequest>();
  command.examples(
      {{"ddl-oracle machines new ours --like dgx-a100 --assume-gpus", "a machine file on the standard output"},
       {"ddl-oracle machines new ours --like dgx-a100 --assume-gpus --nodes 16 -o ours.yaml", "16 nodes, into a file"},
       {"ddl-oracle machines new ours --like dgx-h100 --assume-gpus -o ours.yaml --force", "overwrites an existing file"}});
  command.add_option("name", asked->name, "name of the new machine").required();
  command.add_option("--like", asked->like, "base machine: a bundled one, or a machine file")
      .required()
      .names_or_file(machine_names);
  add_whole_number(command, "--nodes", asked->nodes, 1, 100'000'000,
                   "number of nodes; default: that of Slurm, else that of the base machine");
  add_output_option(command, asked->output, "write the machine file to this file; default: the standard output");
  command.add_switch("--force", asked->force, "overwrite the file if it exists");
  command.add_switch("--assume-gpus", asked->assume_gpus,
                     "take the GPUs of the base machine if none, or others, are detected");
  command
      .add_option("--root", asked->root,
                  "folder with the /proc and /sys of the machine; programs installed on this host are then not asked")
      .default_str("/");
  add_format_option(command, request.report);
  command.callback([asked, &request] {
    request.run = [asked, &request] {
      Report report = new_machine(*asked, request.report.format);
      if (!is_file(asked->output)) return report;
      return std::move(report).then({"ddl-oracle", "recommend", "llama3-8b", "--machine",
                                     (std::filesystem::path(".") / asked->output).string(), "--gpus", "8"});
    };
  });
}

}  // namespace ddl
