#include <fmt/format.h>

#include "cli/tools/launcher.hpp"

namespace ddl {
namespace {

/// Converts a text to a valid job name.
std::string job_name(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
    name += plain ? c : '-';
  }
  return name.substr(0, 60);
}

/// Returns the script of the first runtime that supports the plan; empty if no runtime does.
std::string started_script(const LaunchRequest& request) {
  if (std::holds_alternative<Launch>(launch_torchrun(request))) return "launch/run.sh";
  if (std::holds_alternative<Launch>(launch_megatron(request))) return "launch/megatron.sh";
  if (std::holds_alternative<Launch>(launch_torchtitan(request))) return "launch/torchtitan.sh";
  return {};
}

}  // namespace

LaunchOutcome launch_slurm(const LaunchRequest& request) {
  const std::string script = started_script(request);
  if (script.empty())
    return CannotLaunch{"there is no launch script: PyTorch, Megatron-LM and torchtitan cannot run the plan"};
  const auto [nodes, on_node] = launch_nodes(request);
  const bool has_gpus = !request.study.machine().device.is_processor;
  std::string text =
      "#!/bin/bash\n"
      "# Launches the script once on each node. Account, partition and time are those of your cluster: add them here.\n";
  text += fmt::format("#SBATCH --job-name={}\n", job_name(request.study.model().name));
  text += fmt::format("#SBATCH --nodes={}\n#SBATCH --ntasks-per-node=1\n", nodes);
  if (has_gpus) text += fmt::format("#SBATCH --gpus-per-node={}\n", on_node);
  text +=
      "#SBATCH --exclusive\n"
      "#SBATCH --output=%x-%j.log\n"
      "set -eu\n"
      "export MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\n"
      "export MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))\n"
      "# Slurm runs a copy of this file: the folder is the one where sbatch was called.\n";
  text += fmt::format("srun bash \"$SLURM_SUBMIT_DIR/{}\" \"$@\"\n", script);
  Launch launch;
  launch.files = {{"launch/job.sbatch", text, true}};
  launch.start = "sbatch launch/job.sbatch";
  if (nodes > 1) launch.notes.push_back(fmt::format("runs {} on all {} nodes; node 0 is the rendezvous", script, nodes));
  return launch;
}

}  // namespace ddl
