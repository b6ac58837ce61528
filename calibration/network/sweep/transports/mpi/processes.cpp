#include "calibration/network/sweep/transports/mpi/processes.hpp"

#include <array>
#include <cstddef>

#include "calibration/network/sweep/transports/mpi/checked.hpp"

namespace ddl::mpi {

MpiProcesses::MpiProcesses() {
  int threads = 0;
  // Kernels may run in another thread, but only this thread calls MPI.
  check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &threads), "the start");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int count = 1;
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "the rank");
  check(MPI_Comm_size(MPI_COMM_WORLD, &count), "the number of ranks");
  nodes_.resize(static_cast<std::size_t>(count));
  find_nodes();
}

MpiProcesses::~MpiProcesses() { MPI_Finalize(); }

void MpiProcesses::find_nodes() {
  MPI_Comm node = MPI_COMM_NULL;
  check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node),
        "finding the ranks of a node");
  int first = rank_;
  check(MPI_Bcast(&first, 1, MPI_INT, 0, node), "finding the ranks of a node");
  MPI_Comm_free(&node);
  std::vector<int> firsts(nodes_.size());
  check(MPI_Allgather(&first, 1, MPI_INT, firsts.data(), 1, MPI_INT, MPI_COMM_WORLD), "finding the nodes");
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  check(MPI_Get_processor_name(name.data(), &length), "the node's name");
  const std::vector<std::string> names = gather(std::string(name.data(), static_cast<std::size_t>(length)));
  std::vector<int> number(nodes_.size(), -1);
  for (std::size_t rank = 0; rank < nodes_.size(); ++rank) {
    int& here = number[static_cast<std::size_t>(firsts[rank])];
    if (here < 0) {
      here = static_cast<int>(node_names_.size());
      node_names_.push_back(names[rank]);
    }
    nodes_[rank] = here;
  }
}

std::vector<std::string> MpiProcesses::gather(const std::string& text) {
  const std::size_t count = nodes_.size();
  const int mine = static_cast<int>(text.size());
  std::vector<int> lengths(count), starts(count);
  check(MPI_Allgather(&mine, 1, MPI_INT, lengths.data(), 1, MPI_INT, MPI_COMM_WORLD), "gathering the text of all ranks");
  int all = 0;
  for (std::size_t rank = 0; rank < count; ++rank) {
    starts[rank] = all;
    all += lengths[rank];
  }
  std::string joined(static_cast<std::size_t>(all), '\0');
  check(MPI_Allgatherv(text.data(), mine, MPI_CHAR, joined.data(), lengths.data(), starts.data(), MPI_CHAR, MPI_COMM_WORLD),
        "gathering the text of all ranks");
  std::vector<std::string> said;
  for (std::size_t rank = 0; rank < count; ++rank) {
    said.push_back(joined.substr(static_cast<std::size_t>(starts[rank]), static_cast<std::size_t>(lengths[rank])));
  }
  return said;
}

void MpiProcesses::abort_all() noexcept {
  constexpr int could_not_answer = 2;
  MPI_Abort(MPI_COMM_WORLD, could_not_answer);
}

}  // namespace ddl::mpi
