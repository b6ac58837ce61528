#pragma once

#include <memory>
#include <string>

#include "calibration/sweep/transport.hpp"

namespace ddl {

/// MPI, among the processes that its launcher started. An Error where the module or the library is missing.
[[nodiscard]] std::unique_ptr<Transport> open_mpi();
/// NCCL, one rank for each GPU. The processes find each other by MPI where a launcher started several.
[[nodiscard]] std::unique_ptr<Transport> open_nccl();
/// A network of known figures that does not exist (parse_simulated_network), all of whose ranks this process plays.
[[nodiscard]] std::unique_ptr<Transport> open_simulated_network(const std::string& figures, const std::string& origin);

}  // namespace ddl
