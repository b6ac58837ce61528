#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "calibration/network/sweep/step_timing.hpp"
#include "core/quantity.hpp"

namespace ddl {

/// Kernels and an exchange, each alone and concurrently. Means over the ranks.
struct Overlap {
  std::string kernel{};
  std::int64_t bytes = 0;  ///< bytes of the Allreduce
  int ranks = 1;
  Seconds kernel_alone{}, kernel_beside{};
  Seconds exchange_alone{}, exchange_beside{};
};

/// The load of this process's device, with its name.
struct NamedLoad {
  std::unique_ptr<DeviceLoad> load;
  std::string name;
};
using LoadMaker = std::function<NamedLoad()>;

/// An Allreduce of all ranks while each runs kernels repeatedly. An AgreedError if the kernels of a process cannot be
/// prepared, or fail.
[[nodiscard]] Overlap sweep_overlap(Transport& transport, std::int64_t bytes, const TimingRule& rule, const LoadMaker& make);

}  // namespace ddl
