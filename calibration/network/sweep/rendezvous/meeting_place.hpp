#pragma once

#include <optional>
#include <string>

#include "profiler/measurement/rank.hpp"

namespace ddl {

/// Where the processes of one launch find each other: rank 0 listens there, all others connect.
struct MeetingPlace {
  std::string host;  ///< rank 0's, as the others know it
  int port = 0;
  std::string run{};  ///< of the launcher, so that ranks of another launch are told apart; empty where it has no name
  friend bool operator==(const MeetingPlace&, const MeetingPlace&) = default;
};

/// Where `asked` says, as in `node1:29500`, where it is not empty. Else by the environment:
///
/// - MASTER_ADDR and MASTER_PORT, whoever set them. Where torchrun's agent listens on that port itself
///   (TORCHELASTIC_USE_AGENT_STORE=True) it is the next port.
/// - srun: the first host of SLURM_STEP_NODELIST, where rank 0 is, and a port that follows from the numbers of job and step;
///   either may be said by MASTER_ADDR or MASTER_PORT. SLURM_LAUNCH_NODE_IPADDR is where srun ran, which counts only where
///   the list cannot be read.
///
/// Nothing where the environment does not say it. An Error where it says half of it, or what is no address.
[[nodiscard]] std::optional<MeetingPlace> meeting_place(const LaunchedRank& rank, const std::string& asked,
                                                        const Environment& environment = process_environment());

}  // namespace ddl
