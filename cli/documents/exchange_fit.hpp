#pragma once

#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "calibration/network/benchmarks/gpcnet_text.hpp"
#include "calibration/network/fits/fit.hpp"
#include "calibration/network/fits/pair_contention.hpp"
#include "cli/report/document.hpp"

namespace ddl {

/// A row for each series of a file: the facts that the series states, and its number of sizes.
[[nodiscard]] Table series_table(std::span<const ExchangeSeries> series);
[[nodiscard]] nlohmann::ordered_json series_to_json(std::span<const ExchangeSeries> series);

/// A row for each number of pairs of ranks that exchanged messages at once.
[[nodiscard]] Table pair_contention_table(std::span<const PairContention> pairs);
/// The congestion that GPCNeT measured, in a sentence.
[[nodiscard]] std::string congestion_text(const GpcnetCongestion& congestion);
[[nodiscard]] nlohmann::ordered_json pair_contention_to_json(std::span<const PairContention> pairs);

/// The algorithms that the library used, with their ranges of sizes; empty if no series states an algorithm.
[[nodiscard]] Table algorithm_table(std::span<const ExchangeSeries> series);

/// A row for each range of sizes of each fit: α and β with their 95 % intervals, the algorithm, r² and residuals.
[[nodiscard]] Table exchange_fit_table(std::span<const ExchangeFit> fits);
/// The ranges of sizes of all fits as a list; unknown values are null.
[[nodiscard]] nlohmann::ordered_json exchange_fits_to_json(std::span<const ExchangeFit> fits);
/// Warnings about the fits, and about series that could not be fitted, each with what to measure next.
[[nodiscard]] std::vector<std::string> exchange_fit_warnings(std::span<const ExchangeFit> fits);

}  // namespace ddl
