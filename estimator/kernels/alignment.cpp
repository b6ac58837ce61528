#include "estimator/kernels/alignment.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace ddl {
namespace {

bool is_unaligned(double length, double item_bytes) {
  constexpr double load_bytes = 8;
  return length == std::floor(length) && std::fmod(length * item_bytes, load_bytes) != 0;
}

}  // namespace

bool has_unaligned_rows(const KernelShape& shape, Pass pass, double item_bytes, double padded) {
  if (shape.kind != KernelKind::matrix_product || shape.count > 1 || shape.experts > 0) return false;
  const auto is_slow = [&](double length) {
    const bool is_padded = padded > 0 && length > 0 && std::fmod(padded, length) == 0;
    return !is_padded && is_unaligned(length, item_bytes);
  };
  if (pass == Pass::backward_weight) return is_slow(shape.m) || is_slow(shape.n);
  return is_slow(shape.k) || (pass == Pass::backward_data && is_slow(shape.n));
}

bool has_measured_lengths(const KernelShape& shape, const std::vector<KernelResidual>& residuals, double item_bytes) {
  constexpr double rounding = 0.01, reach = 2;  // doublings
  const std::array<double, 3> lengths{shape.m, shape.n, shape.k};
  const KernelPlace place = place_of(shape);
  return std::any_of(residuals.begin(), residuals.end(), [&](const KernelResidual& each) {
    for (std::size_t i = 0; i < lengths.size(); ++i)
      if (std::abs(each.place[i] - place[i]) > (is_unaligned(lengths[i], item_bytes) ? rounding : reach)) return false;
    return true;
  });
}

double seconds_per_unaligned_flop(const Device& device, const DevicePeaks& peaks) {
  constexpr double vector_share = 0.83, narrow_loads = 8.0;
  const bool is_limited = peaks.has_matrix_units && device.compute_capability.value_or(narrow_loads) < narrow_loads;
  return is_limited ? 1 / (vector_share * peaks.vector_flop_rate) : 0;
}

}  // namespace ddl
