#pragma once

#include <functional>
#include <string>

#include "core/quantity.hpp"

namespace ddl::nccl {

/// Work that may never return, and how to watch it.
struct WatchedWork {
  /// The work, which runs in a separate thread. A thread that does not return is abandoned, so the
  /// work must own everything that it uses.
  std::function<void()> work;
  std::string name;  ///< name of the work in messages: `joining a group`
  Seconds limit;
  /// Called every few milliseconds while the work runs. `look` throws if waiting has become pointless.
  std::function<void()> look = [] {};
  /// Called once if `look` threw or the limit has passed. `give_up` must make the work return.
  std::function<void()> give_up = [] {};
};

/// Returns when the work is done, or throws the exception of the work. If `look` throws or the limit passes, the function
/// calls `give_up`, and soon afterwards throws the exception of `look`, or an Error about the limit. The work may then still
/// run.
void run_watched(const WatchedWork& watched);

/// Returns whether the work was done within the limit. Otherwise the work continues in the background, so the work must own
/// everything that it uses.
[[nodiscard]] bool is_done_within(Seconds limit, std::function<void()> work);

}  // namespace ddl::nccl
