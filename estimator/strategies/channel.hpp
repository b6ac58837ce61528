#pragma once

#include "estimator/strategies/strategy.hpp"

namespace ddl {

extern const Strategy channel_strategy;

}  // namespace ddl
