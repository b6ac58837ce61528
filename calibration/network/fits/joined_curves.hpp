#pragma once

#include <string>
#include <vector>

#include "estimator/inputs/measured_exchanges.hpp"

namespace ddl {

/// Joins the curves of a previously measured network with new curves, so that a file of coefficients never mixes two
/// networks. New curves replace curves of the same exchange. If new curves contradict the earlier curves of a level (inside
/// a node, between nodes), the earlier curves are dropped, with a warning that names their files. New curves contradict
/// earlier ones if exchanges below 1 MiB, or exchanges from 1 MiB on, differ by more than a factor of 1.5 in the median from
/// predictions of the earlier curves.
[[nodiscard]] std::vector<MeasuredCurve> joined_curves(std::vector<MeasuredCurve> before,
                                                       const std::vector<MeasuredCurve>& measured,
                                                       std::vector<std::string>& warnings);

/// The factor by which times of one exchange may differ, in the median over sizes. Times that differ more come from
/// different software or networks. Other jobs on a network lengthen single runs by a smaller factor. Held-out counts of
/// published sweeps are predicted within a factor of 1.17 in the median (docs/calibration.md).
inline constexpr double contradiction_factor = 1.5;

}  // namespace ddl
