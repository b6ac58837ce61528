#pragma once

#include <cstdint>

#include "estimator/inputs/machine.hpp"

namespace ddl {

/// Throws Error if the machine has fewer devices than requested. Called before the search, because a search may take long.
void refuse_more_than(const Machine& machine, std::int64_t gpus);

}  // namespace ddl
