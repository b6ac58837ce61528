#include "calibration/network/fits/size_ranges.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "calibration/network/fits/robust_fit.hpp"

namespace ddl {
namespace {

/// Minimum number of sizes per range: two for a line, and one more.
constexpr std::size_t sizes_of_range = 3;
/// The cost of a knee, in parameters, in addition to the terms after the knee. Choosing the position of a knee among all
/// sizes costs as much as two parameters [Zhang and Siegmund, "A modified Bayes information criterion", Biometrics 2007].
constexpr double knee_parameters = 2;
/// Maximum number of size groups for cuts; a sweep by factors of two from a byte to a terabyte has 41.
constexpr std::size_t most_size_groups = 48;

/// Divides points into groups of the same size, or, in long sweeps, of similar sizes. Returns the
/// index of the first point of each group, followed by the number of points.
std::vector<std::size_t> size_groups(std::span<const ExchangePoint> points) {
  std::vector<std::size_t> begins;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (i == 0 || points[i].bytes != points[i - 1].bytes) begins.push_back(i);
  }
  begins.push_back(points.size());
  const std::size_t sizes = begins.size() - 1;
  if (sizes <= most_size_groups) return begins;
  std::vector<std::size_t> merged;
  for (std::size_t i = 0; i <= most_size_groups; ++i) merged.push_back(begins[i * sizes / most_size_groups]);
  return merged;
}

/// Relative widths of the noise that are tried. Smaller widths come from the rounding of printed digits, and do not justify
/// a knee.
constexpr std::array noises{0.5,  0.35, 0.25, 0.18,  0.12,  0.09,  0.06,  0.045,
                            0.03, 0.02, 0.01, 0.007, 0.005, 0.003, 0.002, 0.001};
using Costs = std::array<double, noises.size()>;

/// −2 log likelihood for each width of the noise, without terms that are the same for all widths.
Costs costs_of(const Eigen::VectorXd& residuals) {
  constexpr double freedom = 4;
  Costs costs{};
  for (std::size_t k = 0; k < noises.size(); ++k) {
    const double width = 2 * std::log(noises[k]);
    for (const double residual : residuals) {
      const double u = residual / noises[k];
      costs[k] += width + (freedom + 1) * std::log1p(u * u / freedom);
    }
  }
  return costs;
}

struct Candidate {
  ExchangeAlgorithm algorithm{};
  double parameters = 0;
  Costs costs{};
};

std::vector<Candidate> candidates_of(std::span<const ExchangePoint> points, Collective operation,
                                     std::span<const ExchangeAlgorithm> algorithms) {
  std::vector<Candidate> found;
  const Eigen::VectorXd times = times_of(points);
  for (const ExchangeAlgorithm algorithm : algorithms) {
    if (static_cast<Eigen::Index>(points.size()) <= term_count(algorithm)) continue;
    const AbsoluteFit fit = absolute_fit(terms_of(algorithm, operation, points), times);
    if (fit.determined) found.push_back({algorithm, static_cast<double>(term_count(algorithm)), costs_of(fit.residuals)});
  }
  return found;
}

}  // namespace

double information_criterion(const Eigen::VectorXd& residuals, double parameters) {
  const Costs costs = costs_of(residuals);
  return *std::min_element(costs.begin(), costs.end()) + parameters * std::log(static_cast<double>(residuals.size()));
}

Eigen::MatrixXd terms_of(ExchangeAlgorithm algorithm, Collective operation, std::span<const ExchangePoint> points) {
  Eigen::MatrixXd terms(static_cast<Eigen::Index>(points.size()), term_count(algorithm));
  for (std::size_t i = 0; i < points.size(); ++i) {
    terms.row(static_cast<Eigen::Index>(i)) = terms_of(algorithm, operation, points[i].count, points[i].bytes).transpose();
  }
  return terms;
}

Eigen::VectorXd times_of(std::span<const ExchangePoint> points) {
  Eigen::VectorXd times(static_cast<Eigen::Index>(points.size()));
  for (std::size_t i = 0; i < points.size(); ++i) times[static_cast<Eigen::Index>(i)] = points[i].seconds;
  return times;
}

std::vector<SizeRange> size_ranges(std::span<const ExchangePoint> points, Collective operation,
                                   std::span<const ExchangeAlgorithm> candidates) {
  const std::vector<std::size_t> begins = size_groups(points);
  const std::size_t groups = begins.size() - 1;
  const std::size_t least = std::min(sizes_of_range, groups);
  std::vector<std::vector<std::vector<Candidate>>> choices(groups, std::vector<std::vector<Candidate>>(groups + 1));
  for (std::size_t i = 0; i < groups; ++i) {
    for (std::size_t j = i + least; j <= groups; ++j) {
      choices[i][j] = candidates_of(points.subspan(begins[i], begins[j] - begins[i]), operation, candidates);
    }
  }

  // The penalty of a parameter depends on the noise, which is known only after the fit. So the best cuts are computed for
  // each noise level that is tried.
  const double log_count = std::log(static_cast<double>(points.size()));
  std::vector<SizeRange> best_ranges;
  double lowest = std::numeric_limits<double>::infinity();
  for (std::size_t noise = 0; noise < noises.size(); ++noise) {
    struct Step {
      double cost = std::numeric_limits<double>::infinity();
      std::size_t from = 0;
      ExchangeAlgorithm algorithm{};
    };
    std::vector<Step> steps(groups + 1);
    steps[0].cost = 0;
    for (std::size_t j = 1; j <= groups; ++j) {
      for (std::size_t i = 0; i < j; ++i) {
        for (const Candidate& candidate : choices[i][j]) {
          // The cost of a range includes the cut before the range.
          const double cost = steps[i].cost + candidate.costs[noise] + (candidate.parameters + knee_parameters) * log_count;
          if (cost < steps[j].cost) steps[j] = {cost, i, candidate.algorithm};
        }
      }
    }
    if (!(steps[groups].cost < lowest)) continue;
    lowest = steps[groups].cost;
    best_ranges.clear();
    for (std::size_t j = groups; j > 0; j = steps[j].from) {
      best_ranges.push_back({begins[steps[j].from], begins[j], steps[j].algorithm});
    }
    std::reverse(best_ranges.begin(), best_ranges.end());
  }
  return best_ranges;
}

}  // namespace ddl
