#include "profiler/rank.hpp"

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>

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
  std::array<const char*, 3> local;  ///< the first that is set counts
};
constexpr std::array<Launcher, 3> launchers{{
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", {"OMPI_COMM_WORLD_LOCAL_RANK", nullptr, nullptr}},
    {"PMI", "PMI_RANK", "PMI_SIZE", {"MPI_LOCALRANKID", "PMI_LOCAL_RANK", "SLURM_LOCALID"}},
    {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", {"SLURM_LOCALID", nullptr, nullptr}},
}};

[[noreturn]] void fail(const std::string& message) {
  throw Error(message, "a launcher such as mpirun or srun sets it; unset it where the program runs alone");
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

Rank this_rank(const Environment& environment) {
  for (const Launcher& launcher : launchers) {
    const char* const rank = environment(launcher.rank);
    const char* const ranks = environment(launcher.ranks);
    const bool is_slurm = launcher.name == "Slurm";
    // Shells within an allocation have a number, but are no step.
    if (ranks == nullptr && (rank == nullptr || is_slurm)) continue;
    if (rank == nullptr || ranks == nullptr) {
      const bool lacks_rank = rank == nullptr;
      fail(fmt::format("the environment variable {} is set, but {} is not", lacks_rank ? launcher.ranks : launcher.rank,
                       lacks_rank ? launcher.rank : launcher.ranks));
    }
    Rank found{.launcher = std::string(launcher.name)};
    found.ranks = number_of(launcher.ranks, ranks, 1, most_ranks + 1);
    found.rank = number_of(launcher.rank, rank, 0, found.ranks);
    for (const char* const name : launcher.local) {
      const char* const local = name == nullptr ? nullptr : environment(name);
      if (local == nullptr) continue;
      found.local = number_of(name, local, 0, found.ranks);
      break;
    }
    found.own_device = environment("SLURM_GPUS_PER_TASK") != nullptr && environment("CUDA_VISIBLE_DEVICES") != nullptr;
    return found;
  }
  return {};
}

int device_of(const Rank& rank, int devices, bool one_device) {
  if (rank.ranks == 1 || one_device) return 0;
  if (rank.own_device && devices == 1) return 0;
  if (!rank.local) {
    throw Error(fmt::format("{} does not say which rank of its node rank {} is", rank.launcher, rank.rank),
                "start it by Open MPI's mpirun, by mpiexec of MPICH or by srun");
  }
  if (*rank.local >= devices) {
    throw Error(fmt::format("rank {} is number {} on its node, which has {} device{}", rank.rank, *rank.local, devices,
                            devices == 1 ? "" : "s"),
                "start as many processes on a node as it has devices: two on one would measure each other");
  }
  return *rank.local;
}

}  // namespace ddl
