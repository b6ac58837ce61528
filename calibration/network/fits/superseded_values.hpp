#pragma once

#include <span>
#include <string>
#include <vector>

#include "estimator/inputs/measured_exchanges.hpp"

namespace ddl {

/// Removes values from a coefficients file that contradict collectives that are now measured for the first time: the route
/// of gradients and layer-wise exchanges through the host, their prescribed algorithms, and factors on their α and β that
/// were fitted relative to other times. A level counts as measured for the first time if `before` has no collective of the
/// level, or if `joined` has dropped all collectives that `measured` does not replace. The route is removed only if the
/// network between nodes is measured. A warning lists the removed values. Returns `file` if nothing is removed.
[[nodiscard]] std::string without_superseded_values(const std::string& file, std::span<const MeasuredCurve> before,
                                                    std::span<const MeasuredCurve> measured,
                                                    std::span<const MeasuredCurve> joined,
                                                    std::vector<std::string>& warnings);

}  // namespace ddl
