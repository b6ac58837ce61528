#pragma once

#include <memory>

#include "calibration/network/sweep/transport.hpp"

namespace ddl::mpi {

/// Creates the transport for exchanges among all ranks of MPI_COMM_WORLD. Initializes MPI; the
/// destructor of the transport finalizes MPI.
[[nodiscard]] std::unique_ptr<Transport> make_transport();

}  // namespace ddl::mpi
