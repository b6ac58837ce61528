#pragma once

#include <functional>
#include <optional>
#include <string>

namespace ddl {

/// The rank of this process among the processes that a launcher started.
struct LaunchedRank {
  int rank = 0, ranks = 1;
  std::optional<int> local{};  ///< local rank of this process on its node, if the launcher sets one
  bool own_device = false;     ///< whether each process sees only its own device
  std::string launcher{};      ///< `Open MPI`, `PMI`, `torchrun`, `Slurm`; empty without a launcher
  std::string variables{};     ///< variables of rank and world size in shell syntax: `$RANK/$WORLD_SIZE`
};

/// Reads one environment variable; nullptr if it is not set.
using Environment = std::function<const char*(const char*)>;
[[nodiscard]] Environment process_environment();

/// The rank according to the launcher's variables:
///
/// - Open MPI's mpirun: OMPI_COMM_WORLD_RANK, _SIZE and _LOCAL_RANK.
/// - MPICH's and Intel's mpiexec (Hydra), Cray's: PMI_RANK, PMI_SIZE, and MPI_LOCALRANKID or PMI_LOCAL_RANK.
/// - torchrun, and launchers with the same variables: RANK, WORLD_SIZE and LOCAL_RANK.
/// - srun: SLURM_PROCID, SLURM_STEP_NUM_TASKS and SLURM_LOCALID. The shell of sbatch or salloc has SLURM_PROCID and
///   SLURM_NTASKS, too, but is one process: only a step has SLURM_STEP_NUM_TASKS.
///
/// Launchers are checked in this order, because mpirun may start its processes by srun. torchrun
/// (TORCHELASTIC_RUN_ID) comes before all of them, because any other launcher may start torchrun.
/// Without any launcher, the process is alone. It is an Error if a variable is not a number, if
/// only some variables of a launcher are set, or if they contradict each other. WORLD_SIZE alone is
/// accepted within a step of srun.
[[nodiscard]] LaunchedRank this_rank(const Environment& environment = process_environment());

/// Returns the index of the device that a rank uses among the `devices` on its node: the local rank. The index is 0 if the
/// process is alone, if all processes share `one_device`, or if the launcher shows each process only its own device. Throws
/// Error if there are fewer devices than ranks on the node, because two ranks would disturb each other's measurements, or if
/// the launcher sets no local rank.
[[nodiscard]] int device_of(const LaunchedRank& rank, int devices, bool one_device);

}  // namespace ddl
