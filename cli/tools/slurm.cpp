#include <fmt/format.h>

#include "cli/tools/launcher.hpp"

namespace ddl {
namespace {

std::string job_name(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
    name += plain ? c : '-';
  }
  return name.substr(0, 60);
}

}  // namespace

LaunchOutcome launch_slurm(const LaunchRequest& request) {
  if (request.written.empty()) return CannotLaunch{"there are no launch files that Slurm could start"};
  const JobCommand& job = request.written.front().job;
  const auto [nodes, on_node] = launch_nodes(request);
  const bool has_gpus = !request.study.machine().device.is_processor;
  std::string text = "#!/bin/bash\n";
  text +=
      fmt::format("# Launches {} once on each {}. Account, partition and time are those of your cluster: add them here.\n",
                  job.program, job.on_each_device ? "device" : "node");
  text += fmt::format("#SBATCH --job-name={}\n", job_name(request.study.model().name));
  text += fmt::format("#SBATCH --nodes={}\n#SBATCH --ntasks-per-node={}\n", nodes, job.on_each_device ? on_node : 1);
  if (has_gpus) text += fmt::format("#SBATCH --gpus-per-node={}\n", on_node);
  text +=
      "#SBATCH --exclusive\n"
      "#SBATCH --output=%x-%j.log\n"
      "set -eu\n"
      "export MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\n"
      "export MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))\n"
      "# Slurm runs a copy of this file: the folder is the one where sbatch was called.\n";
  text += fmt::format("srun {}\n", job.command);
  Launch launch;
  launch.files = {{"launch/job.sbatch", text, true}};
  launch.start = fmt::format("{}{}sbatch launch/job.sbatch{}{}", job.variables, job.variables.empty() ? "" : " ",
                             job.arguments.empty() ? "" : " ", job.arguments);
  if (nodes > 1)
    launch.notes.push_back(fmt::format("runs {} on all {} nodes; node 0 is the rendezvous", job.program, nodes));
  return launch;
}

}  // namespace ddl
