#pragma once

#include "estimator/strategy.hpp"

namespace ddl {

extern const Strategy layer_strategy;

}  // namespace ddl
