#include "profiler/measurement/rank.hpp"

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/source_text.hpp"

namespace ddl {
namespace {

constexpr int most_ranks = 1'000'000;

struct Launcher {
  std::string_view name;
  const char* rank;
  const char* ranks;
  std::array<const char*, 3> local;  ///< variables of the local rank; the first variable that is set counts
};
constexpr std::size_t torchrun = 2;
constexpr std::array<Launcher, 4> launchers{{
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", {"OMPI_COMM_WORLD_LOCAL_RANK", nullptr, nullptr}},
    {"PMI", "PMI_RANK", "PMI_SIZE", {"MPI_LOCALRANKID", "PMI_LOCAL_RANK", "SLURM_LOCALID"}},
    {"torchrun", "RANK", "WORLD_SIZE", {"LOCAL_RANK", "SLURM_LOCALID", nullptr}},
    {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", {"SLURM_LOCALID", nullptr, nullptr}},
}};

[[noreturn]] void fail(const std::string& message) {
  throw Error(
      message,
      "a launcher such as torchrun, mpirun or srun sets this variable; unset the variable if the program runs alone");
}

int number_of(const char* name, const char* text, int least, int end) {
  int number = 0;
  const char* const stop = text + std::strlen(text);
  const auto [parsed, problem] = std::from_chars(text, stop, number);
  if (problem != std::errc() || parsed != stop || number < least || number >= end) {
    fail(fmt::format("the environment variable {} is {}, not a number from {} to {}", name, quote(text), least, end - 1));
  }
  return number;
}

}  // namespace

Environment process_environment() {
  return [](const char* name) -> const char* { return std::getenv(name); };
}

namespace {

/// If only one of the launcher's variables for rank and number of ranks is set, returns an error text; otherwise an empty
/// text.
std::string missing_for(const Launcher& launcher, const Environment& environment) {
  const bool has_rank = environment(launcher.rank) != nullptr, has_ranks = environment(launcher.ranks) != nullptr;
  // A shell within an allocation has a rank, but is not a step.
  if (has_rank == has_ranks || (has_rank && launcher.name == "Slurm")) return {};
  return fmt::format("the environment variable {} is set, but {} is not", has_rank ? launcher.rank : launcher.ranks,
                     has_rank ? launcher.ranks : launcher.rank);
}

LaunchedRank rank_by(const Launcher& launcher, const Environment& environment) {
  LaunchedRank found{.launcher = std::string(launcher.name),
                     .variables = fmt::format("${}/${}", launcher.rank, launcher.ranks)};
  found.ranks = number_of(launcher.ranks, environment(launcher.ranks), 1, most_ranks + 1);
  found.rank = number_of(launcher.rank, environment(launcher.rank), 0, found.ranks);
  for (const char* const name : launcher.local) {
    const char* const local = name == nullptr ? nullptr : environment(name);
    if (local == nullptr) continue;
    found.local = number_of(name, local, 0, found.ranks);
    break;
  }
  found.own_device = environment("SLURM_GPUS_PER_TASK") != nullptr && environment("CUDA_VISIBLE_DEVICES") != nullptr;
  return found;
}

}  // namespace

LaunchedRank this_rank(const Environment& environment) {
  const auto launched = [&](const Launcher& launcher) {
    return environment(launcher.rank) != nullptr && environment(launcher.ranks) != nullptr;
  };
  // Processes of torchrun use the variables of torchrun, even if another launcher started torchrun.
  if (environment("TORCHELASTIC_RUN_ID") != nullptr && launched(launchers[torchrun])) {
    return rank_by(launchers[torchrun], environment);
  }
  std::string half;
  for (const Launcher& launcher : launchers) {
    if (launched(launcher)) return rank_by(launcher, environment);
    std::string missing = missing_for(launcher, environment);
    if (missing.empty()) continue;
    if (launcher.name != launchers[torchrun].name) fail(missing);
    // WORLD_SIZE without RANK is not an error under srun: Slurm scripts often set it for programs that
    // take their rank from srun, as this program does.
    half = std::move(missing);
  }
  if (!half.empty()) fail(half);
  return {};
}

int device_of(const LaunchedRank& rank, int devices, bool one_device) {
  if (rank.ranks == 1 || one_device) return 0;
  if (rank.own_device && devices == 1) return 0;
  if (!rank.local) {
    throw Error(
        fmt::format("{} does not set the local rank of rank {}", rank.launcher, rank.rank),
        "start the program by torchrun, Open MPI's mpirun, mpiexec of MPICH or srun; or set LOCAL_RANK in addition to RANK "
        "and WORLD_SIZE");
  }
  if (*rank.local >= devices) {
    throw Error(fmt::format("rank {} has local rank {}, but its node has {} device{}", rank.rank, *rank.local, devices,
                            devices == 1 ? "" : "s"),
                "start one process per device of a node: two on one device would disturb each other");
  }
  return *rank.local;
}

}  // namespace ddl
