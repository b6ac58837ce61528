#include "calibration/network/sweep/transports/nccl/communicators.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <string>
#include <thread>
#include <utility>

#include "calibration/network/sweep/transports/nccl/checked.hpp"
#include "calibration/network/sweep/transports/nccl/watched_work.hpp"
#include "core/error.hpp"

namespace ddl::nccl {
namespace {

/// Aborting communicators takes milliseconds, unless the GPU does not respond.
constexpr Seconds to_abort(10);
/// How long to wait for the messages of other processes that have failed and ended.
constexpr std::chrono::milliseconds to_hear_of_others(500);

}  // namespace

struct Communicators::Device {
  class Stream {
   public:
    // The stream is non-blocking, so that kernels may run concurrently in other streams.
    Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream"); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    ~Stream() {
      if (stream_ != nullptr) static_cast<void>(cudaStreamDestroy(stream_));
    }
    [[nodiscard]] cudaStream_t get() const { return stream_; }
    void forget() { stream_ = nullptr; }

   private:
    cudaStream_t stream_ = nullptr;
  };

  explicit Device(int which) : number(which) {}
  int number;
  Stream stream;
  Buffers buffers;
  std::atomic<bool> is_given_up = false;
};

Communicators::Communicators(int device, Processes& processes, const TransportOptions& options)
    : processes_(processes), options_(options), device_(std::make_shared<Device>(device)) {}

Communicators::~Communicators() {
  if (abort_communicators()) return;
  // Calls that would wait for the device are avoided.
  device_->buffers.forget();
  device_->stream.forget();
}

bool Communicators::abort_communicators() noexcept {
  device_->is_given_up = true;
  std::vector<ncclComm_t> all;
  try {
    for (auto& [groups, group] : groups_) {
      if (group.communicator != nullptr) all.push_back(std::exchange(group.communicator, nullptr));
    }
    if (all.empty()) return true;
    return is_done_within(to_abort, [all = std::move(all), device = device_] {
      static_cast<void>(cudaSetDevice(device->number));
      for (ncclComm_t each : all) static_cast<void>(ncclCommAbort(each));
    });
  } catch (const std::exception&) {  // no memory for another thread
    return false;
  }
}

void Communicators::watch(const char* name, std::function<void(Device&)> work, ncclComm_t communicator) {
  try {
    run_watched({.work =
                     [device = device_, work = std::move(work)] {
                       check(cudaSetDevice(device->number), "selecting its GPU");
                       work(*device);
                     },
                 .name = name,
                 .limit = options_.patience,
                 .look =
                     [&] {
                       processes_.look();
                       if (communicator == nullptr) return;
                       ncclResult_t status = ncclSuccess;
                       check(ncclCommGetAsyncError(communicator, &status), "checking for errors", communicator);
                       if (status != ncclInProgress) check(status, name, communicator);
                     },
                 .give_up = [&] { static_cast<void>(abort_communicators()); }});
  } catch (const EndedElsewhere&) {
    throw;
  } catch (const Error&) {
    // If another rank caused the failure, the message of that rank, or of the rank that detected the failure, is more
    // useful.
    const auto until = std::chrono::steady_clock::now() + to_hear_of_others;
    while (processes_.count() > 1 && std::chrono::steady_clock::now() < until) {
      processes_.look();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    throw;
  }
}

double Communicators::time(const ExchangeStep& step, int repetitions) {
  const Group& group = group_in(step.groups);
  if (step.groups.size() > 1) static_cast<void>(processes_.gather(""));  // synchronizes all groups
  if (group.communicator == nullptr) return 0;
  const auto seconds = std::make_shared<double>(0);
  watch(
      "an exchange",
      [=](Device& device) {
        *seconds = run_exchange(step.operation, step.bytes, step.window, repetitions, group, device.buffers);
      },
      group.communicator);
  return *seconds;
}

const Group& Communicators::group_in(const std::vector<std::vector<int>>& groups) {
  const auto known = groups_.find(groups);
  if (known != groups_.end()) return known->second;
  const std::vector<int>* ours = nullptr;
  Group group{.stream = device_->stream.get(), .in_place = options_.in_place, .is_given_up = &device_->is_given_up};
  for (const std::vector<int>& ranks : groups) {
    const auto found = std::find(ranks.begin(), ranks.end(), processes_.rank());
    if (found == ranks.end()) continue;
    ours = &ranks;
    group.rank = static_cast<int>(found - ranks.begin());
    group.ranks = static_cast<int>(ranks.size());
  }
  // The first rank of each group creates the id with which the others join.
  const auto id = std::make_shared<ncclUniqueId>();
  std::string made;
  if (ours != nullptr && group.rank == 0) {
    watch(
        "creating a communicator's ID", [id](Device&) { check(ncclGetUniqueId(id.get()), "creating a communicator's ID"); },
        nullptr);
    made.assign(id->internal, sizeof id->internal);
  }
  const std::vector<std::string> names = processes_.gather(made);
  if (ours != nullptr) {
    const std::string& name = names[static_cast<std::size_t>(ours->front())];
    std::memcpy(id->internal, name.data(), std::min(name.size(), sizeof id->internal));
    const auto communicator = std::make_shared<ncclComm_t>();
    watch(
        "joining a communicator",
        [=, ranks = group.ranks, rank = group.rank](Device&) {
          check(ncclCommInitRank(communicator.get(), ranks, *id, rank), "joining a communicator");
        },
        nullptr);
    group.communicator = *communicator;
  }
  return groups_.emplace(groups, group).first->second;
}

}  // namespace ddl::nccl
