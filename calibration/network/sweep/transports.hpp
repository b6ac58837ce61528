#pragma once

#include <memory>
#include <string>

#include "calibration/network/sweep/transport.hpp"
#include "calibration/network/sweep/transport_module.hpp"
#include "profiler/measurement/rank.hpp"

namespace ddl {

/// How processes that a launcher started find each other for a library that cannot do it itself.
struct JoiningOptions {
  /// `mpi`, `HOST:PORT` where rank 0 listens, or empty: by MPI where its launcher started them and this program has it, else
  /// by TCP at the place that the environment says (meeting_place).
  std::string rendezvous{};
};

/// MPI, among the processes that its launcher started. An Error where the module or the library is missing.
[[nodiscard]] std::unique_ptr<Transport> open_mpi();
/// NCCL, one rank for each GPU. An Error, the same in all processes, where one of them cannot take part; and where this
/// process is one of several by the environment of a launcher that is not known, so that each would measure the first GPU.
[[nodiscard]] std::unique_ptr<Transport> open_nccl(const JoiningOptions& joining = {}, const TransportOptions& options = {});
/// What to know of a process that measures alone: empty, or that it is in an allocation of several.
[[nodiscard]] std::string warning_of_being_alone(const Environment& environment = process_environment());
/// A network of known figures that does not exist (parse_simulated_network), all of whose ranks this process plays.
[[nodiscard]] std::unique_ptr<Transport> open_simulated_network(const std::string& figures, const std::string& origin);

}  // namespace ddl
