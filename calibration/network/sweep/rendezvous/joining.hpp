#pragma once

#include <string>
#include <vector>

#include "calibration/network/sweep/rendezvous/connection.hpp"
#include "calibration/network/sweep/rendezvous/meeting_place.hpp"
#include "core/quantity.hpp"

namespace ddl {

/// A rank and its location, which the rank sends when it connects.
struct PeerInfo {
  int rank = 0, ranks = 1;
  std::string node;     ///< identifies the machine: processes on one machine have the same value
  std::string name;     ///< name of the machine
  std::string run;      ///< id of the launch that the launcher gives
  std::string version;  ///< version of the program
};
/// The information about this process. Machines are identified as in NCCL: by NCCL_HOSTID, else by host name and the
/// kernel's boot id.
[[nodiscard]] PeerInfo peer_info_of(const LaunchedRank& rank, const std::string& run, const Environment& environment);

/// The connections of ranks that have joined.
struct Joined {
  std::vector<Connection> others{};  ///< in rank 0: connections to all other ranks; else: to rank 0
  std::vector<int> nodes{};          ///< node of each rank, from 0 in the order of the nodes' first ranks
  std::vector<std::string> node_names{};
};

/// Waits, in rank 0, until all other ranks have connected. Throws Error if some ranks do not
/// connect within `patience`, or if a rank connects twice, has a different number of ranks, or runs
/// another version. The connected ranks receive the reason. Other connections are rejected.
[[nodiscard]] Joined host_ranks(const PeerInfo& self, const MeetingPlace& place, Seconds patience);

/// Connects this rank to rank 0, and waits until all ranks have joined. Rank 0 may start later. Throws Error if there is no
/// answer in time, if another program answers, or if rank 0 sends a refusal.
[[nodiscard]] Joined join_host(const PeerInfo& self, const MeetingPlace& place, Seconds patience);

/// Returns a list of ranks as text: `rank 3`, `ranks 1, 2 and 5`.
[[nodiscard]] std::string name_ranks(const std::vector<int>& ranks);

/// Sends the reason why all processes must end. Processes that cannot be reached soon are skipped.
void send_end(std::vector<Connection>& to, const std::string& what, const std::string& hint);

}  // namespace ddl
