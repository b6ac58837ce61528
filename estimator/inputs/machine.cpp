#include "estimator/inputs/machine.hpp"

namespace ddl {

std::int64_t Machine::devices() const {
  std::int64_t product = 1;
  for (const LinkLevel& level : levels) product *= level.units;
  return product;
}

}  // namespace ddl
