#pragma once

#include <span>
#include <vector>

#include "calibration/network/fits/exchange_forms.hpp"

namespace ddl {

/// A measured row, with its number of ranks and nodes.
struct ExchangePoint {
  double bytes = 0;
  double seconds = 0;
  RankCount count{};
};

/// Consecutive points explained by one formula.
struct SizeRange {
  std::size_t begin = 0;  ///< index of the first point
  std::size_t end = 0;
  ExchangeAlgorithm algorithm = ExchangeAlgorithm::direct;
};

/// Returns Schwarz' criterion, −2 log likelihood + k log n (Annals of Statistics 1978). Relative residuals have a Student's
/// t distribution with four degrees of freedom and a fitted width, so outliers have little influence (Lange, Little &
/// Taylor, "Robust statistical modeling using the t distribution", JASA 1989).
[[nodiscard]] double information_criterion(const Eigen::VectorXd& residuals, double parameters);

/// Divides points, ordered by size, into ranges such that the information criterion is minimal. Each range has at least
/// three sizes, and the algorithm of `candidates` with the lowest criterion. A cut counts as a parameter. Empty if the
/// points determine the parameters of no candidate.
[[nodiscard]] std::vector<SizeRange> size_ranges(std::span<const ExchangePoint> points, Collective operation,
                                                 std::span<const ExchangeAlgorithm> candidates);

/// Returns the terms of an algorithm's formula: one row for each of the points.
[[nodiscard]] Eigen::MatrixXd terms_of(ExchangeAlgorithm algorithm, Collective operation,
                                       std::span<const ExchangePoint> points);
[[nodiscard]] Eigen::VectorXd times_of(std::span<const ExchangePoint> points);

}  // namespace ddl
