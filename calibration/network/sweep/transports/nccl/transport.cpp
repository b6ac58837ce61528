#include "calibration/network/sweep/transports/nccl/transport.hpp"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "calibration/network/sweep/gathered_numbers.hpp"
#include "calibration/network/sweep/transports/nccl/checked.hpp"
#include "calibration/network/sweep/transports/nccl/communicators.hpp"
#include "core/error.hpp"
#include "profiler/measurement/rank.hpp"

namespace ddl::nccl {
namespace {

/// Selects the GPU of this process as the current one.
int take_device() {
  int devices = 0;
  check(cudaGetDeviceCount(&devices), "counting GPUs");
  if (devices == 0) throw Error("there is no GPU for NCCL here", "--mpi measures between processors");
  const int device = device_of(this_rank(), devices, false);
  check(cudaSetDevice(device), fmt::format("selecting GPU {}", device));
  return device;
}

class NcclTransport final : public Transport {
 public:
  NcclTransport(Processes* joined, const TransportOptions& options)
      : processes_(joined == nullptr ? alone_ : *joined),
        is_in_place_(options.in_place),
        device_(take_device()),
        communicators_(device_, processes_, options) {}

  [[nodiscard]] std::string name() const override { return "NCCL"; }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> details() const override {
    int number = 0;
    check(ncclGetVersion(&number), "reading the version");
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, device_), "properties of the GPU");
    return {{"library", fmt::format("NCCL {}.{}.{}", number / 10000, number / 100 % 100, number % 100)},
            {"device", properties.name},
            {"buffers", is_in_place_ ? "in place" : "separate"}};
  }
  [[nodiscard]] Processes& processes() override { return processes_; }
  [[nodiscard]] const std::vector<int>& nodes() const override { return processes_.nodes(); }

  [[nodiscard]] std::vector<std::vector<Seconds>> time(const ExchangeStep& step, int repetitions) override {
    const std::vector<double> all = gather_numbers(processes_, communicators_.time(step, repetitions));
    std::vector<std::vector<Seconds>> times;
    for (const std::vector<int>& ranks : step.groups) {
      std::vector<Seconds>& of_group = times.emplace_back();
      for (const int rank : ranks) of_group.emplace_back(all[static_cast<std::size_t>(rank)]);
    }
    return times;
  }

 private:
  SoleProcess alone_;
  Processes& processes_;
  bool is_in_place_;
  int device_;
  Communicators communicators_;
};

}  // namespace

std::unique_ptr<Transport> make_transport(Processes* joined, const TransportOptions& options) {
  return std::make_unique<NcclTransport>(joined, options);
}

}  // namespace ddl::nccl
