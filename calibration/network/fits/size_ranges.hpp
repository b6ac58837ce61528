#pragma once

#include <span>
#include <vector>

#include "calibration/network/fits/exchange_forms.hpp"

namespace ddl {

/// A row with what it was measured on.
struct ExchangePoint {
  double bytes = 0;
  double seconds = 0;
  RankCount count{};
};

/// Consecutive points that one formula explains.
struct SizeRange {
  std::size_t begin = 0;  ///< of the points
  std::size_t end = 0;
  ExchangeAlgorithm algorithm = ExchangeAlgorithm::direct;
};

/// −2 log likelihood + k log n, Schwarz' criterion (Annals of Statistics 1978), of relative residuals that are distributed
/// as Student's t with four degrees of freedom, of the width that suits them best: outliers hardly count (Lange, Little &
/// Taylor, "Robust statistical modeling using the t distribution", JASA 1989).
[[nodiscard]] double information_criterion(const Eigen::VectorXd& residuals, double parameters);

/// Cuts points, ordered by size, into as many ranges as the information criterion asks for and gives each the algorithm of
/// `candidates` that it prefers. Each range has at least three sizes; a cut costs a parameter. Empty if no candidate is
/// determined by any cut.
[[nodiscard]] std::vector<SizeRange> size_ranges(std::span<const ExchangePoint> points, Collective operation,
                                                 std::span<const ExchangeAlgorithm> candidates);

/// Terms of a formula for these points, row by row.
[[nodiscard]] Eigen::MatrixXd terms_of(ExchangeAlgorithm algorithm, Collective operation,
                                       std::span<const ExchangePoint> points);
[[nodiscard]] Eigen::VectorXd times_of(std::span<const ExchangePoint> points);

}  // namespace ddl
