#pragma once

#include <functional>
#include <memory>
#include <string>

#include "calibration/network/sweep/processes.hpp"
#include "core/quantity.hpp"

namespace ddl {

/// Detects a rank that no longer runs, for which other ranks would wait forever in a library without a timeout. A separate
/// thread of each rank regularly sends a heartbeat to rank 0 over TCP. Rank 0 sends heartbeats to all ranks.
class RankWatch {
 public:
  /// Called once, in the watching thread, with a message about the missing rank, and a hint.
  using Alarm = std::function<void(const std::string& what, const std::string& hint)>;

  /// All processes must call this function. The watch raises an alarm if a rank has sent nothing for this long.
  RankWatch(Processes& processes, Seconds silence, Alarm alarm);
  RankWatch(const RankWatch&) = delete;
  RankWatch& operator=(const RankWatch&) = delete;
  /// Sends a goodbye, so that a rank that ends normally is not reported as missing.
  ~RankWatch();

  /// Returns a warning if some rank has no connection to rank 0; ranks are then not watched. Otherwise returns an empty
  /// text.
  [[nodiscard]] const std::string& warning() const { return warning_; }

 private:
  class Watcher;
  std::unique_ptr<Watcher> watcher_;
  std::string warning_;
};

}  // namespace ddl
