#pragma once

#include "estimator/strategy.hpp"

namespace ddl {

extern const Strategy data_strategy;

}  // namespace ddl
