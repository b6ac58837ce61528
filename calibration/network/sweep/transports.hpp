#pragma once

#include <memory>
#include <string>

#include "calibration/network/sweep/transport.hpp"
#include "calibration/network/sweep/transport_module.hpp"
#include "profiler/measurement/rank.hpp"

namespace ddl {

/// How the processes of a launch join for a library that cannot do it itself.
struct JoiningOptions {
  /// `mpi`, `HOST:PORT` on which rank 0 listens, or empty: by MPI if its launcher started them and this program supports it,
  /// else by TCP at the address defined by the environment (meeting_place).
  std::string rendezvous{};
};

/// MPI, among the processes that its launcher started. An Error if the module or the library is missing.
[[nodiscard]] std::unique_ptr<Transport> open_mpi();
/// NCCL, one rank per GPU. An Error, the same in all processes, if one of them cannot take part; and if the environment
/// shows that this process is one of several of an unknown launcher, in which case each would measure the first GPU.
[[nodiscard]] std::unique_ptr<Transport> open_nccl(const JoiningOptions& joining = {}, const TransportOptions& options = {});
/// A warning for a process that measures alone although it is in an allocation of several; else empty.
[[nodiscard]] std::string warning_of_being_alone(const Environment& environment = process_environment());
/// A simulated network with known parameters (parse_simulated_network); this process plays all of its ranks.
[[nodiscard]] std::unique_ptr<Transport> open_simulated_network(const std::string& figures, const std::string& origin);

}  // namespace ddl
