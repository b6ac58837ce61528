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

/// Returns a table with a row for each measured series in a file: the facts that the series states,
/// and its number of message sizes.
[[nodiscard]] Table series_table(std::span<const ExchangeSeries> series);
[[nodiscard]] nlohmann::ordered_json series_to_json(std::span<const ExchangeSeries> series);

/// Returns a table with a row for each number of pairs of ranks that exchanged messages at once.
[[nodiscard]] Table pair_contention_table(std::span<const PairContention> pairs);
/// Returns a sentence about the congestion that GPCNeT measured.
[[nodiscard]] std::string congestion_text(const GpcnetCongestion& congestion);
[[nodiscard]] nlohmann::ordered_json pair_contention_to_json(std::span<const PairContention> pairs);

/// Returns a table of the algorithms that the communication library used, with their ranges of
/// message sizes; empty if no series states an algorithm.
[[nodiscard]] Table algorithm_table(std::span<const ExchangeSeries> series);

/// Returns a table with a row for each range of message sizes of each fit: α and β with their 95 %
/// intervals, the algorithm, r² and residuals.
[[nodiscard]] Table exchange_fit_table(std::span<const ExchangeFit> fits);
/// Returns the message-size ranges of all fits as a list of objects; unknown values are null.
[[nodiscard]] nlohmann::ordered_json exchange_fits_to_json(std::span<const ExchangeFit> fits);
/// Returns warnings about the fits, and about series that could not be fitted. Each warning says what to measure next.
[[nodiscard]] std::vector<std::string> exchange_fit_warnings(std::span<const ExchangeFit> fits);

}  // namespace ddl
