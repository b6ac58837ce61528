#pragma once

#include <functional>

#include "calibration/network/sweep/processes.hpp"
#include "core/error.hpp"

namespace ddl {

/// An error in at least one process. All processes throw this error, so that no process waits for another one.
class AgreedError : public Error {
 public:
  using Error::Error;
};

/// Runs `work` in each process. `work` must not wait for another process. If `work` fails in any process, all processes
/// throw the same AgreedError, which names the first rank with a failure. All processes must call this function.
void do_or_agree(Processes& processes, const std::function<void()>& work);

}  // namespace ddl
