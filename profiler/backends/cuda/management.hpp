#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ddl::cuda {

/// Driver, clocks, power and what slows the device down, by NVIDIA's management library, which comes with the driver and is
/// opened when it is asked: nothing where it is not there. `bus` is CUDA's PCI bus id.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> management_details(const std::string& bus);

/// The names of the bits that NVML gives as reasons for lower clocks, `none` for 0. Bits without a name are left out.
[[nodiscard]] std::string slowdown_names(unsigned long long bits);

}  // namespace ddl::cuda
