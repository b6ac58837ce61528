#include "estimator/inputs/base_weights.hpp"

namespace ddl {

double base_item_bytes(BaseWeights base) {
  switch (base) {
    case BaseWeights::half:
      return 2;
    case BaseWeights::nf4:
      return 0.5 + 4.0 / 64;
    case BaseWeights::nf4_double:
      return 0.5 + 1.0 / 64 + 4.0 / (64 * 256);
    case BaseWeights::int8:
    case BaseWeights::fp8:
      return 1;
    case BaseWeights::mxfp4:
      return 0.5 + 1.0 / 32;
  }
  return 2;
}

}  // namespace ddl
