#pragma once

#include <functional>
#include <memory>
#include <string>

#include "calibration/network/sweep/processes.hpp"
#include "core/quantity.hpp"

namespace ddl {

/// Notices a rank that does not run any more, while the others wait for it in a library that would wait for ever. Each rank
/// gives rank 0 a sign of life now and then, by TCP and from a thread of its own, and rank 0 gives it to them.
class RankWatch {
 public:
  /// Called once, in the thread that watches: which rank is gone, and a hint.
  using Alarm = std::function<void(const std::string& what, const std::string& hint)>;

  /// All processes call it together. The alarm is raised where nothing was heard of a rank for so long.
  RankWatch(Processes& processes, Seconds silence, Alarm alarm);
  RankWatch(const RankWatch&) = delete;
  RankWatch& operator=(const RankWatch&) = delete;
  /// Says good-bye: whoever ends in order is not missed.
  ~RankWatch();

  /// What to know where some rank has no connection to rank 0, and nobody is watched; else empty.
  [[nodiscard]] const std::string& warning() const { return warning_; }

 private:
  class Watcher;
  std::unique_ptr<Watcher> watcher_;
  std::string warning_;
};

}  // namespace ddl
