#pragma once

#include <memory>

#include "calibration/network/sweep/transport_module.hpp"

namespace ddl::nccl {

/// Exchanges between GPUs, one per process. The processes are `joined`, or this process alone if there are none.
[[nodiscard]] std::unique_ptr<Transport> make_transport(Processes* joined, const TransportOptions& options);

}  // namespace ddl::nccl
