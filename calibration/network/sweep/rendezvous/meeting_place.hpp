#pragma once

#include <optional>
#include <string>

#include "profiler/measurement/rank.hpp"

namespace ddl {

/// The address at which the processes of one launch meet: rank 0 listens there, and all others connect.
struct MeetingPlace {
  std::string host;  ///< host of rank 0, by the name that other hosts use
  int port = 0;
  std::string run{};  ///< id of the launch, to detect ranks of another launch; empty if it has none
  friend bool operator==(const MeetingPlace&, const MeetingPlace&) = default;
};

/// Returns the address in `asked`, such as `node1:29500`. If `asked` is empty, the address follows
/// from the environment:
///
/// - MASTER_ADDR and MASTER_PORT, set by any launcher. If torchrun's agent itself listens on that port
///   (TORCHELASTIC_USE_AGENT_STORE=True), the next port is used.
/// - srun: the first host of SLURM_STEP_NODELIST, where rank 0 runs, and a port derived from the numbers of job and step.
///   MASTER_ADDR overrides the host, and MASTER_PORT overrides the port. SLURM_LAUNCH_NODE_IPADDR, the host on which srun
///   ran, is used only if the list cannot be parsed.
///
/// Empty if the environment does not define an address. Throws Error if the address is incomplete or invalid.
[[nodiscard]] std::optional<MeetingPlace> meeting_place(const LaunchedRank& rank, const std::string& asked,
                                                        const Environment& environment = process_environment());

}  // namespace ddl
