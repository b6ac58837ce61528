#pragma once

#include <memory>

#include "calibration/network/sweep/transport_module.hpp"

namespace ddl::nccl {

/// Exchanges between GPUs, one per process: among the processes `joined`, or in this process alone if there are none.
[[nodiscard]] std::unique_ptr<Transport> make_transport(Processes* joined, const TransportOptions& options);

}  // namespace ddl::nccl
