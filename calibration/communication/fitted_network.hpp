#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibration/communication/fit.hpp"
#include "estimator/coefficients.hpp"

namespace ddl {

/// What a fit says of the machine's network, range by range, for its coefficients. Left out, with a warning, is what has no
/// level, ranks or nodes, or neither α nor β. `series` is what was fitted.
[[nodiscard]] std::vector<MeasuredNetwork> fitted_network(std::span<const ExchangeFit> fits,
                                                          std::span<const ExchangeSeries> series,
                                                          std::vector<std::string>& warnings);

}  // namespace ddl
