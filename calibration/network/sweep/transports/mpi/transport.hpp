#pragma once

#include <memory>

#include "calibration/network/sweep/transport.hpp"

namespace ddl::mpi {

/// Exchanges among all ranks of MPI_COMM_WORLD. Initializes MPI, and finalizes it with the transport.
[[nodiscard]] std::unique_ptr<Transport> make_transport();

}  // namespace ddl::mpi
