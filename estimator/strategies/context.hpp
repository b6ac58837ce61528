#pragma once

#include "estimator/strategies/strategy.hpp"

namespace ddl {

extern const Strategy context_strategy;

}  // namespace ddl
