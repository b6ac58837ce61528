#pragma once

#include <functional>
#include <string>

#include "core/quantity.hpp"

namespace ddl::nccl {

/// Work that may never come back, and who looks after it.
struct WatchedWork {
  /// Done in a thread of its own. Where it does not come back it is left behind: it owns all that it uses.
  std::function<void()> work;
  std::string name;  ///< `joining a group`
  Seconds limit;
  /// Called every few milliseconds meanwhile; throws where waiting is of no use any more.
  std::function<void()> look = [] {};
  /// Called once where `look` threw or the limit has passed: lets the work come back.
  std::function<void()> give_up = [] {};
};

/// Comes back when the work is done, with its exception where it threw one; or with that of `look`, or an Error that the
/// limit has passed, soon after `give_up`. Then the work may still be under way.
void run_watched(const WatchedWork& watched);

/// Whether it was done by then. Else it goes on by itself, and owns all that it uses.
[[nodiscard]] bool is_done_within(Seconds limit, std::function<void()> work);

}  // namespace ddl::nccl
