#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/network/sweep/processes.hpp"
#include "calibration/network/sweep/rendezvous/connection.hpp"
#include "calibration/network/sweep/rendezvous/joining.hpp"
#include "calibration/network/sweep/rendezvous/meeting_place.hpp"

namespace ddl {

/// Processes started by any launcher and connected by TCP. Rank 0 listens at a meeting place, and
/// forwards every message to all. A process that has received nothing from another process for
/// twice the `patience` reports this and ends, so no process waits forever.
class TcpProcesses final : public Processes {
 public:
  /// Waits until all ranks have joined. If some do not join, throws Error with the missing ranks, or with another reason.
  TcpProcesses(const LaunchedRank& rank, const MeetingPlace& place, Seconds patience,
               const Environment& environment = process_environment());
  ~TcpProcesses() override;

  [[nodiscard]] int rank() const override { return self_.rank; }
  [[nodiscard]] int count() const override { return self_.ranks; }
  [[nodiscard]] const std::vector<int>& nodes() const override { return joined_.nodes; }
  [[nodiscard]] const std::vector<std::string>& node_names() const override { return joined_.node_names; }
  [[nodiscard]] std::vector<std::string> gather(const std::string& text) override;
  void look() override;
  bool end_others(const std::string& what, const std::string& hint) noexcept override;
  void abort_all() noexcept override;

 private:
  [[nodiscard]] std::vector<std::string> gather_at_host(const std::string& text);
  [[nodiscard]] std::vector<std::string> gather_from_host(const std::string& text);
  /// Returns the next message of process `other`, if one has arrived. Throws EndedElsewhere if no
  /// message can arrive any more.
  std::optional<std::string> next_word(std::size_t other);
  /// Reads the data that has arrived from the process `other`. If `other` asks all processes to end, or is gone, this
  /// process ends.
  void listen_to(std::size_t other);
  [[nodiscard]] int rank_of(std::size_t other) const { return self_.rank == 0 ? static_cast<int>(other) + 1 : 0; }
  [[nodiscard]] std::string name_of(int rank) const;
  /// Ends this process. Rank 0 also tells all other ranks to end.
  [[noreturn]] void end(const std::string& what, const std::string& hint);

  PeerInfo self_;
  Seconds patience_;
  Joined joined_;
  std::vector<std::vector<std::string>> words_;  ///< messages that arrived before they were needed, by sender
  bool has_ended_ = false;
};

}  // namespace ddl
