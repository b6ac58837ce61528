#pragma once

#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "calibration/network/fits/fit.hpp"
#include "cli/report/document.hpp"

namespace ddl {

/// A row for each series of a file: what it says of itself, and how many sizes it has.
[[nodiscard]] Table series_table(std::span<const ExchangeSeries> series);
[[nodiscard]] nlohmann::ordered_json series_to_json(std::span<const ExchangeSeries> series);

/// What the library ran, from which size to which; empty where no series says it.
[[nodiscard]] Table algorithm_table(std::span<const ExchangeSeries> series);

/// A row for each range of sizes of each fit: α and β with their 95 % intervals, the algorithm, r² and residuals.
[[nodiscard]] Table exchange_fit_table(std::span<const ExchangeFit> fits);
/// The ranges as a list; what is not known is null.
[[nodiscard]] nlohmann::ordered_json exchange_fits_to_json(std::span<const ExchangeFit> fits);
/// What to know before the fits are used, and what could not be fitted, each with what to measure next.
[[nodiscard]] std::vector<std::string> exchange_fit_warnings(std::span<const ExchangeFit> fits);

}  // namespace ddl
