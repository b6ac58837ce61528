#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/network/sweep/processes.hpp"
#include "calibration/network/sweep/rendezvous/connection.hpp"
#include "calibration/network/sweep/rendezvous/joining.hpp"
#include "calibration/network/sweep/rendezvous/meeting_place.hpp"

namespace ddl {

/// Processes that any launcher started, joined by TCP: rank 0 listens at a meeting place, and what one says goes by it to
/// all. None waits for another for ever: who has heard nothing for twice the `patience` says of whom, and ends.
class TcpProcesses final : public Processes {
 public:
  /// Waits until all are there. An Error where they are not, each with who is missing or why.
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
  /// The next word of the one on the other side, where it has come. An EndedElsewhere where it will not.
  std::optional<std::string> next_word(std::size_t other);
  /// Reads what has come from this one, and ends where it says so or is gone.
  void listen_to(std::size_t other);
  [[nodiscard]] int rank_of(std::size_t other) const { return self_.rank == 0 ? static_cast<int>(other) + 1 : 0; }
  [[nodiscard]] std::string name_of(int rank) const;
  /// Rank 0 tells all the others, too.
  [[noreturn]] void end(const std::string& what, const std::string& hint);

  Comer self_;
  Seconds patience_;
  Joined joined_;
  std::vector<std::vector<std::string>> words_;  ///< by other: that came before they were asked for
  bool has_ended_ = false;
};

}  // namespace ddl
