#pragma once

#include "estimator/strategies/strategy.hpp"

namespace ddl {

extern const Strategy data_strategy;

}  // namespace ddl
