#include "calibration/communication/size_ranges.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "calibration/communication/robust_fit.hpp"

namespace ddl {
namespace {

/// Differences below this are the last digits that benchmarks print, and no reason for a knee.
constexpr double print_precision = 1e-3;
/// Sizes that one range needs: two more than a line has ends.
constexpr std::size_t sizes_of_range = 3;
/// What a knee counts for beside the terms behind it: its place is chosen among all sizes, which is worth two parameters
/// [Zhang and Siegmund, "A modified Bayes information criterion", Biometrics 2007].
constexpr double knee_parameters = 2;
/// Cuts are tried between so many groups of sizes; a sweep by factors of two from a byte to a terabyte has 41.
constexpr std::size_t most_size_groups = 48;

/// Where groups of equal, or for long sweeps of similar, size begin; the last is the number of points.
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

struct Candidate {
  ExchangeAlgorithm algorithm{};
  double parameters = 0;
  double deviation = 0;
};

std::vector<Candidate> candidates_of(std::span<const ExchangePoint> points, Collective operation,
                                     std::span<const ExchangeAlgorithm> algorithms) {
  std::vector<Candidate> found;
  const Eigen::VectorXd times = times_of(points);
  for (const ExchangeAlgorithm algorithm : algorithms) {
    if (static_cast<Eigen::Index>(points.size()) <= term_count(algorithm)) continue;
    const AbsoluteFit fit = absolute_fit(terms_of(algorithm, operation, points), times);
    if (fit.determined) found.push_back({algorithm, static_cast<double>(term_count(algorithm)), fit.deviation});
  }
  return found;
}

}  // namespace

double information_criterion(double deviation, double parameters, std::size_t points) {
  const auto count = static_cast<double>(points);
  return 2 * count * std::log(std::max(deviation / count, print_precision)) + parameters * std::log(count);
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

  // What a parameter may cost depends on the noise, which is known only afterwards: cuts are worked out for several noises,
  // and the criterion, which knows each one's own, chooses.
  const double log_count = std::log(static_cast<double>(points.size()));
  constexpr std::array noises{0.5, 0.3, 0.2, 0.14, 0.1, 0.07, 0.05, 0.03, 0.02, 0.01, 0.005, 0.002, 0.001};
  std::vector<SizeRange> best_ranges;
  double best_criterion = std::numeric_limits<double>::infinity();
  for (const double noise : noises) {
    struct Step {
      double cost = std::numeric_limits<double>::infinity();
      std::size_t from = 0;
      Candidate candidate{};
    };
    std::vector<Step> steps(groups + 1);
    steps[0].cost = 0;
    for (std::size_t j = 1; j <= groups; ++j) {
      for (std::size_t i = 0; i < j; ++i) {
        for (const Candidate& candidate : choices[i][j]) {
          // Twice Σ|r|/noise is −2 log likelihood; the cut before a range counts too.
          const double cost =
              steps[i].cost + 2 * candidate.deviation / noise + (candidate.parameters + knee_parameters) * log_count;
          if (cost < steps[j].cost) steps[j] = {cost, i, candidate};
        }
      }
    }
    if (!std::isfinite(steps[groups].cost)) continue;
    std::vector<SizeRange> ranges;
    double deviation = 0;
    double parameters = -knee_parameters;
    for (std::size_t j = groups; j > 0; j = steps[j].from) {
      ranges.push_back({begins[steps[j].from], begins[j], steps[j].candidate.algorithm});
      deviation += steps[j].candidate.deviation;
      parameters += steps[j].candidate.parameters + knee_parameters;
    }
    const double criterion = information_criterion(deviation, parameters, points.size());
    if (criterion < best_criterion) {
      best_criterion = criterion;
      std::reverse(ranges.begin(), ranges.end());
      best_ranges = std::move(ranges);
    }
  }
  return best_ranges;
}

}  // namespace ddl
