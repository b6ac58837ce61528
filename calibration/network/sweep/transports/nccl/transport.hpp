#pragma once

#include <memory>

#include "calibration/network/sweep/transport_module.hpp"

namespace ddl::nccl {

/// Exchanges between GPUs, one per process: the processes `beside`, or this process alone.
[[nodiscard]] std::unique_ptr<Transport> make_transport(Processes* beside, const TransportOptions& options);

}  // namespace ddl::nccl
