#pragma once

#include <memory>
#include <string>

#include "calibration/network/sweep/transport.hpp"
#include "calibration/network/sweep/transport_module.hpp"
#include "profiler/measurement/rank.hpp"

namespace ddl {

/// How the processes of a launch join, for libraries that cannot join processes.
struct JoiningOptions {
  /// `mpi`, or the `HOST:PORT` on which rank 0 listens, or empty. If empty, processes that an MPI
  /// launcher started join by MPI, provided that this program supports MPI. All other processes
  /// join by TCP, at the address that the environment defines (meeting_place).
  std::string rendezvous{};
};

/// Opens MPI, with the processes that its launcher started. Throws Error if the module or the library is missing.
[[nodiscard]] std::unique_ptr<Transport> open_mpi();
/// Opens NCCL, with one rank per GPU. Throws the same Error in all processes if one of them cannot take part. Also throws
/// Error if an unknown launcher started several processes, because each of them would then measure the first GPU.
[[nodiscard]] std::unique_ptr<Transport> open_nccl(const JoiningOptions& joining = {}, const TransportOptions& options = {});
/// Returns a warning if this process measures alone although its allocation has several processes; otherwise empty.
[[nodiscard]] std::string warning_of_being_alone(const Environment& environment = process_environment());
/// Opens a simulated network with known parameters (parse_simulated_network). This process simulates all of its ranks.
[[nodiscard]] std::unique_ptr<Transport> open_simulated_network(const std::string& figures, const std::string& origin);

}  // namespace ddl
