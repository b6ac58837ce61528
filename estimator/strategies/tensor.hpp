#pragma once

#include "estimator/strategy.hpp"

namespace ddl {

extern const Strategy tensor_strategy;

}  // namespace ddl
