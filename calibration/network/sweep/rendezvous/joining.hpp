#pragma once

#include <string>
#include <vector>

#include "calibration/network/sweep/rendezvous/connection.hpp"
#include "calibration/network/sweep/rendezvous/meeting_place.hpp"
#include "core/quantity.hpp"

namespace ddl {

/// A rank, and where it is. What it says when it comes.
struct Comer {
  int rank = 0, ranks = 1;
  std::string node;     ///< the same for processes of one machine, and for no others
  std::string name;     ///< of the machine
  std::string run;      ///< of the launcher
  std::string version;  ///< of the program
};
/// This process. NCCL tells machines apart by NCCL_HOSTID, else by host name and the kernel's boot id: so do we.
[[nodiscard]] Comer comer_of(const LaunchedRank& rank, const std::string& run, const Environment& environment);

/// Ranks that have found each other.
struct Joined {
  std::vector<Connection> others{};  ///< of rank 0, by rank from 1; of the others, rank 0 alone
  std::vector<int> nodes{};          ///< of each rank, from 0 in the order of their first ranks
  std::vector<std::string> node_names{};
};

/// Rank 0 waits so long for all others. An Error where some do not come, where one comes twice, where one thinks that there
/// are more or fewer of them, or runs another version: those that have come are told why. What else connects is sent away.
[[nodiscard]] Joined host_ranks(const Comer& self, const MeetingPlace& place, Seconds patience);

/// Another rank looks for rank 0, which may come later, and waits until all are there. An Error where nobody answers in that
/// time, where somebody else does, or where rank 0 says why not.
[[nodiscard]] Joined join_host(const Comer& self, const MeetingPlace& place, Seconds patience);

/// `rank 3`, `ranks 1, 2 and 5`.
[[nodiscard]] std::string name_ranks(const std::vector<int>& ranks);

/// Tells why all must end, to whom it can be told soon.
void send_end(std::vector<Connection>& to, const std::string& what, const std::string& hint);

}  // namespace ddl
