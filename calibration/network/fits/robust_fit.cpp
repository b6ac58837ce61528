#include "calibration/network/fits/robust_fit.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/LU>

#include "core/statistics.hpp"

namespace ddl {
namespace {

/// Residuals below this relative size have equal weight, because benchmarks print three or four digits.
constexpr double print_precision = 1e-3;
/// Tukey's bisquare with 95 % efficiency for normal errors (Maronna, Martin & Yohai, "Robust Statistics", 2006,
/// section 2.2).
constexpr double bisquare_reach = 4.685;

/// Columns of a matrix, selected by their indices, each scaled to unit length.
struct UnitColumns {
  UnitColumns(const Eigen::MatrixXd& matrix, const std::vector<Eigen::Index>& columns)
      : rows(matrix(Eigen::all, columns)), lengths(rows.colwise().norm()) {
    rows *= lengths.cwiseInverse().asDiagonal();
  }
  /// Returns the x that minimizes Σ w (y − a·x)² over the rows a; empty if the columns are linearly dependent.
  [[nodiscard]] std::optional<Eigen::VectorXd> solve(const Eigen::VectorXd& weights, const Eigen::VectorXd& y) const {
    const Eigen::LDLT<Eigen::MatrixXd> factors(rows.transpose() * weights.asDiagonal() * rows);
    const auto pivots = factors.vectorD();
    if (factors.info() != Eigen::Success || pivots.minCoeff() <= 1e-13 * pivots.maxCoeff()) return std::nullopt;
    Eigen::VectorXd x = factors.solve(rows.transpose() * weights.cwiseProduct(y));
    return x.allFinite() ? std::optional(std::move(x)) : std::nullopt;
  }

  Eigen::MatrixXd rows;
  Eigen::VectorXd lengths;
};

double scale_of(std::vector<double> residuals) {
  for (double& residual : residuals) residual = std::abs(residual);
  return 1.4826 * median(residuals);  // for normal errors, this is the standard deviation
}

}  // namespace

AbsoluteFit absolute_fit(const Eigen::MatrixXd& terms, const Eigen::VectorXd& times) {
  const Eigen::MatrixXd relative = times.cwiseInverse().asDiagonal() * terms;
  AbsoluteFit result;
  result.coefficients = Eigen::VectorXd::Zero(terms.cols());
  std::vector<Eigen::Index> active;
  for (Eigen::Index i = 0; i < terms.cols(); ++i) active.push_back(i);
  Eigen::VectorXd x;
  Eigen::VectorXd residuals;
  bool first = true;
  while (true) {
    const UnitColumns columns(relative, active);
    if (columns.lengths.minCoeff() <= 0) return result;
    const Eigen::VectorXd ones = Eigen::VectorXd::Ones(relative.rows());
    // Computes least absolute residuals as repeatedly weighted least squares (Schlossmacher, JASA 1973).
    Eigen::VectorXd weights = ones;
    double before = -1;
    for (int step = 0; step < 30; ++step) {
      const auto solved = columns.solve(weights, ones);
      if (!solved) return result;
      x = *solved;
      residuals = ones - columns.rows * x;
      const double deviation = residuals.lpNorm<1>();
      if (std::abs(deviation - before) <= 1e-5 * deviation) break;
      before = deviation;
      weights = residuals.cwiseAbs().cwiseMax(print_precision).cwiseInverse() * print_precision;
    }
    if (first) result.determined = true;
    first = false;
    x = x.cwiseQuotient(columns.lengths);
    Eigen::Index lowest = 0;
    if (x.minCoeff(&lowest) >= 0 || active.size() == 1) break;
    active.erase(active.begin() + lowest);
  }
  for (std::size_t i = 0; i < active.size(); ++i) {
    result.coefficients[active[i]] = std::max(0.0, x[static_cast<Eigen::Index>(i)]);
  }
  result.residuals = residuals;
  return result;
}

WeightedFit weighted_fit(const Eigen::MatrixXd& terms, const Eigen::VectorXd& times, const Eigen::VectorXi& groups,
                         const AbsoluteFit& start) {
  const Eigen::Index count = terms.rows();
  std::vector<Eigen::Index> active;
  for (Eigen::Index i = 0; i < terms.cols(); ++i) {
    if (start.coefficients[i] > 0) active.push_back(i);
  }
  WeightedFit result;
  result.coefficients = start.coefficients;
  const auto fitted_by = [&](const Eigen::VectorXd& coefficients) {
    Eigen::VectorXd fitted = terms * coefficients;
    // If a range continues the previous range, the start-up of the range may be negative. A time must not be negative.
    for (Eigen::Index i = 0; i < count; ++i) fitted[i] = std::max(fitted[i], 1e-3 * times[i]);
    return fitted;
  };
  Eigen::VectorXd fitted = fitted_by(result.coefficients);
  Eigen::VectorXd residuals = (times - fitted).cwiseQuotient(fitted);

  std::vector<double> all(residuals.begin(), residuals.end());
  const double common = std::max(scale_of(all), 1e-9);
  result.scales = Eigen::VectorXd::Constant(count, common);
  for (int group = 0; group <= groups.maxCoeff(); ++group) {
    std::vector<double> own;
    for (Eigen::Index i = 0; i < count; ++i) {
      if (groups[i] == group) own.push_back(residuals[i]);
    }
    const double scale = std::max(common, scale_of(own));
    for (Eigen::Index i = 0; i < count; ++i) {
      if (groups[i] == group) result.scales[i] = scale;
    }
  }

  const auto weigh = [&] {
    Eigen::VectorXd weights(count);
    for (Eigen::Index i = 0; i < count; ++i) {
      const double u = residuals[i] / (bisquare_reach * result.scales[i]);
      weights[i] = std::abs(u) < 1 ? (1 - u * u) * (1 - u * u) : 0;
    }
    return weights;
  };
  result.weights = weigh();
  result.unscaled_covariance = Eigen::MatrixXd::Zero(terms.cols(), terms.cols());
  result.leverages = Eigen::VectorXd::Zero(count);
  for (int step = 0; step < 50; ++step) {
    const UnitColumns columns(fitted.cwiseInverse().asDiagonal() * terms, active);
    const auto solved = columns.solve(result.weights, times.cwiseQuotient(fitted));
    if (!solved) break;
    const Eigen::VectorXd x = solved->cwiseQuotient(columns.lengths);
    if (x.minCoeff() <= 0) break;  // keeps the result of the absolute fit
    Eigen::VectorXd next = Eigen::VectorXd::Zero(terms.cols());
    for (std::size_t i = 0; i < active.size(); ++i) next[active[i]] = x[static_cast<Eigen::Index>(i)];
    const double moved = (fitted_by(next) - fitted).cwiseQuotient(fitted).lpNorm<Eigen::Infinity>();
    result.coefficients = next;
    fitted = fitted_by(next);
    residuals = (times - fitted).cwiseQuotient(fitted);
    result.weights = weigh();
    if (moved < 1e-10) break;
  }

  const auto [rows, lengths] = UnitColumns(fitted.cwiseInverse().asDiagonal() * terms, active);
  Eigen::MatrixXd normal = rows.transpose() * result.weights.asDiagonal() * rows;
  Eigen::FullPivLU<Eigen::MatrixXd> factors(normal);
  if (!factors.isInvertible()) {  // without outliers, the terms would be undetermined
    normal = rows.transpose() * rows;
    factors.compute(normal);
  }
  const Eigen::MatrixXd inverse = factors.inverse();
  for (std::size_t i = 0; i < active.size(); ++i) {
    for (std::size_t j = 0; j < active.size(); ++j) {
      const auto a = static_cast<Eigen::Index>(i);
      const auto b = static_cast<Eigen::Index>(j);
      result.unscaled_covariance(active[i], active[j]) = inverse(a, b) / (lengths[a] * lengths[b]);
    }
  }
  for (Eigen::Index i = 0; i < count; ++i) {
    result.leverages[i] = std::clamp(result.weights[i] * rows.row(i).dot(inverse * rows.row(i).transpose()), 0.0, 1.0);
  }
  result.residuals = residuals;
  return result;
}

double student_t_95(double freedom) {
  const double n = std::max(freedom, 1.0);
  // The quantile is exact for 1, 2 and 4 degrees of freedom. For others, it follows from the normal
  // distribution's quantile, 1.95996, by Abramowitz & Stegun, 26.7.5.
  if (n < 2) return 12.7062 + (4.30265 - 12.7062) * (n - 1);
  if (n < 3) return 4.30265 + (3.18245 - 4.30265) * (n - 2);
  const double z = 1.959963985;
  const double z3 = z * z * z;
  const double z5 = z3 * z * z;
  const double z7 = z5 * z * z;
  const double z9 = z7 * z * z;
  return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * n * n * n) +
         (79 * z9 + 776 * z7 + 1482 * z5 - 1920 * z3 - 945 * z) / (92160 * n * n * n * n);
}

}  // namespace ddl
