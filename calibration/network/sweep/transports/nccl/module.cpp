#include "calibration/network/sweep/transport_module.hpp"
#include "calibration/network/sweep/transports/nccl/transport.hpp"

extern "C" __attribute__((visibility("default")))
const ddl::TransportModule ddl_transport_nccl{.open = ddl::nccl::make_transport};
