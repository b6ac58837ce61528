#pragma once

#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "calibration/communication/fit.hpp"

namespace ddl {

/// A row for each range of sizes of each fit: α and β with their 95 % intervals, the algorithm, r² and residuals.
[[nodiscard]] std::string exchange_fit_text(std::span<const ExchangeFit> fits);
/// The ranges as a list; what is not known is null.
[[nodiscard]] nlohmann::ordered_json exchange_fit_json(std::span<const ExchangeFit> fits);
/// What to know before the fits are used, and what could not be fitted, each with what to measure next.
[[nodiscard]] std::vector<std::string> exchange_fit_warnings(std::span<const ExchangeFit> fits);

}  // namespace ddl
