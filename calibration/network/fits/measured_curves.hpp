#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibration/network/benchmarks/measured_exchange.hpp"
#include "estimator/inputs/measured_exchanges.hpp"

namespace ddl {

/// Returns curves for coefficients from measured series: one for each operation, number of ranks and number of nodes. All
/// rows of one size, from all files, in place or not, are replaced by their median. The differences between the rows become
/// the spread of the curve. Series without a number of ranks and nodes are skipped, with a warning. If files of one
/// operation and count contradict each other, throws Error that names the files. `date`: the date of reading.
[[nodiscard]] std::vector<MeasuredCurve> measured_curves(std::span<const ExchangeSeries> series, const std::string& date,
                                                         std::vector<std::string>& warnings);

/// Removes files from `series` that contradict the `preferred` file for the same operation and count. Each removal is added
/// to `warnings`.
void leave_out_contradicting(std::vector<ExchangeSeries>& series, const std::string& preferred,
                             std::vector<std::string>& warnings);

}  // namespace ddl
