#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "calibration/network/sweep/step_timing.hpp"
#include "core/quantity.hpp"

namespace ddl {

/// Times of kernels and of an exchange, each alone and concurrently, as means over the ranks.
struct Overlap {
  std::string kernel{};
  std::int64_t bytes = 0;  ///< bytes of the Allreduce
  int ranks = 1;
  Seconds kernel_alone{}, kernel_overlapped{};
  Seconds exchange_alone{}, exchange_overlapped{};
};

/// The kernels that this process runs on its device, with their name.
struct NamedLoad {
  std::unique_ptr<DeviceLoad> load;
  std::string name;
};
using LoadMaker = std::function<NamedLoad()>;

/// Times an Allreduce of all ranks while each rank runs kernels repeatedly. Throws AgreedError if the kernels of a process
/// cannot be prepared, or fail.
[[nodiscard]] Overlap sweep_overlap(Transport& transport, std::int64_t bytes, const TimingRule& rule, const LoadMaker& make);

}  // namespace ddl
