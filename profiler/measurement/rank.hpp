#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace ddl {

/// Which of the processes that a launcher started together this one is.
struct LaunchedRank {
  int rank = 0, ranks = 1;
  std::optional<int> local{};  ///< its number among those of this node, where the launcher says it
  bool own_device = false;     ///< the launcher shows each process a device of its own
  std::string launcher{};      ///< `Open MPI`, `PMI`, `torchrun`, `Slurm`; empty where nobody launched it
  std::string variables{};     ///< of rank and ranks, as a shell reads them: `$RANK/$WORLD_SIZE`
};

/// Reads one variable of the environment; nullptr where it is not set.
using Environment = std::function<const char*(const char*)>;
[[nodiscard]] Environment process_environment();

/// What the launcher's variables say:
///
/// - Open MPI's mpirun: OMPI_COMM_WORLD_RANK, _SIZE and _LOCAL_RANK.
/// - MPICH's and Intel's mpiexec (Hydra), Cray's: PMI_RANK, PMI_SIZE, and MPI_LOCALRANKID or PMI_LOCAL_RANK.
/// - torchrun, and whoever sets the same: RANK, WORLD_SIZE and LOCAL_RANK.
/// - srun: SLURM_PROCID, SLURM_STEP_NUM_TASKS and SLURM_LOCALID. The shell of sbatch or salloc has SLURM_PROCID and
///   SLURM_NTASKS, too, but is one process: only a step has SLURM_STEP_NUM_TASKS.
///
/// In this order, since mpirun may start its processes by srun; but torchrun itself (TORCHELASTIC_RUN_ID) comes first, since
/// any of them may start it. Without any of them the process is alone. A variable that is no number, is missing beside its
/// others, or does not fit them is an Error; WORLD_SIZE alone is none within a step of srun.
[[nodiscard]] LaunchedRank this_rank(const Environment& environment = process_environment());

/// Which device of its node a rank takes, of `devices`: the one of its local number. 0 where the process is alone, where all
/// processes have the same `one_device`, and where the launcher shows each its own. An Error where there are fewer devices
/// than ranks on the node, since two of them would measure each other, or where the launcher tells no local number.
[[nodiscard]] int device_of(const LaunchedRank& rank, int devices, bool one_device);

}  // namespace ddl
