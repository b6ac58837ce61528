#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "cli/tools/configuration_format.hpp"
#include "cli/tools/launcher.hpp"
#include "cli/tools/network_of.hpp"

namespace ddl {

std::span<const Launcher> launchers() {
  static constexpr std::array<Launcher, 6> all{{
      {"PyTorch", launch_torchrun, true},
      {"Megatron-LM", launch_megatron},
      {"torchtitan", launch_torchtitan},
      {"DeepSpeed", launch_deepspeed},
      {"NeMo", launch_nemo},
      {"Slurm", launch_slurm, true},
  }};
  return all;
}

// Sources of the names: Slurm, sbatch(1) and srun(1); PyTorch, torch.distributed.run; DeepSpeed,
// deepspeed/launcher/runner.py; accelerate, commands/launch.py; Ascend/MindSpeed-LLM, examples/mindspore (msrun).
std::span<const ArgumentRow> launcher_rows() {
  // torchrun starts a process for each device that a node has.
  static constexpr auto processes = argument_words("gpu=", "auto=", "*=*");
  static constexpr auto precisions = argument_words("bf16=bf16", "fp16=fp16", "fp8=fp8", "no=");
  static constexpr auto arguments = std::to_array<ArgumentRow>({
      {"slurm:--nodes|slurm:-N|srun:--nodes|srun:-N", ConfigField::nodes},
      {"torchrun:--nnodes|deepspeed:--num-nodes|accelerate:--num-machines", ConfigField::nodes},
      {"slurm:--gpus-per-node|slurm:--gres|srun:--gpus-per-node|srun:--gres", ConfigField::gpus_per_node},
      {"slurm:--gpus|slurm:-G|srun:--gpus|srun:-G", ConfigField::gpus},
      {"mpirun:-np|mpirun:-n|mpirun:--np|msrun:--worker-num|accelerate:--num-processes", ConfigField::gpus},
      {"torchrun:--nproc-per-node", ConfigField::gpus_per_node, "", processes},
      {"deepspeed:--num-gpus|msrun:--local-worker-num|pbs:-l ngpus|sge:-l ngpus|pjm:-l ngpus|lsf:-gpu",
       ConfigField::gpus_per_node},
      {"accelerate:--config-file", ConfigField::accelerate_file},
      // The program may set its precision itself [huggingface/transformers, training_args.py, ACCELERATE_MIXED_PRECISION].
      weak(only_read({"accelerate:--mixed-precision", ConfigField::precision, "", precisions})),
      // What starts a launcher, as in `launch --num-nodes 2 --gpus 8 -- torchrun …`: allenai/open-instruct, mason.py;
      // allenai/beaker-gantry; skypilot-org/skypilot, sky/client/cli.
      weak({"launch:--num-nodes|launch:--nnodes|launch:--replicas", ConfigField::nodes}),
      weak({"launch:--gpus|launch:--gpus-per-node", ConfigField::gpus_per_node}),
      // Arguments of batch systems other than Slurm: PBS, qsub(1B) and pbs_resources(7B); Grid
      // Engine; Fujitsu's pjsub; LSF, bsub(1).
      {"pbs:-l select|sge:-l select|pjm:-l select|lsf:-nnodes", ConfigField::nodes},
      weak({"environment:-NNODES", ConfigField::nodes}),
      weak({"environment:-NPROC_PER_NODE|environment:-CUDA_VISIBLE_DEVICES", ConfigField::gpus_per_node}),
      only_read({"environment:-PYTORCH_ALLOC_CONF", ConfigField::allocator}),
      only_read(weak({"environment:-PYTORCH_CUDA_ALLOC_CONF", ConfigField::allocator})),
      {"--deepspeed|--deepspeed_config", ConfigField::deepspeed_file},
      {"--job.config_file|--config_file|--config", ConfigField::trainer_file},
      {"--yaml-cfg", ConfigField::trainer_file},          // Megatron-LM's
      weak({"python:-file", ConfigField::trainer_file}),  // a file among other arguments, which the program may write
  });
  static constexpr auto rows = one_name_each<arguments>();
  return rows;
}

LaunchNodes launch_nodes(const LaunchRequest& request) {
  const std::int64_t devices = request.plan().mesh.devices();
  std::int64_t on_node = std::min<std::int64_t>(devices, request.study.machine().devices_per_node());
  while (devices % on_node != 0) --on_node;
  return {devices / on_node, on_node};
}

std::optional<CannotLaunch> lacks_equal_nodes(const LaunchRequest& request) {
  const std::int64_t devices = request.plan().mesh.devices(), full = request.study.machine().devices_per_node();
  const std::int64_t needed = (devices + full - 1) / full;
  if (launch_nodes(request).nodes <= needed) return std::nullopt;
  return CannotLaunch{fmt::format(
      "the launch files start the same number of devices on each node, but {} devices do not fill {} nodes of {}: use "
      "--gpus {} or {}",
      devices, needed, full, (needed - 1) * full, needed * full)};
}

std::string torchrun_command(const LaunchNodes& nodes) {
  if (nodes.nodes == 1) return fmt::format("torchrun --standalone --nproc-per-node={}", nodes.devices_per_node);
  return fmt::format(
      "torchrun --nnodes={} --nproc-per-node={} --rdzv-backend=c10d --rdzv-id=\"${{SLURM_JOB_ID:-1}}\" \\\n"
      "  --rdzv-endpoint=\"${{MASTER_ADDR:?name the first node}}:${{MASTER_PORT:-29500}}\"",
      nodes.nodes, nodes.devices_per_node);
}

std::string told_first_node(const LaunchNodes& nodes, std::string_view command) {
  return fmt::format("{}{}", nodes.nodes == 1 ? "" : "MASTER_ADDR=FIRST_NODE ", command);
}

JobCommand job_script(std::string_view script, std::string_view variables) {
  return {.program = std::string(script),
          .command = fmt::format("bash \"$SLURM_SUBMIT_DIR/{}\" \"$@\"", script),
          .variables = std::string(variables)};
}

std::string axes_other_than(const Plan& plan, Family axes) {
  std::string names;
  for (const Axis axis : spoken_axes) {
    if (plan.mesh[axis] == 1 || (axes & family_bit(axis)) != 0) continue;
    names += fmt::format("{}{}", names.empty() ? "" : " and ", to_string(axis));
  }
  return names;
}

std::optional<CannotLaunch> lacks_axes(const Plan& plan, Family axes) {
  const std::string names = axes_other_than(plan, axes);
  if (names.empty()) return std::nullopt;
  return CannotLaunch{fmt::format("the framework has no {} parallelism", names)};
}

std::optional<CannotLaunch> lacks_frozen_parts(const LaunchRequest& request) {
  const Model& model = request.study.model();
  if (model.trained_parameters() == model.parameters()) return std::nullopt;
  if (model.name.find("@lora=") != std::string::npos)
    return CannotLaunch{fmt::format(
        "the launch files do not train the adapters of {}: use TRL, LLaMA-Factory or torchtune, for example", model.name)};
  // Libraries freeze the parts that a model's file freezes, such as the positions of Whisper. torchvision does so only for
  // trained weights.
  const bool is_named =
      model.name.find("@trained=") != std::string::npos || model.name.find("@frozen=") != std::string::npos;
  if (!is_named && !is_torchvision_model(request.study)) return std::nullopt;
  return CannotLaunch{fmt::format("the launch files train all parameters, but only a part of {} is trained", model.name)};
}

std::int64_t micro_batch_size(const Plan& plan) {
  return static_cast<std::int64_t>(std::ceil(samples_per_micro_batch(plan)));
}

}  // namespace ddl
