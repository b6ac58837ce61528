#pragma once

#include <functional>
#include <string>

#include "core/quantity.hpp"

namespace ddl::nccl {

/// Work that may never return, and how to supervise it.
struct WatchedWork {
  /// Runs in a separate thread. If it does not return, the thread is abandoned: it must own everything that it uses.
  std::function<void()> work;
  std::string name;  ///< `joining a group`
  Seconds limit;
  /// Called every few milliseconds meanwhile; throws if waiting has become pointless.
  std::function<void()> look = [] {};
  /// Called once if `look` threw or the limit has passed: makes the work return.
  std::function<void()> give_up = [] {};
};

/// Returns when the work is done, with its exception if it threw one; or with that of `look`, or an Error that the limit has
/// passed, soon after `give_up`. The work may then still be running.
void run_watched(const WatchedWork& watched);

/// Returns whether it was done by then. Otherwise it continues in the background, and must own everything that it uses.
[[nodiscard]] bool is_done_within(Seconds limit, std::function<void()> work);

}  // namespace ddl::nccl
