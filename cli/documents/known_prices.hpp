#pragma once

#include <string>

#include "estimator/inputs/machine.hpp"

namespace ddl {

/// Says that a machine has no price, and how to give one: with the lowest list price of the same device on another bundled
/// machine, if there is one.
[[nodiscard]] std::string missing_price_text(const Machine& machine);

}  // namespace ddl
