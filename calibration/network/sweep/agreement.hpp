#pragma once

#include <functional>

#include "calibration/network/sweep/processes.hpp"
#include "core/error.hpp"

namespace ddl {

/// A failure in one or several processes, known to all of them, so that none waits for another.
class AgreedError : public Error {
 public:
  using Error::Error;
};

/// Each process does its own `work`, which must not wait for another process. If it fails in any, all of them throw the same
/// AgreedError, which names the first such rank. All processes must call it.
void do_or_agree(Processes& processes, const std::function<void()>& work);

}  // namespace ddl
