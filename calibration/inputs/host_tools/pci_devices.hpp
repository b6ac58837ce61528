#pragma once

#include <string_view>

namespace ddl {

/// The name of the device with this PCI number, such as `0x74a1`; empty if calibration/devices/pci-numbers.yaml lacks it.
[[nodiscard]] std::string_view device_of_pci_number(std::string_view number);

}  // namespace ddl
