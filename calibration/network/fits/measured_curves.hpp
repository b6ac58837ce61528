#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibration/network/benchmarks/measured_exchange.hpp"
#include "estimator/inputs/measured_exchanges.hpp"

namespace ddl {

/// Curves of measured series, for coefficients: one for each operation, number of ranks and of nodes. Rows of one size, in
/// place or not and from several files, become their median; how far they differ becomes the curve's spread. What says
/// neither its ranks nor its nodes is left out, with a warning. Throws Error where files of one operation and count
/// contradict each other, with their names. `date` is when they are read.
[[nodiscard]] std::vector<MeasuredCurve> measured_curves(std::span<const ExchangeSeries> series, const std::string& date,
                                                         std::vector<std::string>& warnings);

/// Leaves out of `series` the files that contradict the `preferred` one where both are of one operation and count, and says
/// so in `warnings`.
void leave_out_contradicting(std::vector<ExchangeSeries>& series, const std::string& preferred,
                             std::vector<std::string>& warnings);

}  // namespace ddl
