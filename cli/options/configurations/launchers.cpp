#include <array>

#include "cli/options/configurations/configuration_format.hpp"

namespace ddl {

// Slurm, sbatch(1) and srun(1); PyTorch, torch.distributed.run; DeepSpeed, deepspeed/launcher/runner.py; accelerate,
// commands/launch.py.
std::span<const ArgumentRow> launcher_rows() {
  static constexpr auto rows = std::to_array<ArgumentRow>({
      {"slurm:--nodes", Said::nodes},
      {"slurm:-N", Said::nodes},
      {"slurm:--gpus-per-node", Said::gpus_per_node},
      {"slurm:--gres", Said::gpus_per_node},
      {"slurm:--gpus", Said::gpus},
      {"slurm:-G", Said::gpus},
      {"srun:--nodes", Said::nodes},
      {"srun:-N", Said::nodes},
      {"srun:--gpus-per-node", Said::gpus_per_node},
      {"srun:--gres", Said::gpus_per_node},
      {"srun:--gpus", Said::gpus},
      {"srun:-G", Said::gpus},
      {"torchrun:--nnodes", Said::nodes},
      {"torchrun:--nproc-per-node", Said::gpus_per_node},
      {"deepspeed:--num-nodes", Said::nodes},
      {"deepspeed:--num-gpus", Said::gpus_per_node},
      {"mpirun:-np", Said::gpus},
      {"mpirun:-n", Said::gpus},
      {"mpirun:--np", Said::gpus},
      {"accelerate:--num-processes", Said::gpus},
      {"accelerate:--num-machines", Said::nodes},
      {"accelerate:--config-file", Said::accelerate_file},
      {"--deepspeed", Said::deepspeed_file},
      {"--deepspeed-config", Said::deepspeed_file},
      {"--deepspeed_config", Said::deepspeed_file},
      {"--job.config_file", Said::torchtitan_file},
      {"--config-file", Said::torchtitan_file},
  });
  return rows;
}

}  // namespace ddl
