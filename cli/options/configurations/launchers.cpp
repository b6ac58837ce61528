#include <array>

#include "cli/options/configurations/configuration_format.hpp"

namespace ddl {

// Slurm, sbatch(1) and srun(1); PyTorch, torch.distributed.run; DeepSpeed, deepspeed/launcher/runner.py; accelerate,
// commands/launch.py.
std::span<const ArgumentRow> launcher_rows() {
  static constexpr auto rows = std::to_array<ArgumentRow>({
      {"slurm:--nodes", ConfigField::nodes},
      {"slurm:-N", ConfigField::nodes},
      {"slurm:--gpus-per-node", ConfigField::gpus_per_node},
      {"slurm:--gres", ConfigField::gpus_per_node},
      {"slurm:--gpus", ConfigField::gpus},
      {"slurm:-G", ConfigField::gpus},
      {"srun:--nodes", ConfigField::nodes},
      {"srun:-N", ConfigField::nodes},
      {"srun:--gpus-per-node", ConfigField::gpus_per_node},
      {"srun:--gres", ConfigField::gpus_per_node},
      {"srun:--gpus", ConfigField::gpus},
      {"srun:-G", ConfigField::gpus},
      {"torchrun:--nnodes", ConfigField::nodes},
      {"torchrun:--nproc-per-node", ConfigField::gpus_per_node},
      {"deepspeed:--num-nodes", ConfigField::nodes},
      {"deepspeed:--num-gpus", ConfigField::gpus_per_node},
      {"mpirun:-np", ConfigField::gpus},
      {"mpirun:-n", ConfigField::gpus},
      {"mpirun:--np", ConfigField::gpus},
      {"accelerate:--num-processes", ConfigField::gpus},
      {"accelerate:--num-machines", ConfigField::nodes},
      {"accelerate:--config-file", ConfigField::accelerate_file},
      {"--deepspeed", ConfigField::deepspeed_file},
      {"--deepspeed-config", ConfigField::deepspeed_file},
      {"--deepspeed_config", ConfigField::deepspeed_file},
      {"--job.config_file", ConfigField::torchtitan_file},
      {"--config-file", ConfigField::torchtitan_file},
  });
  return rows;
}

}  // namespace ddl
