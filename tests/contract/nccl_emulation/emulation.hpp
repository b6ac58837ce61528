#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

namespace ddl::emulated {

/// Injected failures. Exchanges are counted from 1; 0 means no exchange. Initialized from
/// DDL_EMULATED_NCCL, such as `stall_at=40`.
struct Script {
  int stall_at = 0;            ///< this exchange never ends by itself
  int error_at = 0;            ///< an asynchronous error occurs during this exchange, which never ends by itself
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
  int garbage = 0;        ///< number of exchanges of uninitialized memory
  int out_of_bounds = 0;  ///< number of exchanges outside of allocated memory, or of overlapping parts
  int aborted = 0, destroyed = 0, joined = 0;
};

Script& script();
Seen& seen();
/// Resets all failures and recorded calls.
void reset();

/// Returns the lock of all failures, recorded calls, memory and streams.
std::recursive_mutex& guard();

/// Returns whether a range of bytes is in one allocation.
bool is_allocated(const void* data, std::size_t bytes);

}  // namespace ddl::emulated
