#pragma once

#include "estimator/strategy.hpp"

namespace ddl {

extern const Strategy channel_strategy;

}  // namespace ddl
