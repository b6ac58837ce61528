// An Allreduce sweep as an MPI program for SimGrid's SMPI, independent of the oracle. Usage: sweep
// GROUPS BYTES.... Rank r is in group r mod GROUPS, and all groups communicate at once. For each
// size, the program prints groups, ranks of a group, bytes, and seconds of the slowest rank.
#include <cstdio>
#include <cstdlib>

#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 3) MPI_Abort(MPI_COMM_WORLD, 2);
  const int groups = std::atoi(argv[1]);
  MPI_Comm group = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % groups, rank, &group);
  for (int i = 2; i < argc; ++i) {
    const int count = std::atoi(argv[i]) / static_cast<int>(sizeof(float));
    // All simulated ranks share one allocation, because its content does not matter.
    auto* mine = static_cast<float*>(SMPI_SHARED_MALLOC(count * sizeof(float)));
    auto* sum = static_cast<float*>(SMPI_SHARED_MALLOC(count * sizeof(float)));
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    MPI_Allreduce(mine, sum, count, MPI_FLOAT, MPI_SUM, group);
    const double own = MPI_Wtime() - start;
    double slowest = 0;
    MPI_Reduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) std::printf("sweep %d %d %s %.9f\n", groups, size / groups, argv[i], slowest);
    SMPI_SHARED_FREE(mine);
    SMPI_SHARED_FREE(sum);
  }
  MPI_Comm_free(&group);
  MPI_Finalize();
  return 0;
}
