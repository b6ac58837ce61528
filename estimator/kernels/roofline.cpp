#include "estimator/kernels/roofline.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace ddl {
namespace {

double rounded_to_tile(double value, double tile) { return tile > 1 ? std::ceil(value / tile - 1e-9) * tile : value; }

}  // namespace

Roofline::Roofline(const Device& device, Precision precision)
    : bandwidth_(device.memory_bandwidth.value() * device.attainable_bandwidth),
      item_bytes_(item_bytes(precision)),
      tile_(device.tile) {
  FlopRate any(1.0);
  for (const std::optional<FlopRate>& peak : device.peak) any = max(any, peak.value_or(FlopRate{}));
  const FlopRate vector = device.peak_at(Precision::fp32).value_or(any);
  flop_rate_ = device.peak_at(precision).value_or(vector).value() * device.attainable_peak;
  vector_flop_rate_ = vector.value() * device.attainable_peak;
}

Seconds Roofline::time(const Work& work, double samples) const {
  double arithmetic = 0;
  if (work.m > 0) {
    // Only the sides of the output are rounded up. The summed side is processed in small steps.
    const double m = work.batched == Work::Batched::m ? work.m * samples : work.m;
    const double n = work.batched == Work::Batched::n ? work.n * samples : work.n;
    const double padding = (rounded_to_tile(m, tile_) / m) * (rounded_to_tile(n, tile_) / n);
    arithmetic = work.flops * samples * padding / flop_rate_;
  } else {
    arithmetic = work.flops * samples / vector_flop_rate_;
  }
  return Seconds(std::max(arithmetic, bytes(work, samples) / bandwidth_));
}

}  // namespace ddl
