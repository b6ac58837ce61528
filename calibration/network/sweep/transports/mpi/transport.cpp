#include "calibration/network/sweep/transports/mpi/transport.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <thread>
#include <utility>

#include <mpi.h>

#include "calibration/network/sweep/transports/mpi/checked.hpp"
#include "calibration/network/sweep/transports/mpi/exchanges.hpp"
#include "calibration/network/sweep/transports/mpi/processes.hpp"

namespace ddl::mpi {
namespace {

/// The role of this rank in concurrent groups: its group, and the communicator of all groups.
struct Part {
  int group = -1;  ///< -1: this rank is in no group
  MPI_Comm own = MPI_COMM_NULL;
  MPI_Comm active = MPI_COMM_NULL;
};

class MpiTransport final : public Transport {
 public:
  [[nodiscard]] std::string name() const override { return "MPI"; }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> details() const override {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    check(MPI_Get_library_version(text.data(), &length), "reading the version");
    std::string version(text.data(), static_cast<std::size_t>(length));
    // Some versions append a description of how the library was built.
    version.resize(std::min({version.size(), version.find(','), version.find('\n')}));
    return {{"library", version}};
  }
  [[nodiscard]] Processes& processes() override { return processes_; }
  [[nodiscard]] const std::vector<int>& nodes() const override { return processes_.nodes(); }

  [[nodiscard]] std::vector<std::vector<Seconds>> time(const ExchangeStep& step, int repetitions) override {
    const Part& part = part_in(step.groups);
    double mine = 0;
    if (part.group >= 0) {
      // All groups start together, after the ranks without a group have started to sleep.
      if (step.groups.size() > 1) check(MPI_Barrier(part.active), "a barrier");
      mine = run_exchange(step.operation, step.bytes, step.window, repetitions, part.own, buffers_);
    }
    const std::vector<double> all = gather(mine, part.group < 0);
    std::vector<std::vector<Seconds>> times;
    for (const std::vector<int>& group : step.groups) {
      std::vector<Seconds>& of_group = times.emplace_back();
      for (const int rank : group) of_group.emplace_back(all[static_cast<std::size_t>(rank)]);
    }
    return times;
  }

 private:
  const Part& part_in(const std::vector<std::vector<int>>& groups) {
    const auto known = parts_.find(groups);
    if (known != parts_.end()) return known->second;
    Part part;
    int place = 0;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const auto found = std::find(groups[g].begin(), groups[g].end(), processes_.rank());
      if (found == groups[g].end()) continue;
      part.group = static_cast<int>(g);
      place = static_cast<int>(found - groups[g].begin());
    }
    const bool is_active = part.group >= 0;
    check(MPI_Comm_split(MPI_COMM_WORLD, is_active ? part.group : MPI_UNDEFINED, place, &part.own),
          "creating a communicator");
    check(MPI_Comm_split(MPI_COMM_WORLD, is_active ? 0 : MPI_UNDEFINED, processes_.rank(), &part.active),
          "creating a communicator");
    return parts_.emplace(groups, part).first->second;
  }

  /// Gathers a number by rank. An idle rank polls only now and then, so that CPU and network are free for other ranks.
  std::vector<double> gather(double mine, bool idle) {
    std::vector<double> all(processes_.nodes().size());
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Iallgather(&mine, 1, MPI_DOUBLE, all.data(), 1, MPI_DOUBLE, MPI_COMM_WORLD, &request), "gathering times");
    for (int done = idle ? 0 : 1; done == 0;) {
      check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "gathering times");
      if (done == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    // Returns immediately if a test has found that the request is done.
    check(MPI_Wait(&request, MPI_STATUS_IGNORE), "gathering times");
    return all;
  }

  MpiProcesses processes_;
  std::map<std::vector<std::vector<int>>, Part> parts_;
  Buffers buffers_;
};

}  // namespace

std::unique_ptr<Transport> make_transport() { return std::make_unique<MpiTransport>(); }

}  // namespace ddl::mpi
