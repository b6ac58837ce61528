#pragma once

#include "estimator/strategies/strategy.hpp"

namespace ddl {

extern const Strategy pipeline_strategy;

}  // namespace ddl
