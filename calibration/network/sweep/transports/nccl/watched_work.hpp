#pragma once

#include <functional>
#include <string>

#include "core/quantity.hpp"

namespace ddl::nccl {

/// Work that may never return, and how to supervise it.
struct WatchedWork {
  /// The work, which runs in a separate thread. If it does not return, the thread is abandoned, so it must own everything
  /// that it uses.
  std::function<void()> work;
  std::string name;  ///< name of the work in messages: `joining a group`
  Seconds limit;
  /// Called every few milliseconds while the work runs. It throws if waiting has become pointless.
  std::function<void()> look = [] {};
  /// Called once if `look` threw or the limit has passed. It makes the work return.
  std::function<void()> give_up = [] {};
};

/// Returns when the work is done, or throws its exception. If `look` throws or the limit passes, it throws the exception of
/// `look`, or an Error about the limit, soon after `give_up`. The work may then still run.
void run_watched(const WatchedWork& watched);

/// Returns whether the work was done within the limit. Otherwise it continues in the background, so it must own everything
/// that it uses.
[[nodiscard]] bool is_done_within(Seconds limit, std::function<void()> work);

}  // namespace ddl::nccl
