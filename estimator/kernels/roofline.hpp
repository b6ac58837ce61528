#pragma once

#include "core/quantity.hpp"
#include "estimator/inputs/machine.hpp"
#include "model_zoo/operations/operation.hpp"

namespace ddl {

/// The roofline time of a kernel on a device, a lower bound: the larger of its arithmetic time and its memory time [Williams
/// et al., "Roofline", CACM 2009]. Arithmetic runs at the attainable peak, with the sides of a matrix product rounded up to
/// the device's tile. Memory traffic runs at the attainable bandwidth.
class Roofline {
 public:
  Roofline() = default;
  Roofline(const Device& device, Precision precision);

  /// Returns the roofline time of a kernel on `samples` samples. `work` is per sample.
  [[nodiscard]] Seconds time(const Work& work, double samples) const;
  [[nodiscard]] Seconds traffic_time(double bytes) const { return Seconds(bytes / bandwidth_); }
  [[nodiscard]] double bytes(const Work& work, double samples) const {
    return (work.activation_items * samples + work.weight_items) * item_bytes_;
  }

 private:
  double flop_rate_ = 1;         ///< rate of matrix operations, FLOP/s
  double vector_flop_rate_ = 1;  ///< rate of all other operations in fp32, FLOP/s
  double bandwidth_ = 1;
  double item_bytes_ = 4;
  double tile_ = 1;
};

}  // namespace ddl
