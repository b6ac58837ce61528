#include "profiler/measurement/rank.hpp"

#include <map>
#include <string>

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

using namespace ddl;

namespace {

using Variables = std::map<std::string, std::string>;

LaunchedRank rank_of(const Variables& variables) {
  return this_rank([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::string problem_of(const Variables& variables) {
  return error_of([&] { static_cast<void>(rank_of(variables)); });
}

constexpr const char* hint =
    "\nhint: a launcher such as torchrun, mpirun or srun sets this variable; unset the variable if the program runs alone";

}  // namespace

TEST_CASE("a process without a launcher is the only rank") {
  const LaunchedRank rank = rank_of({});
  CHECK(rank.rank == 0);
  CHECK(rank.ranks == 1);
  CHECK_FALSE(rank.local);
  CHECK(rank.launcher.empty());
}

TEST_CASE("the variables of each launcher are read") {
  const auto check = [](const Variables& variables, const std::string& launcher) {
    const LaunchedRank rank = rank_of(variables);
    INFO(launcher);
    CHECK(rank.rank == 5);
    CHECK(rank.ranks == 8);
    CHECK(rank.local == 1);
    CHECK(rank.launcher == launcher);
  };
  check({{"OMPI_COMM_WORLD_RANK", "5"}, {"OMPI_COMM_WORLD_SIZE", "8"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}}, "Open MPI");
  check({{"PMI_RANK", "5"}, {"PMI_SIZE", "8"}, {"MPI_LOCALRANKID", "1"}}, "PMI");
  check({{"PMI_RANK", "5"}, {"PMI_SIZE", "8"}, {"PMI_LOCAL_RANK", "1"}}, "PMI");
  check({{"PMI_RANK", "5"}, {"PMI_SIZE", "8"}, {"SLURM_LOCALID", "1"}}, "PMI");
  check({{"SLURM_PROCID", "5"}, {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_LOCALID", "1"}, {"SLURM_NTASKS", "16"}}, "Slurm");
}

TEST_CASE("the variables of torchrun are read regardless of the program that started it") {
  const Variables own{{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}};
  CHECK(rank_of(own).launcher == "torchrun");
  CHECK(rank_of(own).rank == 5);
  CHECK(rank_of(own).ranks == 8);
  CHECK(rank_of(own).local == 1);
  CHECK(rank_of(own).variables == "$RANK/$WORLD_SIZE");
  // mpirun or srun starts one torchrun on each of two nodes.
  Variables within = own;
  within.insert({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"TORCHELASTIC_RUN_ID", "none"}});
  CHECK(rank_of(within).rank == 5);
  within = own;
  within.insert({{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_LOCALID", "0"}});
  CHECK(rank_of(within).rank == 5);
  // RANK and WORLD_SIZE are set for a program that mpirun starts.
  within = own;
  within.insert({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}});
  CHECK(rank_of(within).launcher == "Open MPI");
  // An incomplete set of variables is an error, unless srun sets all variables that are needed.
  CHECK(problem_of({{"RANK", "0"}}) == std::string("the environment variable RANK is set, but WORLD_SIZE is not") + hint);
  CHECK(problem_of({{"WORLD_SIZE", "4"}}) ==
        std::string("the environment variable WORLD_SIZE is set, but RANK is not") + hint);
  CHECK(rank_of({{"WORLD_SIZE", "16"}, {"SLURM_PROCID", "5"}, {"SLURM_STEP_NUM_TASKS", "8"}}).launcher == "Slurm");
}

TEST_CASE("a shell in an allocation of Slurm is one process") {
  // Slurm sets these variables in the script of sbatch --ntasks=8.
  CHECK(rank_of({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_LOCALID", "0"}, {"SLURM_JOB_ID", "12"}}).ranks == 1);
  // Slurm sets these variables in the shell that salloc opens as a separate step.
  CHECK(
      rank_of({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_LOCALID", "0"}}).ranks ==
      1);
}

TEST_CASE("ranks of mpirun in a step of Slurm have precedence over the step's own rank") {
  // srun starts one daemon of mpirun per node. The daemon's processes inherit its variables.
  const LaunchedRank rank = rank_of({{"SLURM_PROCID", "1"},
                                     {"SLURM_STEP_NUM_TASKS", "2"},
                                     {"SLURM_LOCALID", "0"},
                                     {"OMPI_COMM_WORLD_RANK", "7"},
                                     {"OMPI_COMM_WORLD_SIZE", "8"},
                                     {"OMPI_COMM_WORLD_LOCAL_RANK", "3"}});
  CHECK(rank.rank == 7);
  CHECK(rank.local == 3);
}

TEST_CASE("inconsistent variables are refused") {
  CHECK(problem_of({{"OMPI_COMM_WORLD_RANK", "0"}}) ==
        std::string("the environment variable OMPI_COMM_WORLD_RANK is set, but OMPI_COMM_WORLD_SIZE is not") + hint);
  CHECK(problem_of({{"PMI_SIZE", "4"}}) ==
        std::string("the environment variable PMI_SIZE is set, but PMI_RANK is not") + hint);
  CHECK(problem_of({{"SLURM_STEP_NUM_TASKS", "4"}}) ==
        std::string("the environment variable SLURM_STEP_NUM_TASKS is set, but SLURM_PROCID is not") + hint);
  CHECK(problem_of({{"PMI_RANK", "4"}, {"PMI_SIZE", "4"}}) ==
        std::string("the environment variable PMI_RANK is '4', not a number from 0 to 3") + hint);
  CHECK(problem_of({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "x"}}) ==
        std::string("the environment variable OMPI_COMM_WORLD_LOCAL_RANK is 'x', not a number from 0 to 3") + hint);
  for (const char* wrong : {"", " 1", "1 ", "-1", "+1", "1.0", "0x1", "99999999999", "4"}) {
    INFO(wrong);
    CHECK(problem_of({{"PMI_RANK", wrong}, {"PMI_SIZE", "4"}}).starts_with("the environment variable PMI_RANK is '"));
  }
  for (const char* wrong : {"", "0", "-4", "four", "1000001"}) {
    INFO(wrong);
    CHECK(problem_of({{"PMI_RANK", "0"}, {"PMI_SIZE", wrong}}).starts_with("the environment variable PMI_SIZE is '"));
  }
}

TEST_CASE("a rank uses the device of its local number") {
  const LaunchedRank third{.rank = 6, .ranks = 8, .local = 2, .launcher = "Open MPI"};
  CHECK(device_of(third, 4, false) == 2);
  CHECK(device_of(third, 1, true) == 0);
  CHECK(device_of(LaunchedRank(), 4, false) == 0);
  CHECK(error_of([&] { static_cast<void>(device_of(third, 2, false)); }) ==
        "rank 6 has local rank 2, but its node has 2 devices\nhint: start one process per device of a node: two on one "
        "device would disturb each other");
  LaunchedRank unplaced = third;
  unplaced.local.reset();
  CHECK(error_of([&] {
          static_cast<void>(device_of(unplaced, 8, false));
        }).starts_with("Open MPI does not set the local rank of rank 6"));
  LaunchedRank bound = third;
  bound.own_device = true;
  CHECK(device_of(bound, 1, false) == 0);
  CHECK(device_of(bound, 4, false) == 2);
}
