#pragma once

#include "estimator/strategies/strategy.hpp"

namespace ddl {

extern const Strategy expert_strategy;

}  // namespace ddl
