#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

namespace ddl::emulated {

/// What goes wrong, and when. Exchanges are counted from 1; never: 0. Taken at first from DDL_EMULATED_NCCL, as in
/// `stall_at=40`.
struct Script {
  int stall_at = 0;            ///< this one never ends by itself
  int error_at = 0;            ///< during this one an asynchronous error shows, and it never ends by itself
  bool joining_hangs = false;  ///< ncclCommInitRank does not come back
  bool abort_hangs = false;    ///< ncclCommAbort does not come back
  int devices = 8;
};

/// What was called, as far as tests ask.
struct Exchange {
  std::string name;  ///< `allreduce`
  std::size_t bytes = 0;
  bool in_place = false;
};
struct Seen {
  std::vector<Exchange> exchanges{};
  int garbage = 0;        ///< exchanges of memory that nobody had cleared before
  int out_of_bounds = 0;  ///< exchanges beyond the memory that was asked for, or of parts that overlap
  int aborted = 0, destroyed = 0, joined = 0;
};

Script& script();
Seen& seen();
/// Everything as at the beginning.
void reset();

/// Held by whoever looks at the above, or at memory and streams.
std::recursive_mutex& guard();

/// Whether all these bytes lie in one piece of memory.
bool is_allocated(const void* data, std::size_t bytes);

}  // namespace ddl::emulated
