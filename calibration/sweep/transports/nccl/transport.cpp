#include "calibration/sweep/transports/nccl/transport.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "calibration/sweep/gathered_numbers.hpp"
#include "calibration/sweep/transports/nccl/checked.hpp"
#include "calibration/sweep/transports/nccl/exchanges.hpp"
#include "core/error.hpp"
#include "profiler/rank.hpp"

namespace ddl::nccl {
namespace {

class Stream {
 public:
  // Not one that waits for the streams of others: kernels may run beside.
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream"); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { static_cast<void>(cudaStreamDestroy(stream_)); }
  [[nodiscard]] cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// The GPU of this process, which is the current one from then on.
int take_device() {
  int devices = 0;
  check(cudaGetDeviceCount(&devices), "looking for GPUs");
  if (devices == 0) throw Error("there is no GPU for NCCL here", "--mpi measures between processors");
  const int device = device_of(this_rank(), devices, false);
  check(cudaSetDevice(device), fmt::format("taking GPU {}", device));
  return device;
}

class NcclTransport final : public Transport {
 public:
  explicit NcclTransport(Processes* beside) : processes_(beside == nullptr ? alone_ : *beside), device_(take_device()) {}
  ~NcclTransport() override {
    for (const auto& [groups, group] : groups_) {
      if (group.communicator != nullptr) static_cast<void>(ncclCommDestroy(group.communicator));
    }
  }

  [[nodiscard]] std::string name() const override { return "NCCL"; }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> details() const override {
    int number = 0;
    check(ncclGetVersion(&number), "its version");
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, device_), "properties of the GPU");
    return {{"library", fmt::format("NCCL {}.{}.{}", number / 10000, number / 100 % 100, number % 100)},
            {"device", properties.name}};
  }
  [[nodiscard]] Processes& processes() override { return processes_; }
  [[nodiscard]] const std::vector<int>& nodes() const override { return processes_.nodes(); }

  [[nodiscard]] std::vector<std::vector<Seconds>> time(const ExchangeStep& step, int repetitions) override {
    const Group& group = group_in(step.groups);
    if (step.groups.size() > 1) static_cast<void>(processes_.gather(""));  // together
    double mine = 0;
    if (group.communicator != nullptr) {
      mine = run_exchange(step.operation, step.bytes, step.window, repetitions, group, buffers_);
    }
    const std::vector<double> all = gather_numbers(processes_, mine);
    std::vector<std::vector<Seconds>> times;
    for (const std::vector<int>& ranks : step.groups) {
      std::vector<Seconds>& of_group = times.emplace_back();
      for (const int rank : ranks) of_group.emplace_back(all[static_cast<std::size_t>(rank)]);
    }
    return times;
  }

 private:
  /// This rank's; without communicator where it is in none.
  const Group& group_in(const std::vector<std::vector<int>>& groups) {
    const auto known = groups_.find(groups);
    if (known != groups_.end()) return known->second;
    const std::vector<int>* ours = nullptr;
    Group group{.stream = stream_.get()};
    for (const std::vector<int>& ranks : groups) {
      const auto found = std::find(ranks.begin(), ranks.end(), processes_.rank());
      if (found == ranks.end()) continue;
      ours = &ranks;
      group.rank = static_cast<int>(found - ranks.begin());
      group.ranks = static_cast<int>(ranks.size());
    }
    // The first rank of each group makes the name by which the others find it.
    ncclUniqueId id{};
    std::string made;
    if (ours != nullptr && group.rank == 0) {
      check(ncclGetUniqueId(&id), "naming a group");
      made.assign(id.internal, sizeof id.internal);
    }
    const std::vector<std::string> names = processes_.gather(made);
    if (ours != nullptr) {
      const std::string& name = names[static_cast<std::size_t>(ours->front())];
      std::memcpy(id.internal, name.data(), std::min(name.size(), sizeof id.internal));
      check(ncclCommInitRank(&group.communicator, group.ranks, id, group.rank), "joining a group");
    }
    return groups_.emplace(groups, group).first->second;
  }

  SoleProcess alone_;
  Processes& processes_;
  int device_;
  Stream stream_;
  Buffers buffers_;
  std::map<std::vector<std::vector<int>>, Group> groups_;
};

}  // namespace

std::unique_ptr<Transport> make_transport(Processes* beside) { return std::make_unique<NcclTransport>(beside); }

}  // namespace ddl::nccl
