#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

namespace ddl::emulated {

/// Injected failures. Exchanges are counted from 1; 0: never. Initialized from DDL_EMULATED_NCCL, such as `stall_at=40`.
struct Script {
  int stall_at = 0;            ///< this one never ends by itself
  int error_at = 0;            ///< during this one an asynchronous error occurs, and it never ends by itself
  bool joining_hangs = false;  ///< ncclCommInitRank does not return
  bool abort_hangs = false;    ///< ncclCommAbort does not return
  int devices = 8;
};

/// Recorded calls, for tests.
struct Exchange {
  std::string name;  ///< `allreduce`
  std::size_t bytes = 0;
  bool in_place = false;
};
struct Seen {
  std::vector<Exchange> exchanges{};
  int garbage = 0;        ///< exchanges of uninitialized memory
  int out_of_bounds = 0;  ///< exchanges outside of allocated memory, or of overlapping parts
  int aborted = 0, destroyed = 0, joined = 0;
};

Script& script();
Seen& seen();
/// Resets everything.
void reset();

/// Protects the above, and memory and streams.
std::recursive_mutex& guard();

/// Whether all these bytes are in one allocation.
bool is_allocated(const void* data, std::size_t bytes);

}  // namespace ddl::emulated
