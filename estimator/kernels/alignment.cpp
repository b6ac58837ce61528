#include "estimator/kernels/alignment.hpp"

#include <cmath>

namespace ddl {

bool has_unaligned_rows(const KernelShape& shape, Pass pass, double item_bytes) {
  constexpr double load_bytes = 16;
  if (shape.kind != KernelKind::matrix_product || shape.count > 1 || shape.experts > 0) return false;
  const auto is_unaligned = [&](double length) {
    return length == std::floor(length) && std::fmod(length * item_bytes, load_bytes) != 0;
  };
  if (pass == Pass::backward_weight) return is_unaligned(shape.m) || is_unaligned(shape.n);
  return is_unaligned(shape.k) || (pass == Pass::backward_data && is_unaligned(shape.n));
}

double seconds_per_unaligned_flop(const Device& device, const DevicePeaks& peaks) {
  constexpr double vector_share = 0.83, narrow_loads = 8.0;
  const bool is_limited = peaks.has_matrix_units && device.compute_capability.value_or(narrow_loads) < narrow_loads;
  return is_limited ? 1 / (vector_share * peaks.vector_flop_rate) : 0;
}

}  // namespace ddl
