#pragma once

#include "estimator/strategies/strategy.hpp"

namespace ddl {

extern const Strategy tensor_strategy;

}  // namespace ddl
