#pragma once

#include <functional>

#include "calibration/network/sweep/processes.hpp"
#include "core/error.hpp"

namespace ddl {

/// What went wrong in one process or several, known to all of them: none waits for another.
class AgreedError : public Error {
 public:
  using Error::Error;
};

/// Each process does its own `work`, in which it waits for no other. Where that fails in any, all of them throw the same
/// AgreedError, which names the first such rank. All processes call it together.
void do_or_agree(Processes& processes, const std::function<void()>& work);

}  // namespace ddl
